"""Finds the scans that a query narrows to a key, or to the first columns of one, so that they do not read the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal

import pyarrow as pa

from risingpy.optimizer.explain.expression_text import expression_text
from risingpy.optimizer.rewrite import plan_inputs
from risingpy.plan.catalog import Catalog, Relation
from risingpy.plan.expression_trees import conjuncts
from risingpy.plan.expressions import Call, Cast, Expr, InputRef, Literal
from risingpy.plan.logical import Filter, LogicalPlan, Scan
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.storage.engine.storage_table import StorageTable
from risingpy.types import BYTEA, MAX_PRECISION, NUMERIC, SqlType, TypeKind
from risingpy.types.wide_numeric import KEY_BYTES, of_key, to_decimal

# Equal values of these may have different keys: 0 and -0, 1 month and 30 days.
_SEVERAL_FORMS = (TypeKind.REAL, TypeKind.DOUBLE, TypeKind.INTERVAL)
_WIDE = Context(prec=2 * MAX_PRECISION)


@dataclass(frozen=True, slots=True)
class KeyLookup:
    """The values of a relation's storage key, or of its first columns, in key order; at least one."""

    relation: Relation
    key: tuple[Literal, ...]

    @property
    def table(self) -> TableSchema:
        assert self.relation.table is not None
        return self.relation.table

    @property
    def is_whole(self) -> bool:
        """Whether at most one row has this key."""
        return len(self.key) == len(self.table.key)

    def rows(self, table: StorageTable, columns: Sequence[int]) -> pa.Table:
        """The rows of that key: the relation's columns at these positions, as c0…"""
        arrays = [pa.array([value.value], value.type.arrow) for value in self.key]
        found = _row(table, arrays) if self.is_whole else table.scan_prefix(arrays)
        return found.select([f"c{index}" for index in columns]).rename_columns([f"c{i}" for i in range(len(columns))])


def _row(table: StorageTable, key: Sequence[pa.Array]) -> pa.Table:
    """The row of a whole key, if it is there, with all columns."""
    found, values = table.get_rows(key)
    by_column = {part.index: array for part, array in zip(table.schema.key, key, strict=True)}
    by_column.update(zip(table.schema.value_columns, values, strict=True))
    row = pa.table({f"c{index}": array for index, array in by_column.items()})
    return row if found[0] else row.slice(0, 0)


def find_key_lookups(plan: LogicalPlan, catalog: Catalog) -> dict[int, KeyLookup]:
    """By `id` of a Scan of the plan: the lookup that its Filter allows. The Filter must still be applied."""
    lookups: dict[int, KeyLookup] = {}
    for filter_ in filters_on_scans(plan):
        scan = filter_.input
        assert isinstance(scan, Scan)
        relation = catalog.get(scan.relation_id)
        if relation is not None and relation.table is not None:
            key = tuple(_leading_constants(scan, relation, dict(_equalities(filter_.predicate))))
            if key:
                lookups[id(scan)] = KeyLookup(relation, key)
    return lookups


def scan_ranges(plan: LogicalPlan, catalog: Catalog) -> dict[int, list[str]]:
    """The lookups as EXPLAIN shows them: by `id` of a Scan, what its leading key columns must be equal to."""
    return {
        scan: [
            f"{lookup.relation.columns[column.index].name} = {expression_text(value, ())}"
            for column, value in zip(lookup.table.key, lookup.key, strict=False)
        ]
        for scan, lookup in find_key_lookups(plan, catalog).items()
    }


def _leading_constants(scan: Scan, relation: Relation, constants: dict[int, Literal]) -> Iterator[Literal]:
    """The constants that the first key columns must equal, up to the first column without one."""
    assert relation.table is not None
    for key in relation.table.key:
        literal = constants.get(scan.columns.index(key.index)) if key.index in scan.columns else None
        value = None if literal is None else _as_stored(literal, relation.columns[key.index].type)
        if value is None:
            return
        yield value


def _as_stored(literal: Literal, type_: SqlType) -> Literal | None:
    """The constant as a value of the key column's type; None for NULL and for what has no exact one."""
    if type_.kind in _SEVERAL_FORMS:
        return None
    if literal.type.arrow == type_.arrow:
        return None if literal.value is None else literal
    value = to_decimal(literal.value) if literal.type.is_wide and isinstance(literal.value, bytes) else literal.value
    if type_.kind is TypeKind.NUMERIC and isinstance(value, Decimal):
        assert type_.scale is not None
        scaled = value.quantize(Decimal(1).scaleb(-type_.scale), context=_WIDE)
        if scaled == value and abs(scaled) < Decimal(10) ** (type_.precision or 0) / 10**type_.scale:
            return Literal(scaled, type_)
    return None


def filters_on_scans(plan: LogicalPlan) -> Iterator[Filter]:
    """The filters of the plan that stand right above a scan."""
    if isinstance(plan, Filter) and isinstance(plan.input, Scan):
        yield plan
    for child in plan_inputs(plan):
        yield from filters_on_scans(child)


def _uncast(expr: Expr) -> Expr:
    """A numeric column that was cast to meet a wide constant, as it is; a number of which the key is compared."""
    match expr:
        case Call("numeric_key", (number,)):
            return _uncast(number)
        case Literal(bytes(key)) if expr.type == BYTEA and len(key) == KEY_BYTES:
            return Literal(of_key(key), NUMERIC)
    return expr.arg if isinstance(expr, Cast) and expr.type.is_wide and not expr.arg.type.is_float else expr


def _equalities(predicate: Expr) -> Iterator[tuple[int, Literal]]:
    """(column, constant) of the equalities that must all hold."""
    for condition in conjuncts(predicate):
        if isinstance(condition, Call) and condition.function in ("eq", "in"):
            # IN (…) of one value is an equality; the patterns below take no longer list.
            by_key = any(isinstance(arg, Call) and arg.function == "numeric_key" for arg in condition.args)
            match tuple(map(_uncast, condition.args)) if by_key else condition.args:
                case (InputRef(index=index), Literal() as literal) | (Literal() as literal, InputRef(index=index)):
                    yield index, literal
