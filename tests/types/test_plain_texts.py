"""Columns that are read in one go have the values, and the errors, of their texts read one by one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.errors import SqlError
from risingpy.types import BIGINT, DATE, INTEGER, SMALLINT, TIMESTAMP, SqlType, TypeKind
from risingpy.types.forms import parse_rows, parse_text
from risingpy.types.plain_texts import content_of, read_as_they_are

_NUMERIC = SqlType(TypeKind.NUMERIC, precision=8, scale=2)
_DAY, _CLOCK = r"[0-2][0-9]{3}-[01][0-9]-[0-3][0-9]", r"[0-2][0-9]:[0-6][0-9]:[0-6][0-9]"
_TEXTS = st.one_of(
    st.text("0123456789-", max_size=20),
    st.text("0123456789-.", max_size=12),
    st.text("0123456789-: .T", max_size=26),
    st.text(" +xXeE_,019-.", max_size=6),
    st.from_regex(r"-?[0-9]{1,6}(\.[0-9]{0,3})?", fullmatch=True),
    st.from_regex(_DAY, fullmatch=True),
    st.from_regex(rf"{_DAY}[ T]{_CLOCK}(\.[0-9]{{0,8}})?(-0[0-9])?", fullmatch=True),
)


@pytest.mark.parametrize("type_", [SMALLINT, INTEGER, BIGINT, _NUMERIC, DATE, TIMESTAMP], ids=str)
@given(data=st.data())
def test_a_column_is_what_its_texts_are(type_: SqlType, data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.one_of(_TEXTS, st.none()), min_size=1, max_size=4))
    padded = pa.array(["7", *texts, "8"]).slice(1, len(texts))  # as a piece of a larger column
    values, wrong = parse_rows(type_, padded)
    for row, text in enumerate(texts):
        if text is None:
            assert values[row].as_py() is None
            continue
        try:
            expected = parse_text(type_, text)
        except SqlError as error:
            assert wrong.get(row) == str(error), text
        else:
            assert row not in wrong, text
            assert values[row].equals(pa.scalar(expected, type_.arrow)), text  # Python has no date of the year 10000


def test_other_characters_are_seen() -> None:
    column = pa.array(["x", "12", None, "-7", "0x1F"])
    assert content_of(column.slice(1, 3)) == b"12-7"
    found = read_as_they_are(column.slice(1, 3), pa.int64(), b"0123456789-")
    assert found is not None
    assert found.to_pylist() == [12, None, -7]
    assert read_as_they_are(column.slice(1), pa.int64(), b"0123456789-") is None
    assert read_as_they_are(pa.array(["12", "3"]), pa.int64(), b"0123456789-", shortest=2) is None
    assert read_as_they_are(pa.array(["--"]), pa.int64(), b"0123456789-") is None
