"""A statement's result as rows of Python values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from risingpy.client.python_values import python_column
from risingpy.frontend.results import Result
from risingpy.types import TypeKind
from risingpy.types.wide_numeric import to_decimal


def result_rows(result: Result) -> list[tuple[Any, ...]]:
    """All rows; a numeric without declared digits is a Decimal here, and an enum its label, as the wire has them."""
    rows: list[tuple[Any, ...]] = []
    for batch in result.batches or ():
        columns = [column.to_pylist() for column in batch.columns]
        for place, field in enumerate(result.fields or ()):
            if field.type.is_wide:
                columns[place] = [None if value is None else to_decimal(value) for value in columns[place]]
            if field.type.leaf.kind is TypeKind.ENUM:
                columns[place] = python_column(field.type, pa.chunked_array([batch.column(place)]))
        rows += zip(*columns, strict=True)
    return rows
