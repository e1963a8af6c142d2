"""ENCODE CSV: each message is a line. An empty field is NULL, but for varchar.

Its fields are the columns in their order, or those that the file's first line names.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Reasons, decoded, parsed, texts_of
from risingpy.connectors.formats.csv_fields import fields_of, header_fields
from risingpy.connectors.formats.decoder import Decoded
from risingpy.connectors.seekable import HEADER
from risingpy.errors import InvalidParameterValue
from risingpy.types import SqlType, TypeKind
from risingpy.types.plain_texts import content_of


class CsvDecoder:
    """A message with another number of fields than columns, or than the header, is bad."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]], delimiter: str, *, has_header: bool) -> None:
        """`delimiter` is one character, or the word tab. `has_header`: the messages' metadata has the file's header."""
        delimiter = "\t" if delimiter.lower() in ("tab", "\\t") else delimiter
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise InvalidParameterValue(f'the delimiter must be one character, not "{delimiter}"')
        self._columns = columns
        self._delimiter = delimiter
        self._has_header = has_header

    def decode(self, messages: pa.Table) -> Decoded:
        reasons = Reasons()
        payloads = messages["payload"].combine_chunks()
        texts = texts_of(payloads, np.arange(len(payloads)), reasons)
        there = np.flatnonzero(texts.is_valid().to_numpy(zero_copy_only=False))
        names = self._names(messages)
        places = {name: _place(names, name) for name, _ in self._columns}
        if not any(place is not None for place in places.values()):
            for row in there.tolist():
                reasons.add(row, f"the file's header has none of the columns: {self._delimiter.join(names)[:200]}")
            there = there[:0]
        lines = texts if len(there) == len(texts) else texts.take(pa.array(there))
        content = content_of(lines)
        if b"\r" in content or b"\n" in content:
            lines = pc.utf8_rtrim(lines, "\r\n")
        chosen = sorted({place for place in places.values() if place is not None})
        found = fields_of(lines, self._delimiter, len(names), chosen)
        for row, reason in found.wrong.items():
            reasons.add(int(there[row]), reason)
        rows = there[found.rows]
        fields = dict(zip(chosen, found.columns, strict=True))
        columns = []
        for name, type_ in self._columns:
            place = places[name]
            values = pa.nulls(len(rows), pa.string()) if place is None else fields[place]
            if type_.kind is not TypeKind.VARCHAR:
                values = pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)
            columns.append(parsed(name, type_, values, rows, reasons))
        return decoded(columns, pa.array(rows, pa.int64()), reasons)

    def _names(self, messages: pa.Table) -> list[str]:
        """What the fields of a line are called."""
        if not self._has_header:
            return [name for name, _ in self._columns]
        return header_fields((messages.schema.metadata or {}).get(HEADER, b""), self._delimiter)


def _place(names: Sequence[str], name: str) -> int | None:
    """The field of a name, as it is written first, then without case and the spaces around it."""
    if name in names:
        return names.index(name)
    return next((k for k, other in enumerate(names) if other.strip().lower() == name.lower()), None)
