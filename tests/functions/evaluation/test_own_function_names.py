"""The names by which SQL text calls functions of ours say what they give."""

from __future__ import annotations

import pytest

from risingpy.functions.evaluation.sql.text import OWN_RESULTS, further_result, own_function
from risingpy.types import BIGINT, DATE, VARCHAR, SqlType, array_of, map_of, numeric, struct_of

FURTHER = [
    array_of(array_of(BIGINT)),
    struct_of(["a", "ü b"], [BIGINT, VARCHAR]),
    struct_of(["a", "c"], [BIGINT, VARCHAR]),
    array_of(struct_of(["n"], [numeric(10, 2)])),
    array_of(struct_of(["n"], [numeric(10, 3)])),
    map_of(VARCHAR, array_of(DATE)),
]


@pytest.mark.parametrize("type_", FURTHER, ids=str)
def test_a_further_result_is_read_from_its_name(type_: SqlType) -> None:
    name = own_function(type_)
    assert name.replace("_", "").isalnum() and name == name.lower()  # as DuckDB takes it without quotes
    assert further_result(name) == type_


def test_types_have_names_of_their_own() -> None:
    assert len({own_function(type_) for type_ in (*FURTHER, *OWN_RESULTS)}) == len(FURTHER) + len(OWN_RESULTS)


def test_other_names_are_none_of_them() -> None:
    assert [further_result(own_function(type_)) for type_ in OWN_RESULTS] == [None] * len(OWN_RESULTS)
    assert further_result("rpy_divide_2") is None
