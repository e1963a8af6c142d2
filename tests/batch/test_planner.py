"""Which access path a query's conditions get: the plan as data, on a catalog with keys and indexes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pytest
from numpy.typing import NDArray

from risingpy.batch.explain import explain_plan
from risingpy.batch.key_lookup import key_values
from risingpy.batch.parameters import Parameters
from risingpy.batch.plan import (
    BatchPlan,
    ComputedRows,
    ConstantRows,
    CopiedRows,
    Direct,
    FirstOfKey,
    FoundByIndex,
    FullScan,
    IndexRange,
    Input,
    ListScan,
    NearestRows,
    Overlay,
    PointGet,
    PrefixScan,
    RangeScan,
    SystemRows,
)
from risingpy.batch.planner import plan_query, scans_of
from risingpy.batch.prepared_query import PreparedQuery
from risingpy.errors import StalePlan
from risingpy.optimizer.rules import optimize
from risingpy.plan.catalog import Catalog
from risingpy.types import BIGINT, INTEGER, NUMERIC, SMALLINT, VARCHAR, SqlType
from risingpy.types.wide_numeric import to_bytes
from tests.batch.conftest import opened
from tests.frontend.binder.bench import bind

TABLES = """
CREATE TABLE t (id int PRIMARY KEY, a int, b varchar, c int);
CREATE TABLE pairs (x bigint, y varchar, z int, PRIMARY KEY (x, y));
CREATE TABLE prices (price numeric(10,2) PRIMARY KEY, n int);
CREATE TABLE floats (f double precision PRIMARY KEY, n int);
CREATE TABLE triples (x int, y int, z int, u int, v int, PRIMARY KEY (x, y, z));
CREATE INDEX by_u ON triples (u, v);
CREATE INDEX by_x ON triples (x);
CREATE MATERIALIZED VIEW named AS SELECT t.id, t.b, prices.n FROM t JOIN prices ON t.a = prices.n;
CREATE INDEX named_by_id ON named (id);
CREATE INDEX by_a ON t (a);
CREATE INDEX by_lower ON t (lower(b));
CREATE TABLE partly (id int PRIMARY KEY, a int, b int, c varchar);
CREATE INDEX part ON partly (a) WHERE b > 10;
CREATE UNIQUE INDEX part_c ON partly (a) WHERE c = 'x' AND b < 5;
"""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    with opened(tmp_path_factory.mktemp("planner") / "data") as (database, client):
        for statement in TABLES.strip().split("\n"):
            client.run(statement)
        yield database.reads.catalog


def plan(sql: str, catalog: Catalog, *types: SqlType, changed: frozenset[int] = frozenset()) -> BatchPlan:
    return plan_query(optimize(bind(sql, types, catalog).plan), catalog, changed)


def shown(rows: Input | FoundByIndex, values: Parameters = ()) -> str:
    """An input as one line: its kind, its relation, and the key that these parameters give."""
    match rows:
        case FullScan():
            return f"all of {rows.relation.name}"
        case PointGet() | PrefixScan():
            key = key_values(rows, values)
            found = "nothing" if key is None else ", ".join(str(part.value) for part in key)
            return f"{'row' if isinstance(rows, PointGet) else 'rows'} of {rows.relation.name}: {found}"
        case RangeScan():
            return f"range of {rows.relation.name}: {', '.join(bound.comparison for bound in rows.bounds)}"
        case IndexRange():
            return f"{shown(rows.scan)} or {shown(rows.otherwise)}"
        case FirstOfKey():
            return f"{'last' if rows.backward else 'first'} of {shown(rows.scan, values)}"
        case ListScan():
            return f"list of {rows.relation.name}: {', '.join(map(str, rows.values))}"
        case NearestRows():
            return f"nearest of {rows.relation.name} by {rows.index.name}"
        case FoundByIndex():
            return f"{rows.relation.name} by ({shown(rows.index, values)})"
        case Overlay():
            return f"changes over {shown(rows.rows, values)}"
        case SystemRows():
            return f"system rows of {rows.scan.name}"


@pytest.mark.parametrize(
    ("sql", "types", "values", "expected"),
    [
        ("select a from t where id = 5", (), (), "row of t: 5"),
        ("select a from t where 5 = id", (), (), "row of t: 5"),
        ("select a from t where id in (5)", (), (), "row of t: 5"),
        ("select a from t where id in (5, 6)", (), (), "list of t: 5, 6"),
        ("select a from t where id in (5, 6, 5, null) and c > 1", (), (), "list of t: 5, 6"),
        ("select a from t where id not in (5, 6)", (), (), "all of t"),
        ("select a from t where id in (5, 6) and a = 1", (), (), "list of t: 5, 6"),
        ("select id from t where a in (5, 6)", (), (), "list of by_a: 5, 6"),
        ("select b from t where id > 5 order by id desc limit 2", (), (), "last of range of t: gt"),
        ("select min(id) from t", (), (), "first of all of t"),
        ("select z from pairs where x in (1, 2)", (), (), "all of pairs"),  # a row's shard depends on y, too
        ("select n from prices where price in (1.5, 2)", (), (), "all of prices"),
        ("select n from floats where f in (0, 1)", (), (), "all of floats"),
        ("select a from t where id = 2 + 3", (), (), "row of t: 5"),
        ("select a from t where id > 5", (), (), "range of t: gt"),
        ("select a from t where 5 >= id and id > $1 + 1 and a = 1", (INTEGER,), (1,), "rows of by_a: 1"),
        ("select c from t where 5 >= id and id > $1 + 1 and c = 1", (INTEGER,), (1,), "range of t: le, gt"),
        ("select a from t where id between 2 and 4", (), (), "range of t: ge, le"),
        ("select a from t where id > 2.5", (), (), "all of t"),
        ("select a from t where id > c", (), (), "all of t"),
        ("select a from t where id > 5 or a = 1", (), (), "all of t"),
        ("select z from pairs where x < 3", (), (), "range of pairs: lt"),
        ("select n from floats where f > 0", (), (), "all of floats"),
        ("select a from t where id = 5 or id = 6", (), (), "all of t"),
        ("select a from t where id = null", (), (), "all of t"),
        ("select a from t where id = $1", (INTEGER,), (7,), "row of t: 7"),
        ("select a from t where id = $1", (SMALLINT,), (7,), "row of t: 7"),
        ("select a from t where id = $1 + 1", (INTEGER,), (7,), "row of t: 8"),
        ("select a from t where id = $1", (INTEGER,), (None,), "row of t: nothing"),
        ("select a from t where id = $1::int", (BIGINT,), (1 << 40,), "row of t: "),  # 22003, by the evaluator
        ("select z from pairs where x = 1 and y = 'k'", (), (), "row of pairs: 1, k"),
        ("select z from pairs where y = $2 and x = $1", (BIGINT, VARCHAR), (1, "k"), "row of pairs: 1, k"),
        ("select z from pairs where x = 1", (), (), "rows of pairs: 1"),
        ("select z from pairs where y = 'k'", (), (), "all of pairs"),
        ("select z from triples where x = 1", (), (), "rows of by_x: 1"),  # of the key, each vnode may have some
        ("select z from triples where x = 1 and y = 2", (), (), "rows of by_x: 1, 2"),  # whose key goes on with y
        ("select z from triples where x = 1 and u = 2", (), (), "rows of by_x: 1"),  # u may have any number of rows
        ("select z from triples where x = 1 and y = 2 and u = 3", (), (), "rows of by_x: 1, 2"),
        ("select z from triples where x = 1 and y = 2 and z = 3", (), (), "row of triples: 1, 2, 3"),
        ("select b from named where id = 1", (), (), "rows of named_by_id: 1"),  # its rows are spread by n
        ("select n from prices where price = 1.5", (), (), "row of prices: 1.50"),
        ("select n from prices where price = 1.555", (), (), "all of prices"),
        ("select n from floats where f = 0", (), (), "all of floats"),  # 0 and -0 have two keys
        ("select b, id from t where a = 5", (), (), "rows of by_a: 5"),
        ("select b, id from t where a = $1 and c > 1", (INTEGER,), (5,), "rows of by_a: 5"),
        ("select a from t where a = 5 and id = 1", (), (), "row of t: 1"),
        ("select id from t where lower(b) = 'x'", (), (), "rows of by_lower: x"),
        ("select id from t where lower(b) = $1", (VARCHAR,), ("x",), "rows of by_lower: x"),
        ("select id from partly where a = 1", (), (), "all of partly"),
        ("select id from partly where a = 1 and b > 10", (), (), "rows of part: 1"),
        ("select id from partly where a = 1 and b > 20 and id > 3", (), (), "rows of part: 1"),
        ("select id from partly where a = $1 and b > 10", (INTEGER,), (4,), "rows of part: 4"),
        ("select id from partly where a = 1 and b = 11", (), (), "rows of part: 1"),
        ("select id from partly where a = 1 and b > 9", (), (), "all of partly"),
        ("select id from partly where a = 1 or b > 10", (), (), "all of partly"),
        ("select id from partly where a = 1 and c = 'x'", (), (), "all of partly"),
        ("select id from partly where a = 1 and b = 3 and c = 'x'", (), (), "rows of part_c: 1"),
    ],
)
def test_access_paths(
    sql: str, types: tuple[SqlType, ...], values: Parameters, expected: str, catalog: Catalog
) -> None:
    [rows] = plan(sql, catalog, *types).inputs
    assert shown(rows, values) == expected


@pytest.mark.parametrize(
    ("value", "found"), [("1.5", "1.50"), ("1.500", "1.50"), ("1.555", "nothing"), ("1e9", "nothing")]
)
def test_numeric_parameters(value: str, found: str, catalog: Catalog) -> None:
    """Of the forms of a number all find the same row; what the column cannot hold finds none."""
    [rows] = plan("select n from prices where price = $1", catalog, NUMERIC).inputs
    assert shown(rows, (to_bytes(Decimal(value)),)) == f"row of prices: {found}"


def test_a_query_of_a_row_needs_no_duckdb(catalog: Catalog) -> None:
    assert isinstance(plan("select a, 1, $2 from t where id = $1", catalog, INTEGER, INTEGER).answer, Direct)
    assert isinstance(plan("select a + 1 from t where id = 5", catalog).answer, ComputedRows)
    assert isinstance(plan("select a from t where id = 5 and a = 1", catalog).answer, ComputedRows)
    assert isinstance(plan("select count(*) from t where id = 5", catalog).answer, ComputedRows)


COPIED = {
    "select c, a, c from t": (3, 1, 3),
    "select b from (select id, b from t) s limit 2 offset 1": (1,),
    "select * from t limit $1": (0, 1, 2, 3),
    "select z from pairs where x = 1": (0,),
    "select id from t where a = 5": (0,),
    "select a from t where id in (1, 2)": (0,),
}


@pytest.mark.parametrize("sql", COPIED)
def test_columns_of_a_relation_need_no_duckdb(sql: str, catalog: Catalog) -> None:
    answer = plan(sql, catalog, *(() if "$" not in sql else (BIGINT,))).answer
    assert isinstance(answer, CopiedRows)


@pytest.mark.parametrize(
    "sql",
    [
        *("select a + 1 from t", "select a from t where c = 1", "select a from t order by a limit 1"),
        *("select distinct a from t", "select a from (select a from t limit 3) s limit 2", "select from t"),
        *("select a, 1 from t", "select z from pairs where x = 1 and z = 2", "select t.a from t, pairs"),
        *("select relname from pg_class", "select a from t where id > 3", "select a from t where a = 1 and id = 2"),
    ],
)
def test_other_rows_need_it(sql: str, catalog: Catalog) -> None:
    assert isinstance(plan(sql, catalog).answer, ComputedRows)


class _HasNoSequences:
    def next(self, oid: int, count: int, checked: bool) -> NDArray[np.int64]:
        raise AssertionError


def test_constants_need_no_duckdb(catalog: Catalog) -> None:
    assert isinstance(plan("values (1, 'a'), (2, $1)", catalog, VARCHAR).answer, ConstantRows)
    assert isinstance(plan("select 1, $1", catalog, INTEGER).answer, ConstantRows)
    assert isinstance(plan("select random()", catalog).answer, ComputedRows)
    query = PreparedQuery(optimize(bind("values (1), ($1)", (SMALLINT,), catalog).plan), catalog)
    table = query.constants((7,), _HasNoSequences(), lambda: datetime.now(UTC))
    assert table is not None and table.to_pydict() == {"c0": [1, 7]}


def test_inputs_come_left_to_right(catalog: Catalog) -> None:
    sql = "select 1 from t u join pairs p on u.c = p.z left join t v on v.id = u.a where u.a = 3 and p.x = 9"
    inputs = [shown(each) for each in plan(sql, catalog).inputs]
    assert sorted(inputs) == ["row of t: 3", "rows of by_a: 3", "rows of pairs: 9"]
    explained = plan(sql, catalog)
    names = [scan.name.removeprefix("public.") for scan in scans_of(explained.query)]
    assert names == [each.relation.name for each in explained.inputs if not isinstance(each, Overlay | SystemRows)]


def test_system_relations_are_inputs_in_the_order_of_the_scans(catalog: Catalog) -> None:
    planned = plan("select 1 from pg_class r cross join pairs p where p.x = 9", catalog)
    assert [shown(each) for each in planned.inputs] == ["system rows of pg_class", "rows of pairs: 9"]
    assert [scan.name for scan in scans_of(planned.query)] == ["public.pairs"]
    lines = [line for line in explain_plan(planned) if "Scan {" in line]
    assert ["scan_ranges: [x = 9]" in line for line in lines] == [False, True]


def test_a_transactions_changes_lie_over_its_tables(catalog: Catalog) -> None:
    changed = frozenset(each.relation_id for each in catalog.relations.values() if each.name == "t")

    def inputs(sql: str) -> list[str]:
        return [shown(each) for each in plan(sql, catalog, changed=changed).inputs]

    assert inputs("select a from t where id = 5") == ["changes over row of t: 5"]
    assert inputs("select a from t") == ["changes over all of t"]
    assert inputs("select a from t where a = 5") == ["changes over t by (rows of by_a: 5)"]
    assert inputs("select z from pairs where x = 1") == ["rows of pairs: 1"]
    assert isinstance(plan("select a from t where id = 5", catalog, changed=changed).answer, ComputedRows)


def test_conditions_that_values_decide_are_planned_with_them(catalog: Catalog) -> None:
    sql = "select a from t where $1::int is null or id = $1::int"
    query = PreparedQuery(optimize(bind(sql, (INTEGER,), catalog).plan), catalog)
    assert query.plan.custom
    assert [shown(each) for each in query.plan.inputs] == ["all of t"]
    custom = query.plan_for(catalog, frozenset(), (5,))
    assert [shown(each) for each in custom.inputs] == ["row of t: 5"]
    assert not plan("select a from t where id = $1", catalog, INTEGER).custom


def test_a_plan_is_made_once_for_a_catalog_and_anew_for_another(catalog: Catalog) -> None:
    query = PreparedQuery(optimize(bind("select b, id from t where a = $1", (INTEGER,), catalog).plan), catalog)
    assert query.plan_for(catalog, frozenset(), (1,)) is query.plan
    without = {id_: each for id_, each in catalog.relations.items() if each.name != "by_a"}
    [rows] = query.plan_for(Catalog(relations=without), frozenset(), (1,)).inputs
    assert shown(rows) == "all of t"


def test_an_altered_or_dropped_table_makes_a_plan_stale(catalog: Catalog) -> None:
    query = PreparedQuery(optimize(bind("select a from t where id = 1", (), catalog).plan), catalog)
    altered = {id_: replace(each, version=each.version + 1) for id_, each in catalog.relations.items()}
    with pytest.raises(StalePlan, match='relation "t" was altered meanwhile'):
        query.plan_for(Catalog(relations=altered), frozenset(), ())
    with pytest.raises(StalePlan, match=r'relation "public\.t" was dropped or replaced meanwhile'):
        query.plan_for(Catalog(), frozenset(), ())
