"""Answers that are a small table of texts: SHOW, DESCRIBE, EXPLAIN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from risingpy.frontend.results import ResultField
from risingpy.types.system_types import TEXT


def text_fields(*names: str) -> tuple[ResultField, ...]:
    """Columns of text."""
    return tuple(ResultField(name, TEXT) for name in names)


def text_rows(fields: Sequence[ResultField], rows: Iterable[Sequence[str | None]]) -> Iterator[pa.RecordBatch]:
    """The rows as one batch."""
    columns = list(zip(*rows, strict=True)) or [()] * len(fields)
    arrays = [pa.array(column, pa.string()) for column in columns]
    return iter([pa.RecordBatch.from_arrays(arrays, names=[f"c{index}" for index in range(len(arrays))])])
