"""Makes executors of plan nodes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import assert_never

import pyarrow as pa

from risingpy.executors.aggregate.hash_agg import HashAggExecutor
from risingpy.executors.aggregate.local_agg import LocalAggExecutor
from risingpy.executors.aggregate.simple_agg import SimpleAggExecutor
from risingpy.executors.builders.aggregate import local_calls, state_calls
from risingpy.executors.builders.few_rows import few_executor
from risingpy.executors.builders.join import as_of_join, hash_join, temporal_join
from risingpy.executors.builders.leaves import leaf, received
from risingpy.executors.builders.ordered import dedup, first_of_key, local_top_n, over_window, top_n
from risingpy.executors.builders.recursion import let, levels, moments, recursion, recursive_scan
from risingpy.executors.builders.state_cleaning import cleaned
from risingpy.executors.builders.watermark import (
    eowc_hash_agg,
    eowc_sort,
    expiring_rows,
    retained_rows,
    rows_of_ttl,
    watermark_filter,
)
from risingpy.executors.change_chunk import empty_chunk
from risingpy.executors.epoch.operator_tree import (
    CompiledOperator,
    Executor,
    FragmentEpoch,
    FragmentTree,
    at_start,
)
from risingpy.executors.epoch.shared_outputs import output_key
from risingpy.executors.epoch.time import milliseconds
from risingpy.executors.join.bound_over_time import BoundOverTime
from risingpy.executors.join.dynamic_filter import BoundComparison, DynamicFilterExecutor
from risingpy.executors.join.time_filter import TimeFilterExecutor, TimeFilterMemory
from risingpy.executors.relation.changelog import ChangelogExecutor
from risingpy.executors.relation.conflicts import ConflictRule
from risingpy.executors.relation.into_table import IntoTableExecutor, RowIdsOfSink
from risingpy.executors.relation.materialize import (
    ConflictMaterializeExecutor,
    MaterializeExecutor,
    OverwriteMaterializeExecutor,
)
from risingpy.executors.relation.row_times import RowTimesExecutor
from risingpy.executors.relation.table_inputs import TableInputsExecutor
from risingpy.executors.stateless.change_log import ChangeLogExecutor
from risingpy.executors.stateless.expand import ExpandExecutor
from risingpy.executors.stateless.filter import FilterExecutor
from risingpy.executors.stateless.project import ProjectExecutor, may_cancel, over_time
from risingpy.executors.stateless.project_set import ProjectSetExecutor, SeriesSizes
from risingpy.executors.stateless.union import UnionExecutor
from risingpy.functions.evaluation.evaluate import Evaluator
from risingpy.plan.aggregates import HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.graph import Fragment
from risingpy.plan.joins import AsOfJoin, DynamicFilter, HashJoin, TemporalJoin
from risingpy.plan.operators import (
    Changelog,
    ConflictBehavior,
    Dml,
    EowcSort,
    Exchange,
    IntoTable,
    Materialize,
    Now,
    Share,
    SinkInput,
    Source,
    StreamChangeLog,
    StreamExpand,
    StreamFilter,
    StreamPlan,
    StreamProject,
    StreamProjectSet,
    StreamTtl,
    StreamUnion,
    StreamValues,
    TableInputs,
    TableScan,
    WatermarkFilter,
)
from risingpy.plan.ordered import Dedup, LocalTopN, StreamOverWindow, StreamTopN
from risingpy.plan.recursion.operators import (
    StreamLet,
    StreamLevels,
    StreamLevelScan,
    StreamMoments,
    StreamRecursion,
    StreamRecursiveScan,
)
from risingpy.plan.traversal import Border, children, nodes_of_fragment, over_now
from risingpy.types import SqlType


def fragment_tree(fragment: Fragment) -> FragmentTree:
    """A fragment's operators with compiled expressions. They are made once, and run in every epoch."""
    root = _operator(fragment.root, _Numbers())
    leaves = [node for node in nodes_of_fragment(fragment.root) if isinstance(node, Border | SinkInput)]
    return FragmentTree.of(root, [empty_chunk(_types(leaf)) for leaf in leaves])


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Counters for a fragment's operators and, apart, its inputs (Exchange, Share and SinkInput); depth first,
    left to right.
    """

    operators: count[int] = field(default_factory=count)
    exchanges: count[int] = field(default_factory=count)


def _operator(plan: StreamPlan, numbers: _Numbers) -> CompiledOperator:
    number = next(numbers.operators)
    made = _made(plan, numbers)
    operator = cleaned(plan, made)
    few = operator.few or few_executor(plan) if operator is made else None  # whose state is cleaned needs columns
    return replace(operator, number=number, output_key=output_key(plan), few=few)


def _made(plan: StreamPlan, numbers: _Numbers) -> CompiledOperator:
    empty = empty_chunk(_types(plan))
    match plan:
        case Exchange() | Share() | SinkInput() | StreamLevelScan():
            return received(next(numbers.exchanges), empty)
        case TableScan() | Dml() | Source() | StreamValues() | Now():
            return leaf(plan, empty)
        case StreamRecursion() | StreamLevels() | StreamLet() | StreamRecursiveScan():
            return _recursive(plan, empty, numbers)
        case DynamicFilter():
            return _filter_by_bound(plan, empty, numbers)
        case WatermarkFilter() | EowcSort() | StreamTtl():
            return _driven_by_time(plan, empty, _operator(plan.input, numbers))
        case StreamFilter() | StreamProject():
            return _row_operator(plan, empty, numbers)
        case StreamProjectSet():
            return _project_set(plan, empty, _operator(plan.input, numbers))
        case LocalAgg() | HashAgg() | SimpleAgg():
            return _aggregation(plan, empty, _operator(plan.input, numbers))
        case Dedup():
            return dedup(plan, empty, _operator(plan.input, numbers))
        case StreamOverWindow():
            return over_window(plan, empty, _operator(plan.input, numbers))
        case LocalTopN():
            return local_top_n(plan, empty, _operator(plan.input, numbers))
        case StreamMoments():
            return moments(plan, empty, _operator(plan.input, numbers))
        case StreamTopN():
            return top_n(plan, empty, _operator(plan.input, numbers))
        case TemporalJoin():
            return _temporal_join(plan, empty, _operator(plan.input, numbers))
        case HashJoin() | AsOfJoin():
            make = as_of_join(plan, empty) if isinstance(plan, AsOfJoin) else hash_join(plan, empty)
            sides = _operator(plan.left, numbers), _operator(plan.right, numbers)
            return CompiledOperator(lambda epoch: make(epoch.transaction), empty, sides)
        case StreamChangeLog():
            return _change_log(plan, empty, _operator(plan.input, numbers))
        case StreamExpand():
            expanded = (_operator(plan.input, numbers),)
            return CompiledOperator(lambda epoch: ExpandExecutor(copies=plan.copies), empty, expanded)
        case StreamUnion():
            inputs = tuple(_operator(each, numbers) for each in plan.inputs)
            return CompiledOperator(lambda epoch: UnionExecutor(), empty, inputs)
        case TableInputs():
            return _table_inputs(plan, empty, numbers)
        case Materialize() | Changelog() | IntoTable():
            root = CompiledOperator(_root(plan), empty, (_operator(plan.input, numbers),))
            return root if not isinstance(plan, Materialize) else _with_times_and_ends(plan, root)
        case _:
            assert_never(plan)


def _with_times_and_ends(plan: Materialize, stored: CompiledOperator) -> CompiledOperator:
    """The operator of a Materialize whose rows may end, and have times; `stored` only stores them."""
    ending, times = retained_rows(plan, expiring_rows(plan, stored)), plan.times
    if times is None:
        return ending
    key = [each.index for each in plan.table.key]

    def make(epoch: FragmentEpoch) -> Executor:
        return RowTimesExecutor(ending.make(epoch), times=epoch.transaction.state_table(times), key=key, epoch=epoch)

    return replace(ending, make=make)


def _driven_by_time(
    plan: WatermarkFilter | EowcSort | StreamTtl, empty: pa.Table, input: CompiledOperator
) -> CompiledOperator:
    match plan:
        case WatermarkFilter():
            return watermark_filter(plan, empty, input)
        case EowcSort():
            return eowc_sort(plan, empty, input)
        case StreamTtl():
            return rows_of_ttl(plan, empty, input)
    assert_never(plan)


def _recursive(
    plan: StreamRecursion | StreamLevels | StreamLet | StreamRecursiveScan, empty: pa.Table, numbers: _Numbers
) -> CompiledOperator:
    if isinstance(plan, StreamRecursiveScan):
        return recursive_scan(plan, empty)
    if isinstance(plan, StreamLet):
        return let(plan, empty, _operator(plan.input, numbers), _operator(plan.body, numbers))
    start, step = _operator(plan.start, numbers), _operator(plan.step, numbers)
    return levels(plan, empty, start, step) if isinstance(plan, StreamLevels) else recursion(plan, empty, start, step)


def _root(plan: Materialize | Changelog | IntoTable) -> Callable[[FragmentEpoch], Executor]:
    """What ends a job."""
    match plan:
        case Materialize():
            return lambda epoch: _materialize(plan, epoch)
        case Changelog():
            return lambda epoch: _changelog(plan, epoch)
        case IntoTable():
            return lambda epoch: _into_table(plan, epoch)


def _temporal_join(plan: TemporalJoin, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    look_up = temporal_join(plan, empty)
    return CompiledOperator(lambda epoch: look_up(epoch.transaction), empty, (input,))


def _table_inputs(plan: TableInputs, empty: pa.Table, numbers: _Numbers) -> CompiledOperator:
    inputs = tuple(_operator(each, numbers) for each in children(plan))
    return CompiledOperator(lambda epoch: TableInputsExecutor(is_fed=plan.fed is not None), empty, inputs)


def _types(plan: StreamPlan) -> list[SqlType]:
    return [column.type for column in plan.properties.schema]


def _filter_by_bound(plan: DynamicFilter, empty: pa.Table, numbers: _Numbers) -> CompiledOperator:
    left, right = _operator(plan.left, numbers), _operator(plan.right, numbers)
    bound = over_now(plan.right) if plan.only_forward else None
    if bound is None:
        return CompiledOperator(lambda epoch: _dynamic_filter(plan, epoch), empty, (left, right))
    memory = TimeFilterMemory(BoundOverTime(bound, plan.comparison))

    def make(epoch: FragmentEpoch) -> Executor:
        rows = _dynamic_filter(plan, epoch)
        return TimeFilterExecutor(rows=rows, column=plan.column, memory=memory, epoch=epoch)

    return CompiledOperator(make, empty, (left,), wakes=memory.wakes)


def _dynamic_filter(plan: DynamicFilter, epoch: FragmentEpoch) -> DynamicFilterExecutor:
    return DynamicFilterExecutor(
        rows=epoch.transaction.state_table(plan.table),
        bound=epoch.transaction.state_table(plan.bound),
        column=plan.column,
        comparison=BoundComparison(plan.comparison),
        only_forward=plan.only_forward,
        shard=epoch.shard,
        shards=epoch.shards,
    )


def _row_operator(plan: StreamFilter | StreamProject, empty: pa.Table, numbers: _Numbers) -> CompiledOperator:
    if isinstance(plan, StreamFilter):
        predicate = Evaluator(plan.predicate, None)
        return CompiledOperator(
            lambda epoch: FilterExecutor(predicate=predicate), empty, (_operator(plan.input, numbers),)
        )
    below = plan.input
    fused = below.predicate if isinstance(below, StreamFilter) else None
    source = below.input if isinstance(below, StreamFilter) else below
    number = next(numbers.operators) if isinstance(below, StreamFilter) else None
    width, types = len(source.properties.schema), _types(plan)
    expressions = over_time(plan.expressions, width)
    evaluator, is_timed = Evaluator(fused, expressions), expressions != plan.expressions
    cancels = may_cancel(plan.expressions, width) and not source.properties.append_only

    def project(epoch: FragmentEpoch) -> ProjectExecutor:
        time = milliseconds(epoch.epoch_input.epoch) if is_timed else None
        return ProjectExecutor(evaluator=evaluator, types=types, may_cancel=cancels, time=time)

    return CompiledOperator(
        project,
        empty,
        (_operator(source, numbers),),
        fused=number,
    )


def _project_set(plan: StreamProjectSet, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    evaluator, sizes, types = Evaluator(None, plan.lists), SeriesSizes(plan.lists), _types(plan)

    def execute(epoch: FragmentEpoch) -> ProjectSetExecutor:
        return ProjectSetExecutor(evaluator=evaluator, sizes=sizes, types=types, outer=plan.outer)

    return CompiledOperator(execute, empty, (input,))


def _change_log(plan: StreamChangeLog, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    key, types = plan.input.properties.stream_key, _types(plan.input)
    return CompiledOperator(
        lambda epoch: ChangeLogExecutor(stream_key=key, types=types, epoch=epoch.epoch_input.epoch), empty, (input,)
    )


def _aggregation(plan: LocalAgg | HashAgg | SimpleAgg, empty: pa.Table, input: CompiledOperator) -> CompiledOperator:
    types = _types(plan.input)
    match plan:
        case LocalAgg():
            calls = local_calls(plan.calls, types)
            group_types = [types[k] for k in plan.group_key]
            return CompiledOperator(
                lambda epoch: LocalAggExecutor(group_key=plan.group_key, group_types=group_types, calls=calls),
                empty,
                (input,),
            )
        case HashAgg(emit_on_window_close=True):
            return eowc_hash_agg(plan, empty, input)
        case HashAgg():
            key_types = [types[k] for k in plan.group_key]
            make_calls = state_calls(plan, plan.group_key, types)
            return CompiledOperator(
                lambda epoch: HashAggExecutor(
                    group_key=plan.group_key,
                    group_types=key_types,
                    calls=make_calls(epoch.transaction),
                    row_count=plan.row_count,
                ),
                empty,
                (input,),
            )
        case SimpleAgg():
            make_calls = state_calls(plan, (), types)
            return CompiledOperator(
                lambda epoch: SimpleAggExecutor(calls=make_calls(epoch.transaction), row_count=plan.row_count),
                empty,
                (input,),
                wakes=at_start,
            )


def _changelog(plan: Changelog, epoch: FragmentEpoch) -> Executor:
    table = epoch.transaction.state_table(plan.table)
    return ChangelogExecutor(table=table, epoch=epoch.epoch_input.epoch, shard=epoch.shard)


def _into_table(plan: IntoTable, epoch: FragmentEpoch) -> Executor:
    table = epoch.transaction.state_table(plan.table) if plan.is_numbered else None
    return IntoTableExecutor(
        width=len(plan.properties.schema) - plan.is_numbered,
        not_null=plan.not_null,
        append_only=plan.append_only,
        row_ids=None if table is None else RowIdsOfSink(table, plan.table.table_id),
    )


def _conflict_rule(plan: Materialize) -> ConflictRule:
    """How the table decides between several rows of one key."""
    return ConflictRule(
        keep_first=plan.conflict is ConflictBehavior.IGNORE,
        fill_nulls=plan.conflict is ConflictBehavior.FILL,
        versions=plan.versions,
    )


def _materialize(plan: Materialize, epoch: FragmentEpoch) -> Executor:
    table = epoch.transaction.state_table(plan.table)
    match plan.conflict:
        case ConflictBehavior.NO_CHECK if plan.first_by is not None:
            return first_of_key(plan, table)
        case ConflictBehavior.NO_CHECK:
            return MaterializeExecutor(table=table)
        case ConflictBehavior.OVERWRITE if not plan.versions:
            return OverwriteMaterializeExecutor(table=table, schema=plan.table)
        case ConflictBehavior.OVERWRITE | ConflictBehavior.IGNORE | ConflictBehavior.FILL:
            return ConflictMaterializeExecutor(table=table, schema=plan.table, rule=_conflict_rule(plan))
