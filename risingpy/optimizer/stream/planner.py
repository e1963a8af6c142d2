"""Plans the stream operators of a query, an arm per logical node; the larger ones have their own files.

Every operator's output begins with the logical node's columns, in their order. Hidden columns follow that the stream
key needs. The planner derives properties (`properties.py`) as the plan grows, and adds an Exchange only where an
operator needs rows on one shard that are not. It refuses constructs that cannot be streamed, and names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from risingpy.errors import Check, InternalError, unchecked
from risingpy.optimizer.estimated_rows import RowEstimates
from risingpy.optimizer.rules import optimize_for_stream
from risingpy.optimizer.stream.aggregation import plan_aggregate
from risingpy.optimizer.stream.dedup import plan_distinct
from risingpy.optimizer.stream.distribution import SINGLE, hash_by
from risingpy.optimizer.stream.dynamic_filter import is_time, plan_dynamic_filter, plan_time
from risingpy.optimizer.stream.expressions import check_expressions, unsupported, values_of_rows
from risingpy.optimizer.stream.join import plan_join
from risingpy.optimizer.stream.over_window import plan_over_window
from risingpy.optimizer.stream.projection import projected, select_columns
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.optimizer.stream.recursion.mutual_recursion import plan_mutual_recursion
from risingpy.optimizer.stream.recursion.recursion import (
    plan_recursion,
    reads_recursion,
    refuse_temporal_join,
    refuse_time,
    sent,
    with_keys,
)
from risingpy.optimizer.stream.scan import plan_scan, with_ttl
from risingpy.optimizer.stream.temporal_join import (
    has_scattered_matches,
    left_with_pairs,
    plan_pairs,
    plan_temporal_join,
)
from risingpy.optimizer.stream.top_n import TopRows, plan_top_n, row_count
from risingpy.optimizer.stream.union import plan_union
from risingpy.plan import logical, operators
from risingpy.plan.catalog import Catalog
from risingpy.plan.catalog.columns import ROW_ID
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.plan.logical import Field
from risingpy.plan.operators import StreamPlan
from risingpy.plan.recursion.operators import StreamLevelScan
from risingpy.plan.state_tables import marker_table
from risingpy.types import BIGINT


def plan_query(
    query: logical.LogicalPlan,
    catalog: Catalog,
    allocate: Callable[[], int],
    name: str,
    *,
    emit_on_window_close: bool = False,
) -> StreamPlan:
    """The stream operators of a query, for the job called `name`, without a Materialize.

    Tables count as empty. This is for queries without joins, and for plans that never run.
    """
    return StreamPlanner(catalog, allocate, name, RowEstimates(), emit_on_window_close).stream(
        optimize_for_stream(query)
    )


@dataclass(frozen=True, slots=True)
class StreamPlanner:
    """Plans the operators of one job, bottom-up; `notices` are for the client.

    `common`: the parts of the query that have several readers, as `common_subplans` gives them; each is planned once.
    `scans`: within the step of recursions, what reads them, by their names; `rows_move`: what the step makes of them
    may move to other shards. `ttl`: scans give the rows of so many seconds.
    `estimates` tells large inputs from small ones; `check` is called before each operator is planned.
    """

    catalog: Catalog
    allocate: Callable[[], int]
    job: str
    estimates: RowEstimates
    emit_on_window_close: bool = False
    common: Mapping[int, int] = field(default_factory=dict)
    check: Check = unchecked
    shared: dict[int, operators.Share] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)
    scans: Mapping[str, StreamPlan] = field(default_factory=dict)
    rows_move: bool = False
    ttl: int | None = None

    def stream(self, query: logical.LogicalPlan) -> StreamPlan:
        """The stream plan of `query`."""
        self.check()
        if self.scans and not reads_recursion(query, self.scans):
            return self._beside_recursion(replace(self, scans={}).stream(query))
        number = self.common.get(id(query))
        if number is None:
            return self._planned(query)
        if number not in self.shared:
            return self._shared(self._planned(query), number)
        return self.shared[number]

    def _beside_recursion(self, input: StreamPlan) -> StreamPlan:
        """What the step of a recursion reads besides its rows, from another fragment."""
        key = input.properties.stream_key
        return sent(input, hash_by(key) if self.rows_move else SINGLE)

    def _shared(self, input: StreamPlan, number: int | None = None) -> operators.Share:
        """A part of the plan with several readers; without a number, one that `common` has not."""
        number = -1 - len(self.shared) if number is None else number  # those of `common` count from 0
        self.shared[number] = derived(operators.Share(input, number, underived(input.properties.schema)))
        return self.shared[number]

    def _planned(self, query: logical.LogicalPlan) -> StreamPlan:
        match query:
            case logical.Scan():
                scanned = plan_scan(query, self.catalog.relations[query.relation_id], self.job, self.allocate)
                return scanned if self.ttl is None else with_ttl(scanned, self.ttl, self.job, self.allocate)
            case logical.SystemScan():
                raise InternalError("a system relation is part of a view")
            case logical.Values():
                return self._values(query)
            case logical.Filter():
                input = self.stream(query.input)
                (predicate,) = self._of_rows([query.predicate], _key_references(input))
                return derived(operators.StreamFilter(input, predicate, underived(input.properties.schema)))
            case logical.Project():
                return self._project(query)
            case logical.ProjectSet():
                return self._project_set(query)
            case logical.Aggregate():
                return self._aggregate(query)
            case logical.Union():
                return plan_union([self.stream(each) for each in query.inputs], query.schema)
            case logical.ChangeLog():
                return self._change_log(query)
            case logical.Expand():
                return self._expand(query)
            case logical.Sort():  # the order of rows only matters at the top
                return self.stream(query.input)
            case logical.Join():
                return self._join(query)
            case logical.Recursion():
                return self._recursion(query)
            case logical.MutualRecursion():
                return self._mutual_recursion(query)
            case logical.RecursiveScan():
                return self.scans[query.name]
            case logical.GivenRows() | logical.Apply():
                raise InternalError("a view has no rows of a statement, and its subqueries are unnested")
            case logical.Limit():
                return self._limit(query)
            case logical.OverWindow():
                eowc = self.emit_on_window_close
                input = self.stream(query.input)
                return plan_over_window(query, input, self.job, self.allocate, emit_on_window_close=eowc)
            case logical.TopN():
                group, ties = query.group_key, query.with_ties
                rows = TopRows(query.keys, query.limit, query.offset, with_ties=ties, group_key=group)
                return plan_top_n(self.stream(query.input), rows, self.job, self.allocate)
            case _:
                assert_never(query)

    def _refuse_window_close(self) -> None:
        if self.emit_on_window_close:
            hint = "A row that comes late may make any number of rows: leave EMIT ON WINDOW CLOSE out."
            raise unsupported("WITH RECURSIVE with EMIT ON WINDOW CLOSE", hint)

    def _mutual_recursion(self, query: logical.MutualRecursion) -> StreamPlan:
        self._refuse_window_close()
        return plan_mutual_recursion(
            query, lambda part, scans: replace(self, scans=scans).stream(part), self.job, self.allocate
        )

    def _recursion(self, query: logical.Recursion) -> StreamPlan:
        self._refuse_window_close()
        start = self.stream(with_keys(query.start))
        known, shared = len(self.notices), set(self.shared)

        def step_of(step: logical.LogicalPlan, scan: StreamPlan) -> StreamPlan:
            del self.notices[known:]  # of the step as it was planned before
            for number in self.shared.keys() - shared:
                del self.shared[number]
            moves = isinstance(scan, StreamLevelScan)
            return replace(self, scans={**self.scans, query.name: scan}, rows_move=moves).stream(step)

        return plan_recursion(
            query,
            start,
            step_of,
            self.job,
            self.allocate,
            self._shared,
            inside=bool(self.scans),
        )

    def _join(self, join: logical.Join) -> StreamPlan:
        if join.condition is not None:
            check_expressions([join.condition])
        if join.kind in (logical.JoinKind.TEMPORAL, logical.JoinKind.TEMPORAL_LEFT):
            if self.scans:
                refuse_temporal_join()
            return self._temporal_join(join)
        if self.scans:
            return self._join_in_step(join)
        left = self.stream(join.left)
        right = plan_time(join.right) if join.kind is logical.JoinKind.LEFT_SEMI and is_time(join.right) else None
        if right is None:
            right = self.stream(join.right)
        filtered = plan_dynamic_filter(join, left, right, self.job, self.allocate)
        if filtered is not None:
            return filtered
        return self._hash_join(join, left, right)

    def _temporal_join(self, join: logical.Join) -> StreamPlan:
        left = self.stream(join.left)
        if join.kind is logical.JoinKind.TEMPORAL or not has_scattered_matches(join, self.catalog):
            return plan_temporal_join(join, left, self.catalog, self.job, self.allocate)
        if not isinstance(left, operators.Share):
            left = self._shared(left)
        pairs = plan_pairs(join, left, self.catalog, self.job, self.allocate)
        whole, first = left_with_pairs(join, left, pairs)
        planned = self._hash_join(whole, left, pairs.plan)
        hidden = (*planned.properties.stream_key, *planned.properties.distribution.columns)
        return select_columns(planned, [*first, *(i for i in dict.fromkeys(hidden) if i not in first)])

    def _join_in_step(self, join: logical.Join) -> StreamPlan:
        """A join in the step of a recursion: the bound of a DynamicFilter would be on every shard."""
        if is_time(join.right):
            refuse_time()
        return self._hash_join(join, self.stream(join.left), self.stream(join.right))

    def _hash_join(self, join: logical.Join, left: StreamPlan, right: StreamPlan) -> StreamPlan:
        in_step = bool(self.scans) and not self.rows_move
        planned = plan_join(join, left, right, self.job, self.allocate, self.estimates, in_step=in_step)
        self.notices.extend(planned.notices)
        return planned.plan

    def _values(self, values: logical.Values) -> operators.StreamValues:
        numbers = [Literal(number, BIGINT) for number in range(len(values.rows))]
        rows = tuple((*self._of_rows(row, [number]), number) for row, number in zip(values.rows, numbers, strict=True))
        schema = (*values.schema, Field(ROW_ID, BIGINT, hidden=True))
        return derived(operators.StreamValues(rows, underived(schema), marker_table(self.allocate(), self.job)))

    def _aggregate(self, query: logical.Aggregate) -> StreamPlan:
        input = self.stream(query.input)
        if query.group_key and not query.calls and input.properties.append_only:
            return plan_distinct(input, query.group_key, self.job, self.allocate)
        eowc = self.emit_on_window_close and bool(query.calls)  # a DISTINCT has no calls: its rows are final at once
        return plan_aggregate(query, input, self.job, self.allocate, emit_on_window_close=eowc)

    def _limit(self, limit: logical.Limit) -> StreamPlan:
        """The first rows in the order of the Sort below, directly or under a Project; without one, in any order."""
        match limit.input:
            case logical.Sort(input, keys):
                pass
            case logical.Project(logical.Sort() as sort) as project:
                return self.stream(replace(project, input=replace(limit, input=sort)))
            case _:
                input, keys = limit.input, ()
        rows = TopRows(
            keys,
            row_count(limit.limit, "LIMIT"),
            row_count(limit.offset, "OFFSET") or 0,
            with_ties=limit.with_ties,
        )
        return plan_top_n(self.stream(input), rows, self.job, self.allocate)

    def _change_log(self, log: logical.ChangeLog) -> StreamPlan:
        input = self.stream(log.input)
        schema, width = input.properties.schema, len(log.input.schema)
        logged = derived(operators.StreamChangeLog(input, underived((*schema, *log.schema[width:]))))
        return select_columns(logged, [*range(width), *range(len(schema), len(schema) + 2), *range(width, len(schema))])

    def _expand(self, expand: logical.Expand) -> StreamPlan:
        input = self.stream(expand.input)
        width = len(expand.input.schema)
        number = expand.schema[-1]
        copies = derived(operators.StreamExpand(input, expand.copies, underived((*input.properties.schema, number))))
        hidden = range(width, len(input.properties.schema))
        return select_columns(copies, [*range(width), len(input.properties.schema), *hidden])

    def _project(self, project: logical.Project) -> StreamPlan:
        input = self.stream(project.input)
        key = _key_references(input)
        expressions = self._of_rows(project.expressions, key)
        selected = {e.index for e in expressions if isinstance(e, InputRef)}
        return projected(input, [*expressions, *(ref for ref in key if ref.index not in selected)])

    def _project_set(self, query: logical.ProjectSet) -> StreamPlan:
        input = self.stream(query.input)
        lists = tuple(self._of_rows(query.lists, _key_references(input)))
        schema, width = input.properties.schema, len(query.input.schema)
        added = query.schema[width:]
        expanded = derived(operators.StreamProjectSet(input, lists, query.outer, underived((*schema, *added))))
        own = [*range(width), *range(len(schema), len(schema) + len(added))]
        return select_columns(expanded, [*own, *(i for i in expanded.properties.stream_key if i not in own)])

    def _of_rows(self, expressions: Sequence[Expr], key: Sequence[Expr]) -> list[Expr]:
        """The expressions over rows with the columns `key`. A recursion gives no random values: its rows come anew."""
        if not self.scans:
            return values_of_rows(expressions, key)
        check_expressions(expressions)
        return list(expressions)


def _key_references(input: StreamPlan) -> list[InputRef]:
    return [InputRef(i, input.properties.schema[i].type) for i in input.properties.stream_key]
