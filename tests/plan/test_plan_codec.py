"""The codec gives back what it was given, and makes nothing but plans."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.formats import PLANS
from risingpy.plan import codec
from risingpy.plan.catalog import Catalog, View
from risingpy.plan.expressions import Call, Case, Cast, Expr, InputRef, Literal, Parameter
from risingpy.plan.logical import AggCall, Aggregate, Field, Filter, Limit, Sort, SortKey, TopN
from risingpy.types import (
    BIGINT,
    BOOLEAN,
    BYTEA,
    DATE,
    DOUBLE,
    INTEGER,
    INTERVAL,
    NUMERIC,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    VARCHAR,
    numeric,
)
from tests.optimizer.conftest import PlannerBench

_TYPES = st.sampled_from([BIGINT, BOOLEAN, DATE, NUMERIC, VARCHAR, numeric(10, 2, declared=True)])
_PARTS = st.integers(-(2**31), 2**31 - 1)
_LITERALS = st.one_of(
    st.builds(Literal, st.none(), _TYPES),
    st.builds(Literal, st.booleans(), st.just(BOOLEAN)),
    st.builds(Literal, st.integers(-(2**63), 2**63 - 1), st.just(BIGINT)),
    st.builds(Literal, st.floats(), st.just(DOUBLE)),
    st.builds(Literal, st.decimals(allow_nan=False, allow_infinity=False, places=3), st.just(NUMERIC)),
    st.builds(Literal, st.text(), st.just(VARCHAR)),
    st.builds(Literal, st.binary(), st.just(BYTEA)),
    st.builds(Literal, st.dates(), st.just(DATE)),
    st.builds(Literal, st.times(), st.just(TIME)),
    st.builds(Literal, st.datetimes(), st.just(TIMESTAMP)),
    st.builds(Literal, st.datetimes(timezones=st.just(datetime.UTC)), st.just(TIMESTAMPTZ)),
    st.builds(
        Literal, st.tuples(_PARTS, _PARTS, st.integers(-(2**63), 2**63 - 1)).map(pa.MonthDayNano), st.just(INTERVAL)
    ),
)
_LEAVES = _LITERALS | st.builds(InputRef, st.integers(0, 9), _TYPES) | st.builds(Parameter, st.integers(1, 9), _TYPES)


def _composed(parts: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    several = st.lists(parts, max_size=3).map(tuple)
    branches = st.lists(st.tuples(parts, parts), min_size=1, max_size=2).map(tuple)
    return (
        st.builds(Call, st.sampled_from(["add", "lower"]), several, _TYPES)
        | st.builds(Cast, parts, _TYPES)
        | st.builds(Case, branches, parts, _TYPES)
    )


@given(st.recursive(_LEAVES, _composed, max_leaves=12))
def test_expressions_come_back_equal(expression: Expr) -> None:
    assert codec.decode(codec.encode(expression)) == expression


@given(_LITERALS)
def test_values_come_back_with_their_python_type(literal: Literal) -> None:
    assert type(codec.decode(codec.encode(literal)).value) is type(literal.value)


@given(st.lists(st.tuples(_LITERALS, _LITERALS), min_size=1, max_size=3), st.booleans())
def test_long_lists_of_constants_come_back(rows: list[tuple[Literal, Literal]], mixed: bool) -> None:
    many = tuple(rows * 40 if mixed else rows[:1] * 40)
    assert codec.decode(codec.encode(many)) == many
    column = tuple(row[0] for row in many)
    assert codec.decode(codec.encode(column)) == column


def test_a_long_list_of_constants_takes_little_more_than_its_values() -> None:
    rows = tuple((Literal(number, INTEGER), Literal(str(number), VARCHAR)) for number in range(1000))
    assert len(codec.encode(rows)) < 20 * len(rows)
    odd = (*rows, (rows[0][0],))
    assert codec.decode(codec.encode(odd)) == odd


def test_nan_is_kept() -> None:
    value = codec.decode(codec.encode(Literal(float("nan"), DOUBLE))).value
    assert value != value


def test_equal_values_have_equal_bytes() -> None:
    one, other = (Literal(Decimal("1.50"), numeric(10, 2)) for _ in range(2))
    assert codec.encode(one) == codec.encode(other)


def test_a_job(bench: PlannerBench) -> None:
    t = bench.table("t", {"a": INTEGER, "b": INTEGER})
    calls = (AggCall("max", (1,), INTEGER), AggCall("avg", (1,), NUMERIC))
    schema = (Field("a", INTEGER), Field("max", INTEGER), Field("avg", NUMERIC))
    bench.view("v", Aggregate(bench.scan(t), (0,), calls, schema))
    (_, job) = bench.jobs
    assert codec.decode(memoryview(codec.encode(job))) == job


def test_the_plan_of_a_view(bench: PlannerBench) -> None:
    """Of operators that keep what they compute of their input: its schema."""
    t = bench.table("t", {"a": INTEGER, "b": INTEGER})
    keys = (SortKey(0),)
    query = TopN(Filter(bench.scan(t), Literal(value=True, type=BOOLEAN)), (1,), keys, 3)
    for plan in (query, Sort(query, keys), Limit(query, None, None)):
        assert codec.decode(codec.encode(plan)) == plan
        assert codec.decode(codec.encode(plan)).schema == plan.schema


def test_a_catalog() -> None:
    view = View(7, "public", "v", (), "CREATE VIEW v AS SELECT 1", query="SELECT 1")
    catalog = Catalog(version=3, relations={7: view})
    decoded = codec.decode(codec.encode(catalog))
    assert decoded == catalog
    assert isinstance(decoded.relations, Mapping)


def test_fields_that_were_added_later_take_their_default() -> None:
    data = b'{"version":1,"value":{"$":"table_schema.KeyColumn","index":4}}'
    decoded = codec.decode(data)
    assert (decoded.index, decoded.descending) == (4, False)


def test_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="another version"):
        codec.decode(b'{"version":%d,"value":null}' % (PLANS.written + 1))


def test_unknown_classes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown class in a plan: os\.system"):
        codec.decode(b'{"version":1,"value":{"$":"os.system"}}')


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(ValueError, match=r"unknown fields of table_schema\.KeyColumn in a plan: .*'collation'"):
        codec.decode(b'{"version":4,"value":{"$":"table_schema.KeyColumn","index":4,"collation":"C"}}')


def test_the_version_is_read_of_the_beginning() -> None:
    assert codec.version_of(codec.encode((1, "a"))) == PLANS.written
    assert codec.version_of(b'{"version": 1, "value": null}') == 1
    assert codec.version_of(b'{"epoch": 7}') is None


def test_what_is_no_plan_is_refused() -> None:
    with pytest.raises(TypeError, match="object cannot be part of a plan"):
        codec.encode((object(),))
