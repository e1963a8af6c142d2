"""Plans a query: finds constants, keys and indexes that answer it, or that limit the rows that DuckDB reads.

In: an optimized logical plan and the catalog. Out: a `BatchPlan`. Called by `prepared_query.py`.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

from risingpy.batch.first_of_key import first_of_key
from risingpy.batch.index_choice import best_index, indexes_with
from risingpy.batch.key_lookup import is_key_expression, key_read, list_scan, may_become_key, may_become_list
from risingpy.batch.key_ranges import range_scan
from risingpy.batch.lookups.join_lookups import join_lookups
from risingpy.batch.moments import of_moment
from risingpy.batch.nearest_choice import nearest_pattern, nearest_rows
from risingpy.batch.plan import (
    BatchPlan,
    ComputedRows,
    ConstantRows,
    CopiedRows,
    Direct,
    FoundByIndex,
    FullScan,
    IndexRange,
    Input,
    KeyRead,
    ListScan,
    NotedCount,
    Overlay,
    PointGet,
    PrefixScan,
    RangeScan,
    SystemRows,
)
from risingpy.batch.sql import ROUNDS
from risingpy.errors import StalePlan
from risingpy.functions.evaluation.sql.catalog import CATALOG
from risingpy.optimizer.rewrite import expressions_of, plan_inputs, subqueries_of, with_inputs
from risingpy.plan.catalog import (
    Catalog,
    ExternalSource,
    NumberSequence,
    ScannedRelation,
    Sink,
    StoredRelation,
    Subscription,
    Table,
    View,
)
from risingpy.plan.expression_trees import conjunction, conjuncts, walk
from risingpy.plan.expressions import Call, Expr, InputRef
from risingpy.plan.logical import (
    AggCall,
    Aggregate,
    Filter,
    GivenRows,
    Limit,
    LogicalPlan,
    MutualRecursion,
    Project,
    Recursion,
    Scan,
    SystemScan,
    Values,
)


def plan_query(query: LogicalPlan, catalog: Catalog, changed: Set[int] = frozenset()) -> BatchPlan:
    """The plan of the query for a transaction that has changed the tables `changed`.

    Raises StalePlan if a relation was altered or dropped since the query was bound.
    """
    constants = _constant_rows(query)
    if constants is not None:
        return BatchPlan(query, (), constants)
    _check_versions(query, catalog)
    chosen = _Inputs(catalog, changed)
    over = chosen.of(query)
    inputs = tuple(chosen.inputs)
    answer = _direct(over, inputs) or _copied(over, inputs) or _counted(over, inputs) or ComputedRows()
    lookups = join_lookups(over, inputs, catalog, chosen.read_again) if isinstance(answer, ComputedRows) else ()
    return BatchPlan(over, inputs, answer, chosen.custom, frozenset(chosen.read_again), lookups)


def scans_of(query: LogicalPlan) -> list[Scan]:
    """The query's scans, left to right, without those of system relations, which have no versions."""
    if isinstance(query, Scan):
        return [query]
    return [scan for each in plan_inputs(query) for scan in scans_of(each)]


def has_system_scan(query: LogicalPlan) -> bool:
    """Whether the query reads a system relation."""
    return isinstance(query, SystemScan) or any(map(has_system_scan, plan_inputs(query)))


def has_given_rows(query: LogicalPlan) -> bool:
    """Whether the query reads rows that its statement has."""
    return isinstance(query, GivenRows) or any(map(has_given_rows, plan_inputs(query)))


def asks_for_objects(query: LogicalPlan) -> bool:
    """Whether functions of the query look objects up, or tell of them."""
    parts = (part for expr in expressions_of(query) for part in walk(expr))
    if any(isinstance(part, Call) and part.function in CATALOG for part in parts):
        return True
    return any(map(asks_for_objects, (*plan_inputs(query), *subqueries_of(query))))


def _check_versions(query: LogicalPlan, catalog: Catalog) -> None:
    """Raises StalePlan if a relation has another version than the query was bound on."""
    for scan in scans_of(query):
        relation = catalog.relations.get(scan.relation_id)
        if relation is not None and relation.version != scan.version:
            raise StalePlan(f'relation "{relation.name}" was altered meanwhile', hint="Run the statement again.")


@dataclass(slots=True)
class _Inputs:
    """Chooses an input for each scan; `inputs` are in the order of the scans. See `BatchPlan` for what it collects."""

    catalog: Catalog
    changed: Set[int]
    inputs: list[Input] = field(default_factory=list)
    custom: bool = False
    read_again: set[int] = field(default_factory=set)
    recursions: list[MutualRecursion] = field(default_factory=list)

    def of(self, query: LogicalPlan) -> LogicalPlan:
        """The query with the chosen indexes in place of their relations."""
        match query:
            case Scan():
                self._add(query, FullScan(self._relation(query), query.columns))
                return query
            case SystemScan():
                self.inputs.append(SystemRows(query))
                return query
            case Filter(Scan() as scan, predicate):
                return self._narrowed(query, scan, predicate)
            case _ if self._has_nearest(query) or self._has_first(query):
                return query
        if query in self.recursions:  # one of several items that are read: it has been computed
            return GivenRows(query.schema, f"{ROUNDS}{self.recursions.index(query)}")
        inputs, first = plan_inputs(query), len(self.inputs)
        rewritten = [self.of(each) for each in inputs]
        if isinstance(query, Recursion | MutualRecursion):
            self.read_again.update(range(first, len(self.inputs)))
        if isinstance(query, MutualRecursion):
            self.recursions.append(query)
        if all(new is old for new, old in zip(rewritten, inputs, strict=True)):
            return query
        return with_inputs(query, rewritten)

    def _has_nearest(self, query: LogicalPlan) -> bool:
        """Takes the rows of a query for the nearest rows from an index of vectors, if there is one."""
        pattern = nearest_pattern(query)
        if pattern is None:
            return False
        relation = self._relation(pattern[0])
        if isinstance(relation, ExternalSource) or self._changed_table(relation) is not None:
            return False
        rows = nearest_rows(*pattern, relation, self.catalog)
        if rows is not None:
            self.inputs.append(rows)
        return rows is not None

    def _has_first(self, query: LogicalPlan) -> bool:
        """Takes the rows of a query for the first ones by the key, if it asks for these."""
        rows = first_of_key(query, self._relation, self.catalog)
        if rows is None or any(self._changed_table(self._relation(scan)) is not None for scan in scans_of(query)):
            return False
        self.inputs.append(rows)
        return True

    def _narrowed(self, query: Filter, scan: Scan, predicate: Expr) -> LogicalPlan:
        relation = self._relation(scan)
        self.custom = self.custom or may_become_key(predicate)
        if isinstance(relation, ExternalSource):
            self._add(scan, FullScan(relation, scan.columns))
            return query
        indexes = self.catalog.indexes_of(relation.relation_id)
        self.custom = self.custom or may_become_list(relation, indexes, scan, predicate)
        own = key_read(relation, scan, predicate)
        found = best_index(scan, predicate, relation, self.catalog, own)
        if found is None:
            self._add(scan, own or range_scan(relation, scan, predicate) or self._by_index(relation, scan, predicate))
            return query if self._changed_table(relation) is not None else _without_list(query, scan, own)
        table = self._changed_table(relation)
        if table is not None:
            by_index = FoundByIndex(table, _key_columns_of(found.read, table))
            self.inputs.append(Overlay(table, by_index, scan.columns))
            return query
        self.inputs.append(found.read)
        return found.query

    def _by_index(self, relation: StoredRelation, scan: Scan, predicate: Expr) -> FullScan | IndexRange:
        """The rows of a range by the first index that has them; all rows if there is none."""
        everything = FullScan(relation, scan.columns)
        if self._changed_table(relation) is not None:
            return everything
        for index, columns in indexes_with(relation, scan.columns, self.catalog):
            found = range_scan(index, replace(scan, columns=columns), predicate)
            if found is not None:
                return IndexRange(found, everything)
        return everything

    def _add(self, scan: Scan, rows: FullScan | RangeScan | IndexRange | KeyRead) -> None:
        table = None if isinstance(rows, IndexRange) else self._changed_table(rows.relation)
        if table is None or isinstance(rows, IndexRange):
            self.inputs.append(rows)
        else:
            everything = tuple(range(len(table.columns)))
            self.inputs.append(Overlay(table, replace(rows, columns=everything), scan.columns))

    def _changed_table(self, relation: ScannedRelation) -> Table | None:
        """The table, if the transaction has written to it. A transaction writes to tables only."""
        return relation if isinstance(relation, Table) and relation.relation_id in self.changed else None

    def _relation(self, scan: Scan) -> ScannedRelation:
        relation = self.catalog.get(scan.relation_id)
        if relation is None:
            raise StalePlan(
                f'relation "{scan.name}" was dropped or replaced meanwhile', hint="Run the statement again."
            )
        assert not isinstance(
            relation, View | Sink | Subscription | NumberSequence
        )  # the binder puts a view's query in its place, and reads no sink, subscription or sequence
        return relation


def _without_list(query: Filter, scan: Scan, read: KeyRead | None) -> LogicalPlan:
    """The filter without the condition by which the rows are looked up: a long list, which all of them are on."""
    if not isinstance(read, ListScan):
        return query
    left = [each for each in conjuncts(query.predicate) if list_scan(read.relation, scan, each) != read]
    predicate = conjunction(left)
    return scan if predicate is None else replace(query, predicate=predicate)


def _key_columns_of(read: KeyRead, relation: Table) -> KeyRead:
    """The same read of an index, but of the columns that are the relation's key."""
    places = {column.column_id: i for i, column in enumerate(read.relation.columns)}
    key = tuple(places[relation.columns[part.index].column_id] for part in relation.table.key)
    return replace(read, columns=key)


def _constant_rows(query: LogicalPlan) -> ConstantRows | None:
    """VALUES of constants and parameters, perhaps with columns added or moved; None for anything else."""
    match query:
        case Values(rows):
            columns = tuple(tuple(row[i] for row in rows) for i in range(len(query.schema)))
        case Project(Values(rows), expressions):
            columns = tuple(
                tuple(row[expr.index] if isinstance(expr, InputRef) else expr for row in rows) for expr in expressions
            )
        case _:
            return None
    # An Arrow table without columns has no rows.
    return ConstantRows(columns) if columns and all(map(_is_constant, _flat(columns))) else None


def _is_constant(expr: Expr) -> bool:
    return is_key_expression(expr) or of_moment(expr) is not None


def _flat(columns: Sequence[Sequence[Expr]]) -> list[Expr]:
    return [expr for column in columns for expr in column]


def _direct(query: LogicalPlan, inputs: Sequence[Input]) -> Direct | None:
    """The lookup that answers the whole query, or None."""
    if len(inputs) != 1 or not isinstance(inputs[0], PointGet):
        return None
    outputs: list[Expr] = [InputRef(index, field.type) for index, field in enumerate(query.schema)]
    while isinstance(query, Project):
        below = query.expressions
        outputs = [below[output.index] if isinstance(output, InputRef) else output for output in outputs]
        if not all(isinstance(output, InputRef) or is_key_expression(output) for output in outputs):
            return None
        query = query.input
    return Direct(inputs[0], tuple(outputs)) if outputs and _is_just_of_key(query, inputs[0]) else None


def _copied(query: LogicalPlan, inputs: Sequence[Input]) -> CopiedRows | None:
    """The columns of the one input that are the whole answer, or None."""
    if len(inputs) != 1 or isinstance(inputs[0], SystemRows):
        return None
    columns: Sequence[int] = range(len(query.schema))
    limit: Limit | None = None
    while isinstance(query, Project | Limit):
        if isinstance(query, Project):
            below = [expr.index for expr in query.expressions if isinstance(expr, InputRef)]
            if len(below) < len(query.expressions):
                return None
            columns = [below[column] for column in columns]
        elif limit is not None or query.with_ties:
            return None
        else:
            limit = query
        query = query.input
    is_whole = isinstance(query, Scan) or _is_just_of_key(query, inputs[0])
    if not columns or not is_whole:  # Arrow's tables without columns have no rows
        return None
    return CopiedRows(tuple(columns), *(() if limit is None else (limit.limit, limit.offset)))


def _counted(query: LogicalPlan, inputs: Sequence[Input]) -> NotedCount | None:
    """The count of a relation's rows, if that is the whole answer."""
    while isinstance(query, Project) and len(query.expressions) == 1 and isinstance(query.expressions[0], InputRef):
        query = query.input
    match query:
        case Aggregate(Project(Scan(), ()), (), (AggCall("count", (), _, False, None),)) if len(inputs) == 1:
            is_stored = isinstance(inputs[0], FullScan) and not isinstance(inputs[0].relation, ExternalSource)
            return NotedCount() if is_stored else None
    return None


def _is_just_of_key(query: LogicalPlan, read: Input) -> bool:
    """Whether the query is a scan with no conditions besides the key that is read."""
    if not (isinstance(query, Filter) and isinstance(query.input, Scan) and isinstance(read, PointGet | PrefixScan)):
        return False
    return len(conjuncts(query.predicate)) == len(read.key)
