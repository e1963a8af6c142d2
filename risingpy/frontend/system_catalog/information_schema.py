"""information_schema: tables, columns and views, in the standard's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from risingpy.frontend.system_catalog.rights.sight import is_owner, may, may_on
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import declared_key, visible_columns
from risingpy.frontend.table_definition import shown_default
from risingpy.plan.catalog import (
    ColumnDesc,
    ExternalSource,
    MaterializedView,
    NumberSequence,
    Relation,
    Table,
    View,
    is_of_session,
)
from risingpy.plan.catalog.acl import OF_COLUMNS
from risingpy.types import SqlType, TypeKind
from risingpy.types.type_entries import TYPES

_BINARY_PRECISION = {
    TypeKind.SMALLINT: 16,
    TypeKind.INTEGER: 32,
    TypeKind.BIGINT: 64,
    TypeKind.REAL: 24,
    TypeKind.DOUBLE: 53,
}
_WITH_TIME = (TypeKind.TIME, TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ, TypeKind.INTERVAL)
_TYPE_NAMES = {entry.oid: entry.name for entry in TYPES}


def _seen(state: SystemState) -> Iterator[Table | MaterializedView | View | ExternalSource]:
    """The relations with which the session may do something; the standard shows no others."""
    for found in state.relations:
        if is_of_session(found) and found.schema_name not in state.search_path:  # another session's
            continue
        of_columns = (may_on(state, found, column) for _, column in visible_columns(found))
        if is_owner(state, found) or may(state, found) or any(of_columns):
            yield found


def _tables(state: SystemState) -> Iterable[Row]:
    for found in _seen(state):
        kind, insertable = ("BASE TABLE", "YES") if isinstance(found, Table) else (found.noun.upper(), "NO")
        kind = "LOCAL TEMPORARY" if is_of_session(found) else kind
        yield state.catalog.database, found.schema_name, found.name, kind, insertable
    for system in state.system_relations:
        yield state.catalog.database, system.schema, system.name, "SYSTEM TABLE", "NO"


def _precision(type_: SqlType) -> tuple[int | None, int | None, int | None]:
    """(numeric_precision, numeric_precision_radix, numeric_scale)."""
    if type_.kind is TypeKind.NUMERIC:
        return (type_.precision, 10, type_.scale) if type_.declared else (None, 10, None)
    bits = _BINARY_PRECISION.get(type_.kind)
    if bits is None:
        return None, None, None
    return bits, 2, 0 if type_.is_integer else None


def _identity(state: SystemState, column: ColumnDesc) -> tuple[str | None, ...]:
    """is_identity, identity_generation, …_start, …_increment, …_maximum, …_minimum, …_cycle."""
    sequence = None if column.identity is None else state.catalog.relations.get(column.identity.sequence)
    if column.identity is None or not isinstance(sequence, NumberSequence):
        return "NO", None, None, None, None, None, "NO"
    counting = sequence.counting
    numbers = map(str, (counting.start, counting.increment, counting.maximum, counting.minimum))
    generation = "ALWAYS" if column.identity.always else "BY DEFAULT"
    return "YES", generation, *numbers, "YES" if counting.cycles else "NO"


def _column(state: SystemState, owner: Relation, number: int, column: ColumnDesc) -> Row:
    database = state.catalog.database
    nullable = "NO" if column.not_null or number - 1 in declared_key(owner) else "YES"
    default = None if column.default is None else shown_default(column, state.catalog.relations, state.display_name)
    date_digits = 6 if column.type.kind in _WITH_TIME else 0 if column.type.kind is TypeKind.DATE else None
    return (
        *(database, owner.schema_name, owner.name, column.name, number, default, nullable),
        *("ARRAY" if column.type.kind is TypeKind.ARRAY else column.type.name, column.type.length),
        *(*_precision(column.type), date_digits, None),
        *(database, "pg_catalog", _TYPE_NAMES[column.type.oid]),
        *(None,) * 12,
        *_identity(state, column),
        *(("NEVER", None) if column.generated is None else ("ALWAYS", column.generated.text)),
        "YES",
    )


def _columns(state: SystemState) -> Iterable[Row]:
    for found in _seen(state):
        all_of_them = is_owner(state, found) or may(state, found, OF_COLUMNS)
        for number, column in visible_columns(found):
            if all_of_them or may_on(state, found, column):
                yield _column(state, found, number, column)


def _views(state: SystemState) -> Iterable[Row]:
    for found in _seen(state):
        if isinstance(found, View):
            yield (
                state.catalog.database,
                found.schema_name,
                found.name,
                state.view_text(found) if is_owner(state, found) else None,
                "NONE",
                "NO",
                "NO",
            )


TABLES = relation(
    "information_schema",
    "tables",
    "table_catalog name, table_schema name, table_name name, table_type text, is_insertable_into text",
    _tables,
)
COLUMNS = relation(
    "information_schema",
    "columns",
    "table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int4,"
    "column_default text, is_nullable text, data_type text, character_maximum_length int4, numeric_precision int4,"
    "numeric_precision_radix int4, numeric_scale int4, datetime_precision int4, interval_type text, udt_catalog name,"
    "udt_schema name, udt_name name, character_set_catalog name, character_set_schema name, character_set_name name,"
    "collation_catalog name, collation_schema name, collation_name name, domain_catalog name, domain_schema name,"
    "domain_name name, scope_catalog name, scope_schema name, scope_name name, is_identity text,"
    "identity_generation text, identity_start text, identity_increment text, identity_maximum text,"
    "identity_minimum text, identity_cycle text, is_generated text, generation_expression text, is_updatable text",
    _columns,
)
VIEWS = relation(
    "information_schema",
    "views",
    "table_catalog name, table_schema name, table_name name, view_definition text, check_option text,"
    "is_updatable text, is_insertable_into text",
    _views,
)
