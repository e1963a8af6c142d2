"""What a stream plan promises, whatever the query: keys, distributions, hidden columns. SQL is in `goldens/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from risingpy.errors import DuplicateColumn, FeatureNotSupported, InvalidTableDefinition, SqlError
from risingpy.optimizer.stream.jobs import StreamJobPlan
from risingpy.plan import logical, operators
from risingpy.plan.aggregates import HashAgg
from risingpy.plan.catalog import IndexedRelation, Table
from risingpy.plan.expressions import Call, InputRef, Literal, Parameter
from risingpy.plan.logical import AggCall, Aggregate, Field, Filter, LogicalPlan, Project, Sort, SortKey
from risingpy.plan.operators import ConflictBehavior, StreamPlan
from risingpy.plan.properties import DistributionKind
from risingpy.plan.traversal import all_state_tables, nodes_of_fragment
from risingpy.storage.codec.table_schema import KeyColumn, TableSchema
from risingpy.types import BIGINT, BOOLEAN, DOUBLE, INTEGER, NUMERIC, REAL, TIMESTAMPTZ, VARCHAR
from tests.optimizer.conftest import PlannerBench


def operators_of(planned: StreamJobPlan) -> list[str]:
    """The operators from the top down, through the exchanges."""
    names = []
    node: StreamPlan = planned.root
    while True:
        names.append(type(node).__name__)
        if not hasattr(node, "input"):
            return names
        node = node.input


def aggregate(input: LogicalPlan, group_key: Sequence[int], *calls: AggCall) -> Aggregate:
    fields = [input.schema[i] for i in group_key]
    fields += [Field(f"{call.function}_{i}", call.type) for i, call in enumerate(calls)]
    return Aggregate(input, tuple(group_key), calls, tuple(fields))


def stored(relation: IndexedRelation) -> TableSchema:
    """The table that holds the relation's rows."""
    return relation.table


@pytest.fixture
def t(bench: PlannerBench) -> Table:
    return bench.table("t", {"a": INTEGER, "b": INTEGER, "c": REAL})


@pytest.fixture
def keyed(bench: PlannerBench) -> Table:
    return bench.table("keyed", {"id": BIGINT, "name": VARCHAR, "n": INTEGER}, ["id"])


class TestTables:
    def test_a_table_without_a_key_is_keyed_by_its_row_id(self, t: Table) -> None:
        assert t.stream_key == (3,)
        assert stored(t).key == (KeyColumn(3),)
        assert stored(t).distribution == (3,)
        assert stored(t).value_columns == (0, 1, 2)

    def test_a_later_write_wins(self, bench: PlannerBench, keyed: Table) -> None:
        root = bench.jobs[0].fragments[0].root
        assert isinstance(root, operators.Materialize)
        assert root.conflict is ConflictBehavior.OVERWRITE
        assert not root.properties.append_only

    def test_append_only_with_generated_ids_needs_no_check(self, bench: PlannerBench) -> None:
        relation = bench.table("log", {"a": INTEGER}, append_only=True)
        root = bench.jobs[0].fragments[0].root
        assert isinstance(root, operators.Materialize)
        assert root.conflict is ConflictBehavior.NO_CHECK
        assert relation.append_only

    def test_append_only_with_a_key_can_still_overwrite(self, bench: PlannerBench) -> None:
        relation = bench.table("log", {"a": INTEGER}, ["a"], append_only=True)
        assert not relation.append_only

    def test_column_ids_are_the_tables(self, t: Table) -> None:
        assert [column.column_id for column in stored(t).columns] == [1, 2, 3, 4]


class TestHiddenColumns:
    def test_the_key_of_the_table_is_kept(self, bench: PlannerBench, t: Table) -> None:
        planned = bench.plan(bench.scan(t, "a"))
        assert [(c.name, c.hidden) for c in planned.columns] == [("a", False), ("_row_id", True)]
        assert planned.stream_key == (1,)
        assert [c.column_id for c in planned.columns] == [1, 2]

    def test_not_twice_if_it_is_selected(self, bench: PlannerBench, keyed: Table) -> None:
        planned = bench.plan(bench.scan(keyed, "name", "id"))
        assert [c.name for c in planned.columns] == ["name", "id"]
        assert planned.stream_key == (1,)

    def test_through_a_projection(self, bench: PlannerBench, keyed: Table) -> None:
        scan = bench.scan(keyed, "n")
        doubled = Call("add", (InputRef(0, INTEGER), InputRef(0, INTEGER)), INTEGER)
        planned = bench.plan(Project(scan, (doubled,), (Field("n2", INTEGER),)))
        assert [(c.name, c.hidden) for c in planned.columns] == [("n2", False), ("id", True)]

    def test_taken_names_are_numbered(self, bench: PlannerBench, t: Table) -> None:
        scan = bench.scan(t, "a")
        planned = bench.plan(Project(scan, (InputRef(0, INTEGER),), (Field("_row_id", INTEGER),)))
        assert [c.name for c in planned.columns] == ["_row_id", "_row_id_1"]

    def test_a_view_on_a_view_takes_over_its_hidden_key(self, bench: PlannerBench, t: Table) -> None:
        view = bench.view("v", bench.scan(t, "a"))
        planned = bench.plan(bench.scan(view))
        assert [c.name for c in planned.columns] == ["a", "_row_id"]

    def test_the_storage_key_of_an_ordered_view_is_scanned_but_not_stored_again(
        self, bench: PlannerBench, keyed: Table
    ) -> None:
        view = bench.view("v", Sort(bench.scan(keyed, "id", "n"), (SortKey(1, descending=True, nulls_first=True),)))
        planned = bench.plan(bench.scan(view, "id"))
        (scan,) = [n for n in nodes_of_fragment(planned.root) if isinstance(n, operators.TableScan)]
        assert {key.index for key in stored(view).key} <= set(scan.columns)
        assert [c.name for c in planned.columns] == ["id"]

    def test_names_must_differ(self, bench: PlannerBench, t: Table) -> None:
        scan = bench.scan(t, "a", "b")
        twice = Project(scan, (InputRef(0, INTEGER), InputRef(1, INTEGER)), (Field("x", INTEGER), Field("x", INTEGER)))
        with pytest.raises(DuplicateColumn, match='column "x" specified more than once'):
            bench.plan(twice)


class TestDistribution:
    def test_rows_of_a_table_stay_where_they_are(self, bench: PlannerBench, keyed: Table) -> None:
        predicate = Call("gt", (InputRef(0, INTEGER), Literal(1, INTEGER)), BOOLEAN)
        planned = bench.plan(Filter(bench.scan(keyed, "n"), predicate))
        assert operators_of(planned) == ["Materialize", "StreamFilter", "TableScan"]
        assert planned.table.distribution == planned.stream_key

    def test_grouping_by_the_tables_key_needs_no_exchange(self, bench: PlannerBench, keyed: Table) -> None:
        planned = bench.plan(aggregate(bench.scan(keyed, "id", "n"), [0], AggCall("count", (), BIGINT)))
        assert operators_of(planned) == ["Materialize", "HashAgg", "TableScan"]

    def test_rows_of_a_source_are_spread_by_their_row_id(self, bench: PlannerBench) -> None:
        events = bench.source("events", {"a": INTEGER})
        planned = bench.plan(bench.scan(events))
        assert operators_of(planned) == ["Materialize", "Exchange", "Source"]
        assert planned.append_only
        assert planned.table.distribution == (1,)

    def test_one_row_is_on_one_shard(self, bench: PlannerBench, t: Table) -> None:
        planned = bench.plan(aggregate(bench.scan(t, "a"), [], AggCall("sum", (0,), BIGINT)))
        assert planned.root.properties.distribution.kind is DistributionKind.SINGLE
        assert (planned.stream_key, planned.table.key, planned.table.distribution) == ((), (), ())

    def test_what_is_on_one_shard_is_grouped_there(self, bench: PlannerBench, t: Table) -> None:
        total = bench.view("total", aggregate(bench.scan(t, "a"), [], AggCall("sum", (0,), BIGINT)))
        planned = bench.plan(aggregate(bench.scan(total), [0], AggCall("count", (), BIGINT)))
        assert "Exchange" not in operators_of(planned)
        assert planned.table.distribution == ()

    def test_the_storage_key_holds_the_distribution(self, bench: PlannerBench, t: Table, keyed: Table) -> None:
        queries: list[LogicalPlan] = [
            bench.scan(t, "a"),
            Sort(bench.scan(t, "a", "b"), (SortKey(1),)),
            aggregate(bench.scan(t, "a", "b"), [0, 1], AggCall("count", (), BIGINT)),
            logical.Union((bench.scan(t, "a"), bench.scan(keyed, "n")), (Field("a", INTEGER),)),
        ]
        for query in queries:
            planned = bench.plan(query)
            for table in all_state_tables(planned.root):
                assert set(table.distribution) <= {key.index for key in table.key}


class TestAggregates:
    def test_two_phases_where_every_call_keeps_a_value(self, bench: PlannerBench, t: Table) -> None:
        calls = [AggCall("sum", (1,), BIGINT), AggCall("count", (), BIGINT)]
        planned = bench.plan(aggregate(bench.scan(t, "a", "b"), [0], *calls))
        assert operators_of(planned) == ["Materialize", "HashAgg", "Exchange", "LocalAgg", "TableScan"]
        agg = planned.root.input
        assert isinstance(agg, HashAgg)
        assert agg.from_partials
        assert agg.row_count is not None
        assert agg.calls[agg.row_count] == AggCall("count", agg.calls[agg.row_count].args, BIGINT)
        assert len(agg.states) == 2

    def test_partial_columns_are_the_args_of_the_second_phase(self, bench: PlannerBench, t: Table) -> None:
        planned = bench.plan(aggregate(bench.scan(t, "a", "b"), [0], AggCall("sum", (1,), BIGINT)))
        (agg,) = [n for n in nodes_of_fragment(planned.root) if isinstance(n, HashAgg)]
        partial = agg.input.properties.schema
        covered = [i for call in agg.calls for i in call.args]
        assert covered == list(range(1, len(partial) - 1))
        assert partial[-1].name == "count_change"

    def test_a_retractable_max_keeps_its_input(self, bench: PlannerBench, keyed: Table) -> None:
        planned = bench.plan(aggregate(bench.scan(keyed, "name", "n"), [0], AggCall("max", (1,), INTEGER)))
        (agg,) = [n for n in nodes_of_fragment(planned.root) if isinstance(n, HashAgg)]
        state = agg.states[0]
        assert state.materialized_input
        assert state.table.key == (KeyColumn(0), KeyColumn(1, descending=True), KeyColumn(2))
        assert [agg.input.properties.schema[i].name for i in state.input_columns] == ["name", "n", "id"]
        assert state.table.value_columns == ()
        assert state.table.read_prefix == 1

    def test_an_append_only_max_keeps_its_value(self, bench: PlannerBench) -> None:
        log = bench.table("log", {"a": INTEGER, "b": INTEGER}, append_only=True)
        planned = bench.plan(aggregate(bench.scan(log), [0], AggCall("max", (1,), INTEGER)))
        assert "LocalAgg" in operators_of(planned)
        (agg,) = [n for n in nodes_of_fragment(planned.root) if isinstance(n, HashAgg)]
        assert not any(state.materialized_input for state in agg.states)

    def test_equal_calls_are_computed_once(self, bench: PlannerBench, t: Table) -> None:
        calls = [AggCall("avg", (1,), NUMERIC), AggCall("sum", (1,), BIGINT), AggCall("avg", (1,), NUMERIC)]
        planned = bench.plan(aggregate(bench.scan(t, "a", "b"), [0], *calls))
        (agg,) = [n for n in nodes_of_fragment(planned.root) if isinstance(n, HashAgg)]
        assert [call.function for call in agg.calls] == ["sum", "count", "count"]
        assert [c.type for c in planned.columns[1:]] == [NUMERIC, BIGINT, NUMERIC]

    def test_the_average_of_reals_is_summed_as_double(self, bench: PlannerBench, t: Table) -> None:
        planned = bench.plan(aggregate(bench.scan(t, "a", "c"), [0], AggCall("avg", (1,), DOUBLE)))
        (agg,) = [n for n in nodes_of_fragment(planned.root) if isinstance(n, HashAgg)]
        assert agg.calls[0].type == DOUBLE
        assert planned.columns[1].type == DOUBLE

    def test_distinct_means_nothing_to_max(self, bench: PlannerBench, t: Table) -> None:
        call = AggCall("max", (1,), INTEGER, distinct=True)
        planned = bench.plan(aggregate(bench.scan(t, "a", "b"), [0], call))
        (agg,) = [n for n in nodes_of_fragment(planned.root) if isinstance(n, HashAgg)]
        assert not agg.calls[0].distinct

    def test_a_group_column_twice(self, bench: PlannerBench, t: Table) -> None:
        planned = bench.plan(Aggregate(bench.scan(t, "a"), (0, 0), (), (Field("x", INTEGER), Field("y", INTEGER))))
        assert [c.name for c in planned.columns] == ["x", "y"]
        assert planned.stream_key == (0,)

    def test_distinct_groups_by_every_column(self, bench: PlannerBench, t: Table) -> None:
        planned = bench.plan(aggregate(bench.scan(t, "a", "b"), [0, 1]))
        assert [c.name for c in planned.columns] == ["a", "b"]
        assert planned.stream_key == (0, 1)

    def test_columns_that_nothing_reads_do_not_cross_the_exchange(self, bench: PlannerBench, t: Table) -> None:
        planned = bench.plan(aggregate(bench.scan(t, "a", "b", "c"), [0], AggCall("min", (1,), INTEGER)))
        (crossing,) = [n for n in nodes_of_fragment(planned.root) if isinstance(n, operators.Exchange)]
        assert [f.name for f in crossing.properties.schema] == ["a", "b", "_row_id"]

    def test_filters_follow_their_columns(self, bench: PlannerBench) -> None:
        u = bench.table("u", {"x": INTEGER, "a": INTEGER, "ok": BOOLEAN, "b": INTEGER})
        call = AggCall("min", (3,), INTEGER, filter=2)
        planned = bench.plan(aggregate(bench.scan(u), [1], call))
        (agg,) = [n for n in nodes_of_fragment(planned.root) if isinstance(n, HashAgg)]
        names = [f.name for f in agg.input.properties.schema]
        assert agg.calls[0].filter is not None
        assert (names[agg.calls[0].args[0]], names[agg.calls[0].filter]) == ("b", "ok")


class TestUnion:
    def test_keys_share_columns_by_type(self, bench: PlannerBench, t: Table, keyed: Table) -> None:
        planned = bench.plan(logical.Union((bench.scan(t, "a"), bench.scan(keyed, "n")), (Field("a", INTEGER),)))
        assert [(c.name, c.type) for c in planned.columns] == [("a", INTEGER), ("_key_0", BIGINT), ("_input", INTEGER)]
        assert planned.stream_key == (1, 2)

    def test_a_key_that_is_selected_is_used_as_it_is(self, bench: PlannerBench, keyed: Table) -> None:
        scan = bench.scan(keyed, "id", "n")
        planned = bench.plan(logical.Union((scan, scan), scan.schema))
        assert [c.name for c in planned.columns] == ["id", "n", "_input"]
        assert planned.stream_key == (0, 2)
        assert "Exchange" not in operators_of(planned)

    def test_keys_of_different_types_are_padded(self, bench: PlannerBench, keyed: Table) -> None:
        other = bench.table("other", {"code": VARCHAR, "n": INTEGER}, ["code"])
        scans = (bench.scan(keyed, "n"), bench.scan(other, "n"))
        planned = bench.plan(logical.Union(scans, (Field("n", INTEGER),)))
        assert [c.type for c in planned.columns] == [INTEGER, BIGINT, VARCHAR, INTEGER]
        assert planned.root.input.properties.distribution.kind is DistributionKind.HASH

    def test_append_only_if_all_inputs_are(self, bench: PlannerBench, t: Table) -> None:
        log = bench.table("log", {"a": INTEGER}, append_only=True)
        scans = (bench.scan(log), bench.scan(t, "a"))
        assert bench.plan(logical.Union((scans[0], scans[0]), scans[0].schema)).append_only
        assert not bench.plan(logical.Union(scans, scans[0].schema)).append_only


class TestOrder:
    def test_sort_columns_lead_the_storage_key(self, bench: PlannerBench, keyed: Table) -> None:
        keys = (SortKey(1, descending=True, nulls_first=True), SortKey(1))
        planned = bench.plan(Sort(bench.scan(keyed, "id", "n"), keys))
        assert planned.table.key == (KeyColumn(1, descending=True, nulls_first=True), KeyColumn(0))
        assert planned.stream_key == (0,)
        assert any("ORDER BY" in notice for notice in planned.notices)

    def test_a_sort_column_that_is_not_selected_is_kept_hidden(self, bench: PlannerBench, keyed: Table) -> None:
        ordered = Sort(bench.scan(keyed, "id", "n"), (SortKey(1),))
        planned = bench.plan(Project(ordered, (InputRef(0, BIGINT),), (Field("id", BIGINT),)))
        assert [(c.name, c.hidden) for c in planned.columns] == [("id", False), ("n", True)]
        assert planned.table.key == (KeyColumn(1), KeyColumn(0))

    def test_below_the_top_it_means_nothing(self, bench: PlannerBench, keyed: Table) -> None:
        ordered = Sort(bench.scan(keyed, "id", "n"), (SortKey(1),))
        predicate = Call("gt", (InputRef(1, INTEGER), Literal(1, INTEGER)), BOOLEAN)
        planned = bench.plan(Filter(ordered, predicate))
        assert planned.table.key == (KeyColumn(0),)
        assert planned.notices == ()


class TestValues:
    def test_rows_are_numbered(self, bench: PlannerBench) -> None:
        rows = ((Literal(7, INTEGER),), (Literal(7, INTEGER),))
        planned = bench.plan(logical.Values(rows, (Field("x", INTEGER),)))
        assert [(c.name, c.hidden) for c in planned.columns] == [("x", False), ("_row_id", True)]
        assert isinstance(planned.root.input, operators.StreamValues)
        assert [row[-1] for row in planned.root.input.rows] == [Literal(0, BIGINT), Literal(1, BIGINT)]
        assert planned.append_only

    def test_select_without_from(self, bench: PlannerBench) -> None:
        values = logical.Values(((),), ())
        planned = bench.plan(Project(values, (Literal(1, INTEGER),), (Field("one", INTEGER),)))
        assert [c.name for c in planned.columns] == ["one", "_row_id"]
        assert planned.table.distribution == ()


def _now(bench: PlannerBench, t: Table) -> LogicalPlan:
    scan = bench.scan(t, "a")
    return Project(scan, (Call("now", (), TIMESTAMPTZ),), (Field("now", TIMESTAMPTZ),))


REFUSED: dict[str, Callable[[PlannerBench, Table], LogicalPlan]] = {
    "the aggregate xmlagg in a materialized view is not supported yet": lambda b, t: aggregate(
        b.scan(t, "a", "b"), [0], AggCall("xmlagg", (1,), VARCHAR)
    ),
    "in a materialized view or a sink now() is only allowed in WHERE, HAVING and ON": _now,
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_does_not_stream_is_refused_by_name(bench: PlannerBench, t: Table, message: str) -> None:
    with pytest.raises(FeatureNotSupported) as refused:
        bench.plan(REFUSED[message](bench, t))
    error: SqlError = refused.value
    assert (error.message, error.sqlstate) == (message, "0A000")
    assert error.hint


def test_parameters_are_refused(bench: PlannerBench, t: Table) -> None:
    scan = bench.scan(t, "a")
    with pytest.raises(InvalidTableDefinition, match="parameters"):
        bench.plan(Project(scan, (Parameter(1, INTEGER),), (Field("x", INTEGER),)))
