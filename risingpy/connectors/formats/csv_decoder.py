"""ENCODE CSV: each message is a line, and its fields are the columns in their order. An empty field is NULL."""

from __future__ import annotations

import csv
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Reasons, decoded, parsed, texts_of
from risingpy.connectors.formats.decoder import Decoded
from risingpy.errors import InvalidParameterValue
from risingpy.types import SqlType, TypeKind


class CsvDecoder:
    """A message with another number of fields than columns is bad."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]], delimiter: str) -> None:
        """`delimiter` is one character, or the word tab."""
        delimiter = "\t" if delimiter.lower() in ("tab", "\\t") else delimiter
        if len(delimiter) != 1:
            raise InvalidParameterValue(f'the delimiter must be one character, not "{delimiter}"')
        self._columns = columns
        self._delimiter = delimiter

    def decode(self, messages: pa.Table) -> Decoded:
        reasons = Reasons()
        payloads = messages["payload"].combine_chunks()
        lines = pc.utf8_rtrim(texts_of(payloads, np.arange(len(payloads)), reasons), "\r\n")
        lists = self._fields(lines)
        wrong = pc.fill_null(pc.not_equal(pc.list_value_length(lists), len(self._columns)), False)
        for row in np.flatnonzero(wrong.to_numpy(zero_copy_only=False)):
            reasons.add(int(row), f"{len(lists[row])} fields instead of {len(self._columns)}")
        usable = pc.fill_null(pc.invert(wrong), False) if len(lists) else wrong
        rows = np.flatnonzero(pc.and_(usable, lists.is_valid()).to_numpy(zero_copy_only=False))
        lists = lists.take(pa.array(rows))
        columns = []
        for k, (name, type_) in enumerate(self._columns):
            texts = pc.list_element(lists, k)
            if type_.kind is not TypeKind.VARCHAR:
                texts = pc.if_else(pc.equal(texts, ""), pa.scalar(None, pa.string()), texts)
            columns.append(parsed(name, type_, texts, rows, reasons))
        return decoded(columns, pa.array(rows, pa.int64()), reasons)

    def _fields(self, lines: pa.Array) -> pa.Array:
        quoted = pc.fill_null(pc.match_substring(lines, '"'), False)
        lists = pc.split_pattern(lines, self._delimiter)
        if not pc.any(quoted, min_count=0).as_py():
            return lists
        found = lists.to_pylist()  # with quotes only a reader of CSV knows where a field ends
        for row in np.flatnonzero(quoted.to_numpy(zero_copy_only=False)):
            found[row] = next(csv.reader([lines[row].as_py()], delimiter=self._delimiter), [])
        return pa.array(found, pa.list_(pa.string()))
