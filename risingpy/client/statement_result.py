"""A statement's rows, in the form that the program asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from importlib import import_module
from typing import Any

import pyarrow as pa

from risingpy.client.python_values import python_column, python_rows
from risingpy.connectors.targets.encoders.leaves import replace_leaves
from risingpy.connectors.targets.lake_columns import lake_leaf
from risingpy.frontend.results import Notice, ResultField
from risingpy.types.forms import text_column

_SHOWN_ROWS = 20


class StatementResult:
    """The rows of a query, or only the `tag` of a statement without rows ("INSERT 0 3").

    Arrow columns have the types that Parquet and Iceberg sinks write: what is held as one of Arrow's types is given
    without a copy; numeric without declared digits is decimal(38, 10); uuid, jsonb, interval and rw_int256 are text.
    Python rows hold every value exactly. Iterating gives Python rows.
    """

    def __init__(
        self, fields: Sequence[ResultField] | None, rows: pa.Table, tag: str, notices: Sequence[Notice], time_zone: str
    ) -> None:
        """`rows` has the fields' columns in their order, in the fields' own Arrow types."""
        self.fields = tuple(fields or ())
        self._rows = rows
        self._time_zone = time_zone
        self.tag = tag
        self.notices = tuple(notices)

    @property
    def columns(self) -> list[str]:
        return [field.name for field in self.fields]

    @property
    def types(self) -> list[str]:
        """The columns' SQL types."""
        return [str(field.type) for field in self.fields]

    def arrow(self) -> pa.Table:
        """Raises SqlError (22003) where a numeric has more digits than decimal(38, 10)."""
        columns = [
            pa.chunked_array(
                [replace_leaves(field.type, chunk, lake_leaf, lake_leaf) for chunk in column.chunks]
                or [replace_leaves(field.type, pa.array([], field.type.arrow), lake_leaf, lake_leaf)]
            )
            for field, column in zip(self.fields, self._rows.columns, strict=True)
        ]
        return pa.Table.from_arrays(columns, names=self.columns)

    def pandas(self) -> Any:
        """A pandas.DataFrame."""
        return self.arrow().to_pandas()

    def polars(self) -> Any:
        """A polars.DataFrame. Raises ImportError if polars, which is no dependency, is not installed."""
        return import_module("polars").from_arrow(self.arrow())

    def fetchall(self) -> list[tuple[Any, ...]]:
        return python_rows([field.type for field in self.fields], self._rows)

    def fetchone(self) -> tuple[Any, ...] | None:
        """The first row; None if there is none."""
        first = python_rows([field.type for field in self.fields], self._rows.slice(0, 1))
        return first[0] if first else None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self.fetchall())

    def __len__(self) -> int:
        return int(self._rows.num_rows)

    def __bool__(self) -> bool:
        """True, also without rows: a statement has been answered."""
        return True

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's PyCapsule interface: polars, DuckDB and others take a StatementResult as it is."""
        return self.arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        if not self.fields:
            return self.tag
        texts = self._texts()
        widths = [max(map(len, column)) for column in zip(self.columns, *texts, strict=True)]
        lines = [" | ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in texts]
        head = " | ".join(f"{name:<{width}}" for name, width in zip(self.columns, widths, strict=True))
        return "\n".join([head, "-+-".join("-" * width for width in widths), *lines, self._counted()])

    def _repr_html_(self) -> str:
        """The table that a notebook shows."""
        if not self.fields:
            return f"<code>{escape(self.tag)}</code>"
        head = "".join(
            f"<th>{escape(field.name)}<br><small>{escape(str(field.type))}</small></th>" for field in self.fields
        )
        body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in self._texts())
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f"{table}<small>{self._counted()}</small>"

    def python_values(self, column: int) -> list[Any]:
        """The values of a column, None for NULL."""
        return python_column(self.fields[column].type, self._rows.column(column))

    def texts(self, column: int, limit: int | None = None) -> list[str | None]:
        """The values of a column as SQL shows them, None for NULL."""
        type_, chunks = self.fields[column].type, self._rows.column(column).slice(0, limit).chunks
        shown = (text_column(type_, chunk, time_zone=self._time_zone) for chunk in chunks)
        return [text for chunk in shown for text in chunk.to_pylist()]

    def _texts(self) -> list[tuple[str, ...]]:
        """The first rows as SQL shows them."""
        columns = [
            ["NULL" if text is None else text for text in self.texts(k, _SHOWN_ROWS)] for k in range(len(self.fields))
        ]
        return list(zip(*columns, strict=True))

    def _counted(self) -> str:
        rows = len(self)
        shown = f", the first {_SHOWN_ROWS} shown" if rows > _SHOWN_ROWS else ""
        return f"({rows} row{'' if rows == 1 else 's'}{shown})"
