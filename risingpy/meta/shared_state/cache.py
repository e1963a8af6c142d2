"""`cache.json` of a data directory: that it is a cache, and of what.

    {"cluster": "6f1c…", "uri": "s3://bucket/db", "boot": "0f1e…"}

The stores of a cache are not synced. They outlive their processes, but not the machine: after a loss of power they may
be anything. So a cache is believed only in the boot of the machine that it was written in.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from risingpy.errors import SqlError
from risingpy.storage.durable_directory import write_durably
from risingpy.storage.engine.lmdb_environment import DamagedStore
from risingpy.storage.engine.meta_store import meta_directory
from risingpy.storage.engine.shard_store import shards_directory
from risingpy.storage.log.write_ahead_log import log_directory
from risingpy.storage.objects.state_format import IncompatibleState

_NAME = "cache.json"
_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True, slots=True)
class CacheNote:
    """Of which database it is a cache, where that is, and in which boot it was written; "" if in none."""

    cluster: str
    uri: str
    boot: str


def read_note(data_dir: Path) -> CacheNote | None:
    """The note of a cache, None for any other directory. DamagedStore if it cannot be read."""
    try:
        return CacheNote(**json.loads((data_dir / _NAME).read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise DamagedStore(f"{data_dir / _NAME} is damaged: {error}") from error


def refuse_cache(data_dir: Path) -> None:
    """Raises an error for a directory that only has what shared storage had at some time."""
    note = read_note(data_dir)
    if note is not None:
        raise SqlError(
            f"{data_dir} is a cache of the database in {note.uri}",
            sqlstate="55000",
            hint=f"Start the server with --state {note.uri}. If that is gone for ever, there is BACKUP TO and restore.",
        )


def take_directory(data_dir: Path, cluster: str, uri: str) -> None:
    """Makes the directory a cache of a database. Raises an error if it has another one.

    What cannot be believed any more is deleted. The caller has the directory's lock.
    """
    note = read_note(data_dir)
    if note is None and (meta_directory(data_dir).exists() or shards_directory(data_dir).exists()):
        raise SqlError(
            f"{data_dir} has a database of its own, and is no cache of {uri}",
            sqlstate="55000",
            hint="Name an empty directory with --data-dir. To move a database, save its tables with COPY.",
        )
    if note is not None and note.cluster != cluster:
        raise IncompatibleState(
            f"{data_dir} is a cache of another database, in {note.uri}",
            hint=f"Name another directory with --data-dir, or delete {data_dir}: a cache can be deleted at any time.",
        )
    boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
    if note is None or not boot or note.boot != boot:
        _write_note(data_dir, CacheNote(cluster, uri, ""))
        for directory in (meta_directory(data_dir), shards_directory(data_dir), log_directory(data_dir)):
            shutil.rmtree(directory, ignore_errors=True)
    _write_note(data_dir, CacheNote(cluster, uri, boot))


def _write_note(data_dir: Path, note: CacheNote) -> None:
    write_durably(data_dir / _NAME, json.dumps(asdict(note)).encode())
