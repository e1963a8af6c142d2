"""What few writes change, the rows of all tables in one batch as the tree takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter

import pyarrow as pa

from risingpy.storage.codec.key_encoding import table_prefix
from risingpy.storage.engine.few_writes import NOT_KNOWN, FewWrites
from risingpy.storage.engine.mem_table import WriteBatch
from risingpy.storage.engine.stored_rows import StoredRows
from risingpy.storage.engine.table_statistics import TABLE_ID_BYTES


@dataclass(frozen=True, slots=True)
class FewChanges:
    """Keys that change, with what is there now and what was before. `starts`: the first rows of each table."""

    batch: WriteBatch
    old: pa.BinaryArray
    starts: Sequence[int]


def changed_rows(rows: StoredRows, writes: Sequence[FewWrites]) -> tuple[FewChanges | None, Sequence[WriteBatch]]:
    """The changes by writes, of each table once; and those of tables that have runs, a batch for each of these."""
    waiting = {table_prefix(table_id) for table_id in rows.waiting()}
    found = sorted(chain.from_iterable([each.writes() for each in writes]), key=itemgetter(0))
    unknown = [key for key, before, _ in found if before is NOT_KNOWN and key[:TABLE_ID_BYTES] not in waiting]
    looked_up = iter(rows.get_each(unknown))
    starts: list[int] = []
    keys: list[bytes] = []
    values: list[bytes | None] = []
    olds: list[bytes | None] = []
    table = b""
    for key, before, value in found:
        prefix = key[:TABLE_ID_BYTES]
        if prefix in waiting:
            continue
        old = next(looked_up) if before is NOT_KNOWN else before
        if old == value:
            continue
        if prefix != table:
            table = prefix
            starts.append(len(keys))
        keys.append(key)
        values.append(value)
        olds.append(old)
    of_runs = [[(key, value) for key, _, value in found if key.startswith(prefix)] for prefix in sorted(waiting)]
    batches = [_batch(*map(list, zip(*each, strict=True))) for each in of_runs if each]
    return FewChanges(_batch(keys, values), pa.array(olds, pa.binary()), starts) if keys else None, batches


def _batch(keys: list[bytes], values: list[bytes | None]) -> WriteBatch:
    return WriteBatch(pa.array(keys, pa.binary()), pa.array(values, pa.binary()))
