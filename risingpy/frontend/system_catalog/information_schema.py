"""information_schema: tables, columns and views, in the standard's words."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from risingpy.frontend.system_catalog.constraints.expression_texts import default_text, generated_text
from risingpy.frontend.system_catalog.objects.domains import base_names, data_type, measured_type
from risingpy.frontend.system_catalog.objects.standard_numbers import octets, precisions, time_digits
from risingpy.frontend.system_catalog.objects.user_types import column_udt
from risingpy.frontend.system_catalog.rights.sight import is_owner, may, may_on
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.visible_columns import declared_key, visible_columns
from risingpy.plan.catalog import (
    ColumnDesc,
    DomainDesc,
    ExternalSource,
    MaterializedView,
    NumberSequence,
    Relation,
    Table,
    View,
    is_of_session,
)
from risingpy.plan.catalog.acl import OF_COLUMNS
from risingpy.types import TypeKind

_OTHER_TYPES = {TypeKind.ARRAY: "ARRAY", TypeKind.ENUM: "USER-DEFINED"}  # which data_type does not name


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
        on_commit = "PRESERVE" if is_of_session(found) else None
        head = state.catalog.database, found.schema_name, found.name, kind
        yield *head, *(None,) * 5, insertable, "NO", on_commit
    for system in state.system_relations:
        yield state.catalog.database, system.schema, system.name, "SYSTEM TABLE", *(None,) * 5, "NO", "NO", None


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
    domain = None if column.domain is None or column.domain.dimensions(column.type) else column.domain
    made = None if domain is None else state.catalog.types.get(domain.oid)
    shown, measured, names = _OTHER_TYPES.get(column.type.kind), column.type, column_udt(state, column)
    shown = shown if column.type.composite is None else "USER-DEFINED"
    refused = False
    if isinstance(made, DomainDesc):
        shown = shown if column.type.kind is TypeKind.ARRAY else data_type(state, made)
        measured, names = measured_type(made), base_names(state, made)
        refused = made.not_null
    refused = refused or column.refuses_null(in_key=number - 1 in declared_key(owner))
    default = default_text(state, owner, column)
    return (
        *(database, owner.schema_name, owner.name, column.name, number, default),
        "NO" if refused else "YES",
        *(shown or column.shown_type.name, measured.length),
        *(octets(measured), *precisions(measured), time_digits(measured), None, None),
        *(None,) * 6,
        *((None,) * 3 if domain is None else (database, domain.schema_name, domain.name)),
        *(database, *names),
        *(None, None, None, None, str(number), "NO"),
        *_identity(state, column),
        *("NEVER" if column.generated is None else "ALWAYS", generated_text(state, owner, column)),
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
                state.view_text(found, False) if is_owner(state, found) else None,
                "NONE",
                *("NO",) * 5,
            )


TABLES = relation(
    "information_schema",
    "tables",
    "table_catalog name, table_schema name, table_name name, table_type text,"
    "self_referencing_column_name name, reference_generation text, user_defined_type_catalog name,"
    "user_defined_type_schema name, user_defined_type_name name, is_insertable_into text, is_typed text,"
    "commit_action text",
    _tables,
)
COLUMNS = relation(
    "information_schema",
    "columns",
    "table_catalog name, table_schema name, table_name name, column_name name, ordinal_position int4,"
    "column_default text, is_nullable text, data_type text, character_maximum_length int4,"
    "character_octet_length int4, numeric_precision int4, numeric_precision_radix int4, numeric_scale int4,"
    "datetime_precision int4, interval_type text, interval_precision int4, character_set_catalog name,"
    "character_set_schema name, character_set_name name, collation_catalog name, collation_schema name,"
    "collation_name name, domain_catalog name, domain_schema name, domain_name name, udt_catalog name,"
    "udt_schema name, udt_name name, scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4,"
    "dtd_identifier name, is_self_referencing text, is_identity text, identity_generation text, identity_start text,"
    "identity_increment text, identity_maximum text, identity_minimum text, identity_cycle text, is_generated text,"
    "generation_expression text, is_updatable text",
    _columns,
)
VIEWS = relation(
    "information_schema",
    "views",
    "table_catalog name, table_schema name, table_name name, view_definition text, check_option text,"
    "is_updatable text, is_insertable_into text, is_trigger_updatable text, is_trigger_deletable text,"
    "is_trigger_insertable_into text",
    _views,
)
