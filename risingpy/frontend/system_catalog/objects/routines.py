"""information_schema.routines and parameters, and rw_functions: the functions of pg_proc in the standard's words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from risingpy.frontend.system_catalog.objects.user_types import udt
from risingpy.frontend.system_catalog.oids import LANGUAGE_OIDS, schema_oid
from risingpy.frontend.system_catalog.pg_namespace import all_schemas
from risingpy.frontend.system_catalog.pg_proc import PG_PROC
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.rights.routines import function_of_proc
from risingpy.frontend.system_catalog.system_relation import Row, SystemRelation, SystemState, relation
from risingpy.plan.catalog import FunctionKind
from risingpy.plan.catalog.rights import owns, privileges_of
from risingpy.types.type_entries import TYPES_BY_OID

_LANGUAGES = {oid: name for name, oid in LANGUAGE_OIDS.items()}
_MODES = {"i": "IN", "o": "OUT", "b": "INOUT", "v": "IN", "t": "OUT"}
_KINDS = {"f": "FUNCTION", "p": "PROCEDURE"}  # the standard has no aggregates
_RW_KINDS = {
    FunctionKind.SCALAR: "scalar",
    FunctionKind.TABLE: "table",
    FunctionKind.AGGREGATE: "aggregate",
    FunctionKind.PROCEDURE: "procedure",
}

Named = Mapping[str, Any]


def _seen(state: SystemState) -> Iterator[tuple[Named, Named]]:
    """(its row of pg_proc, the values that both views have) of each function that the session owns or may execute."""
    schemas = {schema_oid(name): name for name in all_schemas(state)}
    names = [column.name for column in PG_PROC.columns]
    for row in PG_PROC.rows(state):
        proc: Named = dict(zip(names, row, strict=True))
        on = function_of_proc(state, proc["oid"], proc["proname"])
        if owns(state.catalog, state.role_id, on.owner) or privileges_of(state.catalog, state.role_id, on):
            yield (
                proc,
                {
                    "specific_catalog": state.catalog.database,
                    "specific_schema": schemas[proc["pronamespace"]],
                    "specific_name": f"{proc['proname']}_{proc['oid']}",
                    "as_locator": "NO",
                },
            )


def _type(oid: int) -> str:
    entry = TYPES_BY_OID.get(oid)
    if entry is None:  # a user's
        return "USER-DEFINED"
    return "ARRAY" if entry.element_oid and entry.length == -1 else entry.display


def _udt(state: SystemState, prefix: str, oid: int) -> dict[str, object]:
    made = state.catalog.type_by_oid(oid)
    schema, name = ("pg_catalog", TYPES_BY_OID[oid].name) if made is None else udt(state, made)
    return {f"{prefix}_schema": schema, f"{prefix}_name": name}


def _yes(holds: bool) -> str:
    return "YES" if holds else "NO"


def _routines(state: SystemState) -> Iterable[Named]:
    for proc, head in _seen(state):
        language = _LANGUAGES[proc["prolang"]]
        yield {
            **head,
            "routine_catalog": state.catalog.database,
            "routine_schema": head["specific_schema"],
            "routine_name": proc["proname"],
            "routine_type": _KINDS.get(proc["prokind"]),
            "data_type": _type(proc["prorettype"]),
            "type_udt_catalog": state.catalog.database,
            **_udt(state, "type_udt", proc["prorettype"]),
            "dtd_identifier": "0",
            "routine_body": "SQL" if language == "sql" else "EXTERNAL",
            "routine_definition": proc["prosrc"] if owns(state.catalog, state.role_id, proc["proowner"]) else None,
            "external_language": language.upper(),
            "parameter_style": "GENERAL",
            "is_deterministic": _yes(proc["provolatile"] == "i"),
            "sql_data_access": "MODIFIES",
            "is_null_call": _yes(proc["proisstrict"]),
            "schema_level_routine": "YES",
            "max_dynamic_result_sets": 0,
            "security_type": "INVOKER",
            "is_udt_dependent": "NO",
        }


def _parameters(state: SystemState) -> Iterable[Named]:
    for proc, head in _seen(state):
        types = proc["proallargtypes"] or proc["proargtypes"]
        modes, names = proc["proargmodes"] or "i" * len(types), proc["proargnames"] or [""] * len(types)
        for number, (oid, mode, name) in enumerate(zip(types, modes, names, strict=True), start=1):
            yield {
                **head,
                "ordinal_position": number,
                "parameter_mode": _MODES[mode],
                "is_result": "NO",
                "parameter_name": name or None,
                "data_type": _type(oid),
                "udt_catalog": state.catalog.database,
                **_udt(state, "udt", oid),
                "dtd_identifier": str(number),
            }


def _of_named(name: str, columns: str, named: Callable[[SystemState], Iterable[Named]]) -> SystemRelation:
    """A view of which only some columns ever have a value."""
    names = [entry.split()[0] for entry in columns.split(",")]

    def rows(state: SystemState) -> Iterable[Row]:
        return (tuple(map(values.get, names)) for values in named(state))

    return relation("information_schema", name, columns, rows)


def _rw_functions(state: SystemState) -> Iterable[Row]:
    for each in state.catalog.own_functions:
        arguments = [str(type_.oid) for type_ in each.argument_types]
        yield (
            *(each.function_id, each.name, schema_oid(each.schema_name), each.owner, _RW_KINDS[each.kind], arguments),
            *(each.result.oid, each.language.value, None, acl_texts(state, each.acl)),
        )


_SPECIFIC = "specific_catalog name, specific_schema name, specific_name name,"
_CHARACTERS = (
    "character_maximum_length int4, character_octet_length int4, character_set_catalog name, character_set_schema name,"
    "character_set_name name, collation_catalog name, collation_schema name, collation_name name,"
    "numeric_precision int4, numeric_precision_radix int4, numeric_scale int4, datetime_precision int4,"
    "interval_type text, interval_precision int4,"
)
_SCOPE = "scope_catalog name, scope_schema name, scope_name name, maximum_cardinality int4, dtd_identifier name,"
_CAST = (
    "result_cast_from_data_type text, result_cast_as_locator text, result_cast_char_max_length int4,"
    "result_cast_char_octet_length int4, result_cast_char_set_catalog name, result_cast_char_set_schema name,"
    "result_cast_char_set_name name, result_cast_collation_catalog name, result_cast_collation_schema name,"
    "result_cast_collation_name name, result_cast_numeric_precision int4,"
    "result_cast_numeric_precision_radix int4, result_cast_numeric_scale int4,"
    "result_cast_datetime_precision int4, result_cast_interval_type text, result_cast_interval_precision int4,"
    "result_cast_type_udt_catalog name, result_cast_type_udt_schema name, result_cast_type_udt_name name,"
    "result_cast_scope_catalog name, result_cast_scope_schema name, result_cast_scope_name name,"
    "result_cast_maximum_cardinality int4, result_cast_dtd_identifier name"
)
ROUTINES = _of_named(
    "routines",
    _SPECIFIC + "routine_catalog name, routine_schema name, routine_name name, routine_type text, module_catalog name,"
    "module_schema name, module_name name, udt_catalog name, udt_schema name, udt_name name, data_type text,"
    + _CHARACTERS
    + "type_udt_catalog name, type_udt_schema name, type_udt_name name,"
    + _SCOPE
    + "routine_body text, routine_definition text, external_name text, external_language text, parameter_style text,"
    "is_deterministic text, sql_data_access text, is_null_call text, sql_path text, schema_level_routine text,"
    "max_dynamic_result_sets int4, is_user_defined_cast text, is_implicitly_invocable text, security_type text,"
    "to_sql_specific_catalog name, to_sql_specific_schema name, to_sql_specific_name name, as_locator text,"
    "created timestamptz, last_altered timestamptz, new_savepoint_level text, is_udt_dependent text," + _CAST,
    _routines,
)
PARAMETERS = _of_named(
    "parameters",
    _SPECIFIC + "ordinal_position int4, parameter_mode text, is_result text, as_locator text, parameter_name name,"
    "data_type text,"
    + _CHARACTERS
    + "udt_catalog name, udt_schema name, udt_name name,"
    + _SCOPE
    + "parameter_default text",
    _parameters,
)
RW_FUNCTIONS = relation(
    "rw_catalog",
    "rw_functions",
    "id int4, name text, schema_id int4, owner int4, type text, arg_type_ids _text, return_type_id int4, language text,"
    "link text, acl _text",
    _rw_functions,
)
