"""`parse_rows`: a column of texts of which some are no values is read as each text alone is."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.errors import SqlError
from risingpy.types import BOOLEAN, DATE, DOUBLE, INTEGER, JSONB, NUMERIC, TIMESTAMPTZ, SqlType
from risingpy.types.forms import parse_rows, parse_text

TEXTS = [
    "1",
    "0",
    "1.5",
    "x",
    "",
    None,
    "99999999999",
    "true",
    "2026-01-02",
    "2026-13-02",
    "0000-01-01",
    "1e400",
    '{"a":1}',
]


@pytest.mark.parametrize("type_", [BOOLEAN, DATE, DOUBLE, INTEGER, JSONB, NUMERIC, TIMESTAMPTZ])
@given(texts=st.lists(st.sampled_from(TEXTS), max_size=12), repeated=st.sampled_from([1, 100]))
def test_each_text_is_read_as_alone(type_: SqlType, texts: list[str | None], repeated: int) -> None:
    texts = texts * repeated
    values, wrong = parse_rows(type_, pa.array(texts, pa.string()))
    expected: list[object] = []
    reasons: dict[int, str] = {}
    for row, text in enumerate(texts):
        try:
            expected.append(None if text is None else parse_text(type_, text))
        except SqlError as error:
            expected.append(None)
            reasons[row] = str(error)
    assert wrong == reasons
    assert values.to_pylist() == pa.array(expected, type_.arrow).to_pylist()
