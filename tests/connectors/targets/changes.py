"""Changes as sinks deliver them, made of Python rows."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.connectors.targets.target import SinkSchema
from risingpy.types import SqlType
from risingpy.types.forms import parse_column

Row = Sequence[str | None]


def column_of(type_: SqlType, texts: Sequence[str | None]) -> pa.Array:
    """Values of a type from the texts that SQL reads."""
    return parse_column(type_, pa.array(texts, pa.string()))


def changes_of(schema: SinkSchema, rows: Sequence[tuple[int, Row]]) -> pa.Table:
    """A table as `SinkTarget.deliver` gets it: each row is its op and its values as texts."""
    arrays = [
        column_of(type_, [values[index] for _, values in rows]) for index, (_, type_) in enumerate(schema.columns)
    ]
    names = ["op", *(f"c{index}" for index in range(len(arrays)))]
    return pa.table([pa.array([op for op, _ in rows], pa.int8()), *arrays], names=names)
