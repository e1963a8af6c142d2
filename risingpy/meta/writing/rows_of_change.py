"""Rows that become durable in one step with a change of the schema.

The meta store's transaction is the commit point of both: it keeps the rows, too, and at which lsn the log is to have
them. A server that is killed before the log has them finds them there at its next start, and appends them then.

Value of the key `rows_of_change`: bytes of the header u32 | header (JSON: the first lsn, and of each record the table,
its version, the bytes of the schema and of the payload, the spill's name) | payloads. The next such commit replaces it.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from risingpy.storage.engine.meta_store import MetaStore, MetaTransaction
from risingpy.storage.log.segment import LogRecord

KEY = "rows_of_change"
_LENGTH = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class RowsOfChange:
    """A group of records that the log has, or is to have, from `first_lsn` on."""

    first_lsn: int
    records: Sequence[LogRecord]

    @property
    def spills(self) -> list[str]:
        """The names of the log's files that have some of the rows."""
        return [record.spill for record in self.records if record.spill is not None]

    def write(self, txn: MetaTransaction) -> None:
        """Has the group kept by the transaction that commits its change."""
        told = [
            [each.table_id, each.table_version, each.schema_bytes, each.payload.size, each.spill]
            for each in self.records
        ]
        header = json.dumps({"first_lsn": self.first_lsn, "records": told}).encode()
        txn.put(KEY, b"".join((_LENGTH.pack(len(header)), header, *(each.payload for each in self.records))))


def rows_of_last_change(store: MetaStore) -> RowsOfChange | None:
    """The group of the last change that had rows; the log has it, unless the server was killed just then."""
    with store.transaction() as txn:
        stored = txn.get(KEY)
    if stored is None:
        return None
    (length,) = _LENGTH.unpack_from(stored)
    start = _LENGTH.size + length
    header = json.loads(stored[_LENGTH.size : start])
    records = []
    for table_id, version, schema_bytes, size, spill in header["records"]:
        payload = pa.py_buffer(stored[start : start + size])
        records.append(LogRecord(table_id, version, schema_bytes, payload, spill=spill))
        start += size
    return RowsOfChange(header["first_lsn"], records)
