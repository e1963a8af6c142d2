"""Datums of single values are those of stored rows, and a column of them is the one that they were taken from."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.storage.codec.datum_columns import column_of, datum_in, datum_of, has_datums
from risingpy.types import SqlType
from tests.storage.codec.columns import ALL_TYPES, column, same, values

_TYPES = [each for each in ALL_TYPES if has_datums(each.arrow)]


@pytest.mark.parametrize("type_", _TYPES, ids=str)
@given(data=st.data())
def test_a_column_of_its_datums_is_the_same(type_: SqlType, data: st.DataObject) -> None:
    items = data.draw(st.lists(values(type_), max_size=20))
    begin = data.draw(st.integers(0, len(items)))
    array = column(type_, items).slice(begin)
    datums = [datum_of(array, place) for place in range(len(array))]
    found = column_of(datums, type_.arrow)
    found.validate(full=True)
    assert found.type == array.type and same(found, array)
    pieces = pa.chunked_array([array.slice(0, len(array) // 2), array.slice(len(array) // 2)], type_.arrow)
    assert [datum_in(pieces, place) for place in range(len(array))] == datums


def test_nested_types_have_none() -> None:
    assert len(_TYPES) >= 19
    assert not has_datums(pa.list_(pa.int32()))


def test_a_place_that_is_not_there() -> None:
    with pytest.raises(IndexError):
        datum_in(pa.chunked_array([pa.array([1])]), 1)
