"""Rows as texts: CSV lines, templates, and a single column's own bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue, UndefinedColumn
from risingpy.types import SqlType, TypeKind
from risingpy.types.forms import text_column

_HOLE = re.compile(r"\{\s*([^{}]+?)\s*\}")


class CsvRows:
    """Rows as lines of RFC 4180 without a line's end: NULL is nothing, and an empty text is `""`."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]], delimiter: str) -> None:
        self._columns = columns
        self._delimiter = delimiter
        self._special = f'[{re.escape(delimiter)}"\\r\\n]'

    @property
    def header(self) -> str:
        """The columns' names as a line."""
        return self._delimiter.join(self._quoted(pa.array([name for name, _ in self._columns])).to_pylist())

    def rows(self, arrays: Sequence[pa.Array]) -> pa.Array:
        texts = [
            pc.fill_null(self._quoted(text_column(type_, array)), "")
            for array, (_, type_) in zip(arrays, self._columns, strict=True)
        ]
        return pc.binary_join_element_wise(*texts, self._delimiter)

    def _quoted(self, texts: pa.Array) -> pa.Array:
        needed = pc.or_(pc.match_substring_regex(texts, self._special), pc.equal(texts, ""))
        if not pc.any(needed, min_count=0).as_py():
            return texts
        quoted = pc.binary_join_element_wise('"', pc.replace_substring(texts, '"', '""'), '"', "")
        return pc.if_else(needed, quoted, texts)


class TemplateRows:
    """Rows as a text with holes: `user:{id}` is `user:7`. NULL is the text `NULL`, as in RisingWave."""

    def __init__(self, template: str, columns: Sequence[tuple[str, SqlType]], allowed: Sequence[int]) -> None:
        """`allowed` are the positions of the columns that may stand in holes. Raises UndefinedColumn for others."""
        positions = {columns[index][0]: index for index in allowed}
        self._columns = columns
        self._pieces: list[str | int] = []
        at = 0
        for hole in _HOLE.finditer(template):
            if hole[1] not in positions:
                raise UndefinedColumn(f'column "{hole[1]}" of the template "{template}" cannot be used there')
            self._pieces += [template[at : hole.start()], positions[hole[1]]]
            at = hole.end()
        if not self._pieces:
            raise InvalidParameterValue(f'the template "{template}" names no column', hint="A column is {name}.")
        self._pieces.append(template[at:])

    def texts(self, arrays: Sequence[pa.Array]) -> pa.Array:
        """A string array; `arrays` are all columns of the schema."""
        parts: list[pa.Array | str] = []
        for piece in self._pieces:
            if isinstance(piece, str):
                parts.append(piece)
                continue
            parts.append(pc.fill_null(text_column(self._columns[piece][1], arrays[piece]), "NULL"))
        return pc.binary_join_element_wise(*parts, "")

    rows = texts


class ColumnBytes:
    """A single column of type bytea or varchar as it is. Its NULL is a message without a value."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]]) -> None:
        if len(columns) != 1 or not (columns[0][1].is_text or columns[0][1].kind is TypeKind.BYTEA):
            raise InvalidParameterValue("ENCODE BYTES needs exactly one column, of type bytea or varchar")

    def rows(self, arrays: Sequence[pa.Array]) -> pa.Array:
        return arrays[0].cast(pa.binary())
