"""Keys of messages whose payloads are Avro: records or plain values of Avro; others are read as in JSON."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.avro.reader import AvroReader
from risingpy.connectors.formats.avro.schemas import HEADER_BYTES
from risingpy.connectors.formats.columns import Positions, Reasons, spread
from risingpy.connectors.formats.json_key_reader import JsonKeyReader
from risingpy.connectors.formats.keyed_columns import first_valid
from risingpy.types import SqlType, TypeKind


class AvroKeyReader:
    """See `payload_reader.KeyReader`. Keys of Avro begin with 0 and the id of their schema."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]], avro: AvroReader, others: JsonKeyReader) -> None:
        self._is_bytes = [type_.kind for _, type_ in columns] == [TypeKind.BYTEA]
        self._avro = avro
        self._others = others

    def read(self, keys: pa.Array, messages: Positions, reasons: Reasons) -> list[pa.Array]:
        if self._is_bytes:
            return [keys]
        begins = pc.fill_null(pc.equal(pc.binary_slice(keys, 0, 1), b"\0"), False)
        is_avro = pc.and_(begins, pc.fill_null(pc.greater_equal(pc.binary_length(keys), HEADER_BYTES), False))
        of_avro = is_avro.to_numpy(zero_copy_only=False)
        rows = np.flatnonzero(of_avro)
        found = spread(self._avro.read(keys.filter(is_avro), messages[rows], reasons), rows, len(keys))
        if of_avro.all():
            return found
        rest = np.flatnonzero(~of_avro)
        others = self._others.read(keys.filter(pc.invert(is_avro)), messages[rest], reasons)
        return [first_valid(a, b) for a, b in zip(found, spread(others, rest, len(keys)), strict=True)]
