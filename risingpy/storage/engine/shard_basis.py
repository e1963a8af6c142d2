"""What a cache of a shard has: a committed epoch, and beyond it the attempts of tasks, each known by its delta's name.

    meta  "basis"                the committed epoch up to which it has what the journal says, u64
    meta  "attempt" | stage u32  epoch u64 | the delta's name: the last commit of the stage that has changed something

Whether an attempt counts is decided elsewhere, after its task has ended. The undo record of its stage takes it back.
All integers are big-endian.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.storage.engine.table_statistics import META
from risingpy.storage.engine.transactions import StoreTransaction, scan
from risingpy.storage.engine.undo_record import has_undo, is_repetition, read_markers, undo_stages

_BASIS, _ATTEMPT = b"basis", b"attempt"
_EPOCH_BYTES = 8


@dataclass(frozen=True, slots=True)
class ShardBasis:
    """`committed` is None where nobody has noted it: the rows may be anything.

    `attempts`: by stage, the epoch and the delta's name. `ahead`: the stages with undo records of later epochs.
    """

    committed: int | None
    attempts: Mapping[int, tuple[int, str]]
    ahead: frozenset[int]

    def beyond(self) -> dict[int, tuple[int, str]]:
        """The attempts after the committed epoch."""
        committed = self.committed or 0
        return {stage: attempt for stage, attempt in self.attempts.items() if attempt[0] > committed}


def read_basis(transaction: StoreTransaction) -> ShardBasis:
    """What the shard's notes say."""
    noted = transaction.get(_BASIS, db=META)
    committed = None if noted is None else int.from_bytes(noted)
    attempts = _attempts(transaction)
    later = [stage for stage, epoch in read_markers(transaction).items() if epoch > (committed or 0)]
    return ShardBasis(committed, attempts, frozenset(stage for stage in later if has_undo(transaction, stage)))


def write_committed(transaction: StoreTransaction, committed: int) -> None:
    """Notes that the shard has what is committed up to an epoch. Attempts at repetitions are forgotten then."""
    transaction.put(_BASIS, committed.to_bytes(_EPOCH_BYTES), db=META)
    for stage, (epoch, _) in _attempts(transaction).items():
        if is_repetition(stage) and epoch <= committed:
            transaction.delete(_ATTEMPT + stage.to_bytes(4), db=META)


def drop_attempts(rows: StoredRows, stages: Iterable[int], basis: ShardBasis) -> None:
    """Takes back what these stages have after the basis."""
    stages = set(stages)
    undo_stages(rows, sorted(stages & basis.ahead), basis.committed or 0)
    for stage in stages & basis.attempts.keys():
        rows.transaction.delete(_ATTEMPT + stage.to_bytes(4), db=META)


def attempt_note(stage: int, epoch: int, name: str) -> tuple[bytes, bytes]:
    """The key and the value that say which attempt a stage's commit was."""
    return _ATTEMPT + stage.to_bytes(4), epoch.to_bytes(_EPOCH_BYTES) + name.encode()


def _attempts(transaction: StoreTransaction) -> dict[int, tuple[int, str]]:
    return {int.from_bytes(stage): _decoded(bytes(value)) for stage, value in scan(transaction, _ATTEMPT, db=META)}


def _decoded(value: bytes) -> tuple[int, str]:
    return int.from_bytes(value[:_EPOCH_BYTES]), value[_EPOCH_BYTES:].decode()
