"""What a process on another machine keeps open to run tasks: an `EpochWorker` whose input came through Spark."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from risingpy.connectors.secrets.vault import Vault
from risingpy.executors.cluster.carried_key import carried_key
from risingpy.executors.cluster.order import EpochOrder
from risingpy.executors.cluster.shard_cache import ShardCaches
from risingpy.executors.epoch.descriptor import EpochDescriptor, TakenOver
from risingpy.executors.epoch.handed_over import HandedOver
from risingpy.executors.epoch.source_reading import SourceReading
from risingpy.executors.epoch.stage_runner import StageOutput
from risingpy.executors.epoch.task import PURGE_STAGE, EpochWorker, Purged
from risingpy.executors.epoch.turn import Turn
from risingpy.storage.engine.shard_store import ShardStore
from risingpy.storage.journal.entries import Delta
from risingpy.storage.objects.state_format import IncompatibleState, read_format
from risingpy.storage.objects.uri import open_objects
from risingpy.storage.tuning import DEFAULT_TUNING

CACHE_VARIABLE = "RISINGPY_WORKER_CACHE"  # in a worker's environment: the directory of its shards
_SERVERS_FILE = Path("the server")  # where the key is, for errors: no file of this machine


class ClusterWorker(EpochWorker):
    """For one run of a server, and one thread."""

    def __init__(self, order: EpochOrder) -> None:
        """Raises IncompatibleState if the state's URI means another place here than on the server."""
        objects = open_objects(order.state_uri)
        found = read_format(objects)
        if found is None or found.cluster != order.cluster:
            has = "no database" if found is None else "another database"
            raise IncompatibleState(f"on {os.uname().nodename}, {order.state_uri} has {has}: mount the server's state")
        self._caches = ShardCaches(cache_root(), order.cluster, objects, DEFAULT_TUNING)
        vault = Vault(_SERVERS_FILE, lambda _: carried_key(self._order.key, os.environ))
        reading = SourceReading(vault, machine=os.uname().nodename)
        super().__init__(self._caches.directory, alone=True, reading=reading)
        self._order = order
        self._graph_data = b""
        self._log_data: Mapping[int, bytes] = {}
        self._used: ShardStore | None = None

    def run(
        self, order: EpochOrder, graph: bytes, log: Mapping[int, bytes], turn: Turn, shard: int,
        payloads: list[tuple[int, bytes]], earlier: Mapping[int, Delta],
    ) -> tuple[StageOutput, Purged | None, dict[int, Delta]]:  # fmt: skip
        """Runs a turn on a shard, the first one with purging; the deltas are by the turn's number."""
        self._order, self._graph_data, self._log_data = order, graph, log
        deltas: dict[int, Delta] = {}
        purged = None
        with self._caches.use(order, shard, earlier) as store:
            self._used = store
            try:
                if turn == Turn(0):
                    purged = self.purge(order.descriptor, shard)
                    deltas.update((PURGE_STAGE, delta) for delta in purged.deltas)
                output = self.run_stage(order.descriptor, turn, shard, payloads)
                deltas.update((turn.number, delta) for delta in output.report.deltas)
            finally:
                self._used = None
        return output, purged, deltas

    def load(self, shard: int, shards: int) -> None:
        """Has the shard here, as of the newest epoch, or nearly."""
        self._caches.load(shard, shards)

    def store(self, shard: int, shards: int) -> ShardStore:
        assert self._used is not None and (self._used.shard, self._used.shards) == (shard, shards)
        return self._used

    def handed_over(self, taken: TakenOver, shard: int) -> HandedOver:
        return self._order.handed_over[taken.job_id, shard]

    def logged(self, descriptor: EpochDescriptor) -> dict[int, pa.Table]:
        if self._logged[0] != descriptor.epoch:
            self._logged = descriptor.epoch, {key: read_table(data) for key, data in self._log_data.items()}
        return self._logged[1]

    def _graph_bytes(self, version: int) -> bytes:
        return self._graph_data

    def close(self) -> None:
        super().close()
        self._caches.close()


def cache_root() -> Path:
    """Where this machine keeps its shards: as the worker's environment says, or in the temporary directory."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named) if named else Path(tempfile.gettempdir()) / f"risingpy-cache-{os.getuid()}"


def write_table(table: pa.Table) -> bytes:
    """A table as it travels."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def read_table(data: bytes) -> pa.Table:
    """The reverse of `write_table`."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as stream:
        return stream.read_all()
