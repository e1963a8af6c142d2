"""Whatever query is planned, executors can run it: random logical plans against the rules of stream plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from hypothesis import given
from hypothesis import strategies as st

from risingpy.functions.aggregate.layout import partial_types
from risingpy.optimizer.stream.distribution import brings_together
from risingpy.plan import logical, operators
from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.catalog import Relation
from risingpy.plan.codec import decode, encode
from risingpy.plan.expression_trees import walk
from risingpy.plan.expressions import Call, Expr, InputRef, Literal
from risingpy.plan.logical import AggCall, Field, LogicalPlan, SortKey
from risingpy.plan.operators import StreamPlan
from risingpy.plan.ordered import Dedup, StreamOverWindow, StreamTopN
from risingpy.plan.properties import DistributionKind
from risingpy.plan.traversal import all_state_tables, children
from risingpy.plan.window_calls import WindowCall
from risingpy.types import BIGINT, BOOLEAN, INTEGER, VARCHAR
from tests.optimizer.conftest import PlannerBench

COLUMNS = {"i": INTEGER, "big": BIGINT, "text": VARCHAR, "flag": BOOLEAN}
T = TypeVar("T")


class Draw(Protocol):
    """An example of a strategy: `data.draw`."""

    def __call__(self, strategy: st.SearchStrategy[T], /) -> T: ...


def relations(bench: PlannerBench) -> list[Relation]:
    """Tables of every kind of key, a view of groups, a view of one row, a source."""
    made: list[Relation] = [
        bench.table("rows", COLUMNS),
        bench.table("keyed", COLUMNS, ["text", "i"]),
        bench.table("log", COLUMNS, append_only=True),
        bench.source("events", COLUMNS),
    ]
    groups = aggregate(bench.scan(made[0]), (2, 0), (AggCall("count", (), BIGINT), AggCall("bool_or", (3,), BOOLEAN)))
    made.append(bench.view("groups", logical.Project(groups, refs(groups, (1, 2, 0, 3)), fields(*COLUMNS))))
    one = aggregate(
        bench.scan(made[0]),
        (),
        tuple(AggCall(*call) for call in (("min", (0,), INTEGER), ("count", (), BIGINT), ("max", (2,), VARCHAR))),
    )
    flag = Call("gt", (InputRef(1, BIGINT), Literal(0, BIGINT)), BOOLEAN)
    made.append(bench.view("one", logical.Project(one, (*refs(one, (0, 1, 2)), flag), fields(*COLUMNS))))
    return made


def fields(*names: str) -> tuple[Field, ...]:
    return tuple(Field(name, COLUMNS[name]) for name in names)


def refs(query: LogicalPlan, positions: tuple[int, ...]) -> tuple[Expr, ...]:
    return tuple(InputRef(i, query.schema[i].type) for i in positions)


def aggregate(query: LogicalPlan, group_key: tuple[int, ...], calls: tuple[AggCall, ...]) -> logical.Aggregate:
    names = [query.schema[i] for i in group_key] + [Field(f"call_{i}", call.type) for i, call in enumerate(calls)]
    return logical.Aggregate(query, group_key, calls, tuple(names))


def draw_query(draw: Draw, bench: PlannerBench, made: list[Relation], depth: int) -> LogicalPlan:
    """A query whose columns have the types of COLUMNS, in that order."""
    kinds = [
        *("scan", "filter", "project", "group", "global", "distinct", "union", "sort", "limit", "top", "window"),
        "expand",
    ]
    kind = draw(st.sampled_from(kinds))
    if depth == 0 or kind == "scan":
        if draw(st.integers(0, 9)) == 0:
            row = (Literal(1, INTEGER), Literal(None, BIGINT), Literal("x", VARCHAR), Literal(True, BOOLEAN))
            return logical.Values((row, row), fields(*COLUMNS))
        return bench.scan(draw(st.sampled_from(made)))
    query = draw_query(draw, bench, made, depth - 1)
    match kind:
        case "filter":
            return logical.Filter(query, InputRef(3, BOOLEAN))
        case "project":
            doubled = Call("add", (InputRef(1, BIGINT), InputRef(1, BIGINT)), BIGINT)
            return logical.Project(query, (InputRef(0, INTEGER), doubled, *refs(query, (2, 3))), query.schema)
        case "group":
            return draw_group(draw, query)
        case "global":
            calls = (AggCall("max", (0,), INTEGER), AggCall("sum", (0,), BIGINT), AggCall("min", (2,), VARCHAR))
            return aggregate(query, (), (*calls, AggCall("bool_and", (3,), BOOLEAN)))
        case "distinct":
            return aggregate(query, (0, 1, 2, 3), ())
        case "union":
            return logical.Union((query, draw_query(draw, bench, made, depth - 1)), query.schema)
        case "expand":
            copies = logical.Expand(query, draw(st.integers(1, 3)), (*query.schema, Field("copy", BIGINT)))
            return logical.Project(copies, (*refs(copies, (0, 4, 2, 3)),), query.schema)
        case "limit":
            sorted_ = logical.Sort(query, (SortKey(draw(st.integers(0, 3))), SortKey(draw(st.integers(0, 3)))))
            limit, offset = (draw(st.sampled_from([None, Literal(n, BIGINT)])) for n in (draw(st.integers(0, 2)), 1))
            return logical.Limit(draw(st.sampled_from([query, sorted_])), limit, offset)
        case "top":
            groups = draw(st.sampled_from([(), (1,), (0, 2)]))
            return logical.TopN(query, groups, (SortKey(3), SortKey(1)), draw(st.integers(1, 2)), draw(st.booleans()))
        case "window":
            return draw_window(draw, query)
        case _:
            return logical.Sort(query, (SortKey(draw(st.integers(0, 3)), descending=draw(st.booleans())),))


def draw_window(draw: Draw, query: LogicalPlan) -> LogicalPlan:
    groups = draw(st.sampled_from([(), (1,), (0, 2)]))
    lag = WindowCall("lag", (InputRef(0, INTEGER), Literal(2, INTEGER)), INTEGER)
    number = WindowCall("row_number", (), BIGINT)
    made = (*query.schema, Field("lag", INTEGER), Field("number", BIGINT))
    window = logical.OverWindow(query, groups, (SortKey(3), SortKey(1)), (lag, number), made)
    return logical.Project(window, refs(window, (4, 5, 2, 3)), fields(*COLUMNS))


def draw_group(draw: Draw, query: LogicalPlan) -> LogicalPlan:
    number = draw(st.sampled_from(["count", "sum", "max"]))
    call = {
        "count": AggCall("count", (), BIGINT),
        "sum": AggCall("sum", (0,), BIGINT, filter=3),
        "max": AggCall("max", (1,), BIGINT),
    }[number]
    grouped = aggregate(query, draw(st.sampled_from([(0, 2, 3), (2, 0, 3)])), (call,))
    by_type = {grouped.schema[i].type: i for i in range(3)}
    order = (by_type[INTEGER], 3, by_type[VARCHAR], by_type[BOOLEAN])
    return logical.Project(grouped, refs(grouped, order), fields(*COLUMNS))


@given(st.data())
def test_every_plan_is_well_formed(make_bench: Callable[[], PlannerBench], data: st.DataObject) -> None:
    bench = make_bench()
    query = draw_query(data.draw, bench, relations(bench), data.draw(st.integers(1, 4)))
    named = tuple(Field(f"column_{i}", field.type) for i, field in enumerate(query.schema))
    query = logical.Project(query, refs(query, (0, 1, 2, 3)), named)
    planned = bench.plan(query)
    check(planned.root)
    assert [column.type for column in planned.columns[:4]] == list(COLUMNS.values())
    assert planned.stream_key == planned.root.properties.stream_key
    tables = [table.table_id for table in all_state_tables(planned.root)]
    assert len(set(tables)) == len(tables)
    job = bench.cut(planned)
    stages = {fragment.fragment_id: fragment.stage for fragment in job.fragments}
    for fragment in job.fragments:
        assert all(stages[source.fragment_id] + source.moves <= fragment.stage for source in fragment.inputs)
    assert job.fragments[-1].root == planned.root
    assert decode(encode(job)) == job


def check(node: StreamPlan) -> None:
    """The rules of plans that executors rely on."""
    for child in children(node):
        check(child)
    properties = node.properties
    width = len(properties.schema)
    assert len(set(properties.stream_key)) == len(properties.stream_key)
    assert all(0 <= i < width for i in (*properties.stream_key, *properties.distribution.columns))
    if properties.distribution.kind is DistributionKind.HASH:
        assert properties.distribution.columns
    for state in all_state_tables(node) if not children(node) else ():
        assert set(state.distribution) <= {key.index for key in state.key}
    match node:
        case operators.StreamFilter():
            check_expressions((node.predicate,), node.input)
        case operators.StreamProject():
            check_expressions(node.expressions, node.input)
            assert [e.type for e in node.expressions] == [field.type for field in properties.schema]
        case HashAgg() | SimpleAgg():
            check_agg(node)
        case LocalAgg():
            check_local_agg(node)
        case StreamTopN():
            check_top_n(node)
        case StreamOverWindow():
            check_over_window(node)
        case Dedup():
            assert node.input.properties.append_only
            assert brings_together(node.input.properties.distribution, node.key)
            assert len(node.table.distribution) == len(node.properties.distribution.columns)
        case operators.StreamExpand():
            assert properties.schema == (*node.input.properties.schema, properties.schema[-1])
            assert properties.stream_key == (*node.input.properties.stream_key, width - 1)
        case operators.StreamUnion():
            check_union(node)
        case operators.Materialize():
            check_materialize(node)


def check_expressions(expressions: tuple[Expr, ...], input: StreamPlan) -> None:
    for expression in expressions:
        for part in walk(expression):
            if isinstance(part, InputRef):
                assert input.properties.schema[part.index].type == part.type


def check_agg(node: HashAgg | SimpleAgg) -> None:
    group_key = node.group_key if isinstance(node, HashAgg) else ()
    assert len(node.states) == len(node.calls)
    assert node.calls[node.row_count].function == "count"
    assert brings_together(node.input.properties.distribution, group_key)
    columns = node.input.properties.schema
    for call, state in zip(node.calls, node.states, strict=True):
        types = [column.type for column in state.table.columns]
        assert types[: len(group_key)] == [columns[i].type for i in group_key]
        assert state.table.read_prefix == len(group_key)
        assert state.table.distribution == node.properties.distribution.columns
        if state.materialized_input:
            assert types == [columns[i].type for i in state.input_columns]
            assert set(node.input.properties.stream_key) <= set(state.input_columns)
        elif node.from_partials:
            assert types[len(group_key) :] == [columns[i].type for i in call.args]


def check_local_agg(node: LocalAgg) -> None:
    types = [column.type for column in node.input.properties.schema]
    expected = [types[i] for i in node.group_key]
    expected += [type_ for call in node.calls for type_ in partial_types(call, types)]
    assert [column.type for column in node.properties.schema] == [*expected, BIGINT]


def check_top_n(node: StreamTopN) -> None:
    columns = node.input.properties.schema
    key = [key.index for key in node.table.key]
    assert [column.type for column in node.table.columns] == [column.type for column in columns]
    ordered = [*node.group_key, *(key.index for key in node.order)]
    if node.keeps_one_row:
        assert key == list(node.group_key)
    else:
        assert key[: len(ordered)] == ordered
        assert set(node.input.properties.stream_key) <= set(key)
    assert brings_together(node.input.properties.distribution, node.group_key)
    assert node.table.distribution == node.input.properties.distribution.columns
    assert set(node.table.distribution) <= set(node.group_key)


def check_over_window(node: StreamOverWindow) -> None:
    columns = node.properties.schema
    assert [column.type for column in node.table.columns] == [column.type for column in columns]
    assert [column.type for column in columns[len(columns) - len(node.calls) :]] == [c.type for c in node.calls]
    key = [key.index for key in node.table.key]
    assert tuple(key[: len(node.partition_by)]) == node.partition_by
    assert set(node.properties.stream_key) <= set(key)
    assert brings_together(node.input.properties.distribution, node.partition_by)
    assert set(node.table.distribution) <= set(node.partition_by)


def check_union(node: operators.StreamUnion) -> None:
    types = [column.type for column in node.properties.schema]
    for each in node.inputs:
        assert [column.type for column in each.properties.schema] == types[:-1]
        assert set(each.properties.stream_key) <= set(node.properties.stream_key)


def check_materialize(node: operators.Materialize) -> None:
    table, given_ = node.table, node.input.properties
    key = {column.index for column in table.key}
    stream_key = given_.stream_key if node.first_by is None else tuple(key)
    assert set(stream_key) <= key
    assert brings_together(given_.distribution, stream_key)
    assert node.first_by is None or given_.append_only
    assert table.distribution == given_.distribution.columns
    assert [column.type for column in table.columns] == [column.type for column in given_.schema]
    assert sorted({*key, *table.value_columns}) == list(range(len(table.columns)))
