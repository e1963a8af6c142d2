"""FORMAT UPSERT: a message inserts or replaces the row of its key; one without a payload deletes it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Reasons, decoded, spread
from risingpy.connectors.formats.decoder import Decoded
from risingpy.connectors.formats.keyed_columns import KeyedColumns, first_valid
from risingpy.connectors.formats.payload_reader import KeyReader, PayloadReader


class UpsertDecoder:
    """A row of op −1 has the columns of its key only. Columns of the key are read from the message's key first.

    A message is bad if its key is NULL in a column that takes no NULL, or if it has no key where only that says which
    row is meant: where it is itself the primary key, and where the row is deleted.
    """

    def __init__(self, columns: KeyedColumns, payloads: PayloadReader, keys: KeyReader) -> None:
        self._columns = columns
        self._payloads = payloads
        self._keys = keys

    def decode(self, messages: pa.Table) -> Decoded:
        reasons = Reasons()
        positions = np.arange(messages.num_rows)
        payloads, keys = messages["payload"].combine_chunks(), messages["key"].combine_chunks()
        has_row = pc.fill_null(pc.greater(pc.binary_length(payloads), 0), False).to_numpy(zero_copy_only=False)
        upserted = np.flatnonzero(has_row)
        found = self._payloads.read(payloads.filter(pa.array(has_row)), upserted, reasons)
        columns = spread(found, upserted, len(positions))
        if self._columns.key:
            of_keys = self._keys.read(keys, positions, reasons)
            for k, key in zip(self._columns.key, of_keys, strict=True):
                columns[k] = first_valid(key, columns[k])
            self._columns.without_key(positions, [columns[k] for k in self._columns.key], reasons)
        lacks_key = keys.is_null().to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(lacks_key & ~has_row if self._columns.key else lacks_key):
            reasons.add(int(row), "the message has no key")
        ops = pa.array(np.where(has_row, 1, -1).astype(np.int8))
        return decoded(columns, pa.array(positions), reasons, ops)
