"""From the logical plan of a query to the stream plan that keeps its answer, and the plan of a table's own job.

Every operator's output begins with the logical node's columns, in their order; after them come the hidden columns that
the stream key needs. Properties (`properties.py`) are derived as the plan grows, and an Exchange goes in only
where an operator needs rows together that are not. What does not stream is refused by name.

The first id that is asked of `allocate` is the relation's own table id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import assert_never

from risingpy.errors import DuplicateColumn, FeatureNotSupported, InternalError, InvalidTableDefinition
from risingpy.executors.expression.functions.python_functions import VOLATILE
from risingpy.executors.expression.nodes import Call, Expr, InputRef, Literal, Parameter
from risingpy.executors.expression.volatile import NON_DETERMINISTIC
from risingpy.optimizer import logical, plan
from risingpy.optimizer.catalog import Catalog, ColumnDesc, Relation, RelationKind, Watermark
from risingpy.optimizer.common_subplans import common_subplans
from risingpy.optimizer.distribution import SOME_SHARD, brings_together, hash_by
from risingpy.optimizer.logical import Field, Schema, SortKey
from risingpy.optimizer.now import NOW, is_time_word
from risingpy.optimizer.plan import ConflictBehavior, Materialize, StreamPlan
from risingpy.optimizer.plan_properties import ColumnIndex, Properties, WatermarkColumn
from risingpy.optimizer.projection import projected, select_columns
from risingpy.optimizer.properties import derived, underived
from risingpy.optimizer.rewrite import remapped, walk
from risingpy.optimizer.rules import optimize_for_stream
from risingpy.optimizer.state_tables import marker_table, progress_table, relation_table
from risingpy.optimizer.stream_agg import exchange, plan_aggregate
from risingpy.optimizer.stream_dedup import plan_distinct
from risingpy.optimizer.stream_dynamic_filter import is_time, plan_dynamic_filter, plan_time
from risingpy.optimizer.stream_join import plan_join
from risingpy.optimizer.stream_over_window import plan_over_window
from risingpy.optimizer.stream_temporal_join import plan_temporal_join
from risingpy.optimizer.stream_top_n import TopRows, plan_top_n, row_count
from risingpy.optimizer.stream_union import plan_union
from risingpy.optimizer.stream_window_close import closed_rows
from risingpy.storage.table_schema import KeyColumn, TableSchema
from risingpy.types import BIGINT

_INSTEAD = "Query it with SELECT instead."


@dataclass(frozen=True, slots=True)
class StreamJobPlan:
    """What CREATE TABLE or CREATE MATERIALIZED VIEW runs and stores.

    `columns` are the relation's, hidden ones included, in storage order; `stream_key` are positions in them.
    `notices` are for the client.
    """

    root: Materialize
    table: TableSchema
    columns: tuple[ColumnDesc, ...]
    stream_key: tuple[ColumnIndex, ...]
    append_only: bool
    notices: tuple[str, ...] = ()

    @property
    def watermarks(self) -> tuple[WatermarkColumn, ...]:
        """Those of the relation's columns."""
        return self.root.properties.watermarks


def plan_table(
    *,
    table_id: int,
    name: str,
    columns: Sequence[ColumnDesc],
    primary_key: Sequence[ColumnIndex],
    append_only: bool,
    on_conflict: ConflictBehavior = ConflictBehavior.OVERWRITE,
    version_column: int | None = None,
    watermark: Watermark | None = None,
) -> StreamJobPlan:
    """The job of a table: its log, materialized. Without a primary key, the last column is the generated row id.

    By default the later write of a key wins, also in an append-only table with a primary key, whose changes are
    therefore not append-only: only what has a generated key, or ignores conflicts, is never taken back.
    `version_column` is a column's id. The id of the table's watermark is the table's own.
    """
    key = tuple(primary_key) or (len(columns) - 1,)
    schema = tuple(Field(column.name, column.type, column.hidden) for column in columns)
    logged: StreamPlan = plan.Dml(table_id, Properties(schema, key, hash_by(key), append_only))
    if watermark is not None:
        logged = watermark_filter(logged, watermark, [column.column_id for column in columns], table_id)
    table = relation_table(table_id, name, columns, tuple(KeyColumn(i) for i in key), key)
    conflict = ConflictBehavior.NO_CHECK if append_only and not primary_key else on_conflict
    version = next((i for i, column in enumerate(columns) if column.column_id == version_column), None)
    root = derived(Materialize(logged, table, conflict, underived(schema), version))
    return StreamJobPlan(root, table, tuple(columns), key, root.properties.append_only)


def plan_materialized_view(
    query: logical.LogicalPlan,
    catalog: Catalog,
    *,
    allocate: Callable[[], int],
    name: str,
    output_names: Sequence[str],
    emit_on_window_close: bool = False,
) -> StreamJobPlan:
    """The job of a materialized view of `query`.

    `output_names` are the names of the columns that are not hidden. With `emit_on_window_close` the view has only what
    is final by the watermarks below. Raises FeatureNotSupported, naming the
    construct, where the query cannot be streamed, and DuplicateColumn where two names are equal.
    """
    _check_names(output_names)
    table_id = allocate()
    ordered = _split_order(query)
    query = optimize_for_stream(ordered.query)
    # What closes windows is planned by the operators below it: no parts have readers of their own there.
    common = {} if emit_on_window_close else common_subplans(query)
    planner = _StreamPlanner(catalog, allocate, name, emit_on_window_close, common)
    streamed = planner.stream(query)
    if emit_on_window_close:
        streamed = closed_rows(streamed, name, allocate)
    input, sort_keys = _stored_columns(streamed, ordered, len(output_names))
    columns = _column_descs(input.properties.schema, output_names)
    if not brings_together(input.properties.distribution, input.properties.stream_key):
        input = exchange(input, input.properties.stream_key)
    stream_key = input.properties.stream_key
    sort_columns = {key.index for key in sort_keys}
    key = tuple(KeyColumn(k.index, k.descending, k.nulls_first) for k in sort_keys)
    key += tuple(KeyColumn(i) for i in stream_key if i not in sort_columns)
    table = relation_table(table_id, name, columns, key, input.properties.distribution.columns)
    schema = tuple(Field(column.name, column.type, column.hidden) for column in columns)
    root = derived(Materialize(input, table, ConflictBehavior.NO_CHECK, underived(schema)))
    notices = (*ordered.notices, *planner.notices)
    return StreamJobPlan(root, table, columns, stream_key, root.properties.append_only, notices)


def plan_query(query: logical.LogicalPlan, catalog: Catalog, allocate: Callable[[], int], name: str) -> StreamPlan:
    """The operators that keep a query's answer, for the job called `name`; nothing stores it."""
    return _StreamPlanner(catalog, allocate, name).stream(optimize_for_stream(query))


@dataclass(frozen=True, slots=True)
class _OrderedQuery:
    """A query without its outermost ORDER BY, whose `keys` are positions in the query's output.

    Only the first `width` columns are the query's own: those behind are there for the ORDER BY.
    """

    query: logical.LogicalPlan
    width: int
    keys: tuple[SortKey, ...] = ()
    decides_rows: bool = False  # the ORDER BY, through a LIMIT

    @property
    def notices(self) -> tuple[str, ...]:
        if not self.keys or self.decides_rows:
            return ()
        return ("ORDER BY in a materialized view only clusters its storage; order the rows where you query it",)


def _split_order(query: logical.LogicalPlan) -> _OrderedQuery:
    """Takes the outermost Sort off, also from under the Project that drops its hidden sort columns.

    Under a LIMIT it stays, and orders the storage too.
    """
    width = len(query.schema)
    match query:
        case logical.Sort(input, keys):
            return _OrderedQuery(input, width, keys)
        case logical.Limit(logical.Sort(_, keys)):
            return _OrderedQuery(query, width, keys, decides_rows=True)
        case logical.Project(logical.Sort() | logical.Limit(logical.Sort()) as below, expressions, schema):
            sort = below.input if isinstance(below, logical.Limit) else below
            assert isinstance(sort, logical.Sort)
            keys, decides_rows = sort.keys, below is not sort
            input = below if decides_rows else sort.input
            hidden = [InputRef(key.index, input.schema[key.index].type) for key in keys]
            outputs = [*expressions, *(ref for ref in dict.fromkeys(hidden) if ref not in expressions)]
            extra = [Field(input.schema[e.index].name, e.type, hidden=True) for e in hidden if e not in expressions]
            moved = [replace(key, index=outputs.index(ref)) for key, ref in zip(keys, hidden, strict=True)]
            all_fields = (*schema, *dict.fromkeys(extra))
            ordered = logical.Project(input, tuple(outputs), all_fields)
            return _OrderedQuery(ordered, width, tuple(moved), decides_rows)
        case _:
            return _OrderedQuery(query, width)


def _stored_columns(
    streamed: StreamPlan, ordered: _OrderedQuery, visible: int
) -> tuple[StreamPlan, tuple[SortKey, ...]]:
    """Keeps the `visible` columns that the view shows, then what its storage key needs besides.

    A query that names its hidden columns (`SELECT _row_id`) shows them.
    """
    schema = ordered.query.schema
    keys = [key for i, key in enumerate(ordered.keys) if key.index not in {k.index for k in ordered.keys[:i]}]
    kept = [i for i in range(ordered.width) if visible == ordered.width or not schema[i].hidden]
    kept += [i for i in (*(key.index for key in keys), *streamed.properties.stream_key) if i not in kept]
    kept = list(dict.fromkeys(kept))
    return select_columns(streamed, kept), tuple(replace(key, index=kept.index(key.index)) for key in keys)


def _column_descs(schema: Schema, output_names: Sequence[str]) -> tuple[ColumnDesc, ...]:
    """Names the columns: the given names, then the hidden columns' own, numbered where they are taken."""
    names = list(output_names)
    for added in schema[len(names) :]:
        name, number = added.name, 0
        while name in names:
            number += 1
            name = f"{added.name}_{number}"
        names.append(name)
    return tuple(
        ColumnDesc(i + 1, name, each.type, hidden=i >= len(output_names))
        for i, (name, each) in enumerate(zip(names, schema, strict=True))
    )


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if list(names).count(name) > 1:
            raise DuplicateColumn(f'column "{name}" specified more than once')


@dataclass(frozen=True, slots=True)
class _StreamPlanner:
    """Plans the operators of one job, bottom-up; `notices` are what the client should know of the plan.

    `common`: the parts of the query that have several readers, as `common_subplans` gives them; each is planned once.
    """

    catalog: Catalog
    allocate: Callable[[], int]
    job: str
    emit_on_window_close: bool = False
    common: Mapping[int, int] = field(default_factory=dict)
    shared: dict[int, plan.Share] = field(default_factory=dict)
    notices: list[str] = field(default_factory=list)

    def stream(self, query: logical.LogicalPlan) -> StreamPlan:
        """The operators that keep `query`'s answer."""
        number = self.common.get(id(query))
        if number is None:
            return self._planned(query)
        if number not in self.shared:
            input = self._planned(query)
            self.shared[number] = derived(plan.Share(input, number, underived(input.properties.schema)))
        return self.shared[number]

    def _planned(self, query: logical.LogicalPlan) -> StreamPlan:
        match query:
            case logical.Scan():
                return self._scan(query)
            case logical.Values():
                return self._values(query)
            case logical.Filter():
                _check_expressions([query.predicate])
                input = self.stream(query.input)
                return derived(plan.Filter(input, query.predicate, underived(input.properties.schema)))
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
            case logical.Sort():  # below the top the order of rows means nothing
                return self.stream(query.input)
            case logical.Join():
                return self._join(query)
            case logical.Recursion() | logical.RecursiveScan():
                hint = "Query it with SELECT, or write as many joins as there are levels at most."
                raise _unsupported("WITH RECURSIVE in a materialized view", hint)
            case logical.Apply():
                raise InternalError("a subquery was not unnested")
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

    def _join(self, join: logical.Join) -> StreamPlan:
        if join.condition is not None:
            _check_expressions([join.condition])
        if join.kind in (logical.JoinKind.TEMPORAL, logical.JoinKind.TEMPORAL_LEFT):
            return plan_temporal_join(join, self.stream(join.left), self.catalog, self.job, self.allocate)
        left = self.stream(join.left)
        right = plan_time(join.right) if join.kind is logical.JoinKind.LEFT_SEMI and is_time(join.right) else None
        if right is None:
            right = self.stream(join.right)
        filtered = plan_dynamic_filter(join, left, right, self.job, self.allocate)
        if filtered is not None:
            return filtered
        planned = plan_join(join, left, right, self.job, self.allocate)
        self.notices.extend(planned.notices)
        return planned.plan

    def _scan(self, scan: logical.Scan) -> StreamPlan:
        relation = self.catalog.relations[scan.relation_id]
        match relation.kind:
            case RelationKind.TABLE | RelationKind.MATERIALIZED_VIEW:
                assert relation.table is not None
                return self._table_scan(scan, relation, relation.table)
            case RelationKind.SOURCE:
                return self._source(scan, relation)
            case RelationKind.VIEW | RelationKind.INTERNAL_TABLE | RelationKind.INDEX:
                raise InternalError(f"{relation.qualified_name} cannot be an input of a view")

    def _source(self, scan: logical.Scan, relation: Relation) -> StreamPlan:
        row_id = len(relation.columns) - 1
        ids = [column.column_id for column in relation.columns]
        needed = () if relation.watermark is None else sorted(ids.index(i) for i in relation.watermark.columns_read)
        columns = tuple(dict.fromkeys((*scan.columns, *needed, row_id)))
        schema = _scan_schema(scan, relation, columns)
        properties = Properties(schema, (columns.index(row_id),), SOME_SHARD, append_only=True)
        source = plan.Source(scan.relation_id, columns, properties)
        if relation.watermark is None:
            return source
        return watermark_filter(source, relation.watermark, [ids[i] for i in columns], self.allocate())

    def _table_scan(self, scan: logical.Scan, relation: Relation, table: TableSchema) -> plan.TableScan:
        storage_key = [column.index for column in table.key]
        if scan.counts_only and storage_key:
            # Any column counts; one of the key is read anyway, and can never be dropped from under the view.
            key = relation.columns[storage_key[0]]
            scan = replace(scan, columns=(storage_key[0],), schema=(Field(key.name, key.type, key.hidden),))
        columns = tuple(dict.fromkeys((*scan.columns, *storage_key, *relation.stream_key)))
        watermarks = (replace(w, column=columns.index(w.column)) for w in relation.watermarks if w.column in columns)
        properties = Properties(
            _scan_schema(scan, relation, columns),
            tuple(columns.index(i) for i in relation.stream_key),
            hash_by(tuple(columns.index(i) for i in table.distribution)),
            append_only=relation.never_retracts if relation.kind is RelationKind.TABLE else relation.append_only,
            watermarks=tuple(sorted(watermarks, key=lambda each: each.column)),
        )
        return plan.TableScan(table, columns, properties, progress_table(self.allocate(), self.job))

    def _values(self, values: logical.Values) -> plan.Values:
        _check_expressions([expression for row in values.rows for expression in row])
        rows = tuple((*row, Literal(number, BIGINT)) for number, row in enumerate(values.rows))
        schema = (*values.schema, Field("_row_id", BIGINT, hidden=True))
        return derived(plan.Values(rows, underived(schema), marker_table(self.allocate(), self.job)))

    def _aggregate(self, query: logical.Aggregate) -> StreamPlan:
        input = self.stream(query.input)
        if query.group_key and not query.calls and input.properties.append_only:
            return plan_distinct(input, query.group_key, self.job, self.allocate)
        eowc = self.emit_on_window_close and bool(query.calls)  # a value that is there, once seen, is final
        return plan_aggregate(query, input, self.job, self.allocate, emit_on_window_close=eowc)

    def _limit(self, limit: logical.Limit) -> StreamPlan:
        """The first rows in the order of the Sort below, also of one whose columns are projected; else in any order."""
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
        logged = derived(plan.ChangeLog(input, underived((*schema, *log.schema[width:]))))
        return select_columns(logged, [*range(width), *range(len(schema), len(schema) + 2), *range(width, len(schema))])

    def _expand(self, expand: logical.Expand) -> StreamPlan:
        input = self.stream(expand.input)
        width = len(expand.input.schema)
        number = expand.schema[-1]
        copies = derived(plan.Expand(input, expand.copies, underived((*input.properties.schema, number))))
        hidden = range(width, len(input.properties.schema))
        return select_columns(copies, [*range(width), len(input.properties.schema), *hidden])

    def _project(self, project: logical.Project) -> StreamPlan:
        _check_expressions(project.expressions)
        input = self.stream(project.input)
        missing = [ref for ref in _key_references(input) if ref not in project.expressions]
        return projected(input, [*project.expressions, *missing])

    def _project_set(self, query: logical.ProjectSet) -> StreamPlan:
        _check_expressions(query.lists)
        input = self.stream(query.input)
        schema, width = input.properties.schema, len(query.input.schema)
        added = query.schema[width:]
        expanded = derived(plan.ProjectSet(input, query.lists, query.outer, underived((*schema, *added))))
        own = [*range(width), *range(len(schema), len(schema) + len(added))]
        return select_columns(expanded, [*own, *(i for i in expanded.properties.stream_key if i not in own)])


def watermark_filter(
    input: StreamPlan, watermark: Watermark, column_ids: Sequence[int], watermark_id: int
) -> plan.WatermarkFilter:
    """Drops the input's late rows; `column_ids` are those of its columns."""
    places = {column_id: i for i, column_id in enumerate(column_ids)}
    expression = remapped(watermark.expression, places)
    schema = input.properties.schema
    return derived(
        plan.WatermarkFilter(input, places[watermark.column_id], expression, watermark_id, underived(schema))
    )


def _key_references(input: StreamPlan) -> list[InputRef]:
    return [InputRef(i, input.properties.schema[i].type) for i in input.properties.stream_key]


def _scan_schema(scan: logical.Scan, relation: Relation, columns: Sequence[ColumnIndex]) -> Schema:
    """The scan's own columns, then the hidden ones that were added."""
    added = columns[len(scan.columns) :]
    return (*scan.schema, *(Field(relation.columns[i].name, relation.columns[i].type, hidden=True) for i in added))


def _check_expressions(expressions: Sequence[Expr]) -> None:
    for expression in expressions:
        for part in walk(expression):
            if part == NOW:
                raise FeatureNotSupported(
                    "in a materialized view now() is only allowed in WHERE, HAVING and ON",
                    hint="For example, WHERE ts > now() - interval '1 hour'. A table can keep the time at which a row "
                    "came: ts TIMESTAMPTZ DEFAULT now().",
                )
            if is_time_word(part):
                hint = "Write current_date, current_timestamp or now(), in WHERE, HAVING or ON."
                raise _unsupported("a text that means another time each day in a materialized view", hint)
            if isinstance(part, Call) and part.function in NON_DETERMINISTIC:
                hint = "A view's answer must not change by itself."
                raise _unsupported(f"{part.function}() in a materialized view", hint)
            if isinstance(part, Call) and part.function in VOLATILE:
                hint = "Say IMMUTABLE in CREATE FUNCTION if it always gives the same for the same arguments."
                raise _unsupported("a Python function that is not IMMUTABLE in a materialized view", hint)
            if isinstance(part, Parameter):
                raise InvalidTableDefinition("a materialized view cannot have parameters")


def _unsupported(construct: str, hint: str = _INSTEAD) -> FeatureNotSupported:
    return FeatureNotSupported(f"{construct} is not supported yet", hint=hint)
