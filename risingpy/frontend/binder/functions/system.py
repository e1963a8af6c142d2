"""Functions of system catalogs that the signature table does not say all about.

Those that need the session become constants. Those about what this database does not have (comments, triggers,
privileges on types and languages) are constants too. The others are calls whose SQL is in
`functions/evaluation/sql/catalog.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from risingpy.frontend.binder.expressions.expression_binder import ExpressionBinder
from risingpy.frontend.binder.functions.privileges import PRIVILEGE_FUNCTIONS
from risingpy.frontend.binder.functions.sequences import SEQUENCE_FUNCTIONS
from risingpy.frontend.binder.scope.context import SessionValues, SetConfig
from risingpy.frontend.binder.typing.coercion import Context, Operand
from risingpy.frontend.binder.typing.signature_calls import no_function
from risingpy.frontend.system_catalog.oids import schema_oid
from risingpy.functions.signature_tables.system import SYSTEM
from risingpy.functions.topics.extensions import UUID_CONSTANTS
from risingpy.functions.topics.texts.keywords import keyword_columns
from risingpy.plan.catalog import is_temporary_schema
from risingpy.plan.expressions import Call, Case, Cast, Expr, Literal, Parameter
from risingpy.types import BIGINT, BOOLEAN, INTEGER, UUID, VARCHAR, SqlType, array_of
from risingpy.types.system_types import (
    NAME,
    OBJECT_IDENTIFIERS,
    OID,
    REGCLASS,
    SYSTEM_TYPES,
    TEXT,
    is_oid,
    is_vector,
)

_UTF8 = 6  # PostgreSQL's number of the encoding
_TRUE = (
    "pg_type_is_visible pg_function_is_visible pg_opfamily_is_visible pg_collation_is_visible pg_opclass_is_visible "
    "pg_operator_is_visible pg_conversion_is_visible pg_statistics_obj_is_visible pg_ts_config_is_visible "
    "pg_ts_dict_is_visible pg_ts_parser_is_visible pg_ts_template_is_visible"
)
_FALSE = "pg_relation_is_publishable pg_index_has_property row_security_active"
_NULL_TEXT = (
    "pg_get_ruledef pg_get_triggerdef "
    "pg_get_statisticsobjdef_columns "
    "pg_get_partkeydef pg_get_function_sqlbody inet_server_addr inet_client_addr "
    "pg_tablespace_location pg_describe_object pg_relation_filepath "
    "pg_get_function_arg_default pg_get_partition_constraintdef pg_get_statisticsobjdef"
)
_NULL_NUMBER = "pg_tablespace_size inet_server_port inet_client_port pg_stat_get_live_tuples pg_stat_get_numscans"
_CONSTANTS: dict[str, Literal] = {
    **dict.fromkeys(_TRUE.split(), Literal(True, BOOLEAN)),
    **dict.fromkeys(_FALSE.split(), Literal(False, BOOLEAN)),
    **dict.fromkeys(_NULL_TEXT.split(), Literal(None, TEXT)),
    **dict.fromkeys(_NULL_NUMBER.split(), Literal(None, BIGINT)),
    "pg_encoding_to_char": Literal("UTF8", NAME),
    "pg_char_to_encoding": Literal(_UTF8, INTEGER),
    "pg_client_encoding": Literal("UTF8", NAME),
    "getdatabaseencoding": Literal("UTF8", NAME),
    "pg_export_snapshot": Literal("00000000-00000000-1", TEXT),
    "txid_current": Literal(0, BIGINT),
    **{name: Literal(value.bytes, UUID) for name, value in UUID_CONSTANTS.items()},
}
_VECTOR_FUNCTIONS = {"array_lower": "vector_lower", "array_upper": "vector_upper", "array_position": "vector_position"}
_OF_REGCLASS = (
    "pg_table_size pg_relation_size pg_indexes_size pg_total_relation_size pg_get_viewdef".split()  # noqa: SIM905
)
_CHANNELS = "pg_listening_channels"
# Functions in FROM whose rows are known when the statement is bound: the columns.
KNOWN_SETS: dict[str, tuple[tuple[str, SqlType], ...]] = {
    "pg_partition_ancestors": (("relid", REGCLASS),),
    "pg_partition_tree": (("relid", REGCLASS), ("parentrelid", REGCLASS), ("isleaf", BOOLEAN), ("level", INTEGER)),
    "pg_options_to_table": (("option_name", TEXT), ("option_value", TEXT)),
    "pg_get_keywords": (
        *(("word", TEXT), ("catcode", SYSTEM_TYPES["char"]), ("barelabel", BOOLEAN)),
        *(("catdesc", TEXT), ("baredesc", TEXT)),
    ),
    "pg_get_publication_tables": (("relid", OID),),
    _CHANNELS: ((_CHANNELS, TEXT),),
}


def known_values(session: SessionValues, name: str) -> tuple[tuple[object, ...], ...]:
    """The values of each column of one of KNOWN_SETS; most of them have none, as there is nothing that they list."""
    if name == _CHANNELS:
        return (session.channels,)
    return keyword_columns() if name == "pg_get_keywords" else ((),) * len(KNOWN_SETS[name])


def _constant(_binder: ExpressionBinder, name: str, _args: list[Operand], _position: int) -> Expr:
    return _CONSTANTS[name]


def _current_schemas(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """The schemas of the search path that exist; with true as argument those that are searched before too."""
    if len(args) != 1:
        raise no_function(name, args, position)
    names = array_of(NAME)
    context = binder.context
    path = tuple(schema for schema in context.search_path if schema in context.catalog.schemas)
    before: tuple[str, ...] = ("pg_catalog", "rw_catalog")
    if path and path[0] != context.session.schema:  # the temporary one, which is searched without being named
        before, path = (path[0], *before), path[1:]
    own, all_ = Literal(path, names), Literal((*before, *path), names)
    implicit = context.coercer.coerce(args[0], BOOLEAN, Context.IMPLICIT)
    if isinstance(implicit, Literal):
        return Literal(None, names) if implicit.value is None else all_ if implicit.value else own
    negated = Call("not", (implicit,), BOOLEAN)
    return Case(((implicit, all_), (negated, own)), Literal(None, names), names)


def _is_in_recovery(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """Whether the server only reads what another one leads."""
    if args:
        raise no_function(name, args, position)
    return Literal(binder.context.session.only_reads, BOOLEAN)


def _my_temp_schema(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """The oid of the session's temporary schema; 0 if it has none."""
    if args:
        raise no_function(name, args, position)
    own = binder.context.session.temporary_schema
    return Literal(0 if own is None else schema_oid(own), OID)


def _is_other_temp_schema(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """Whether the oid is that of another session's temporary schema."""
    if len(args) != 1:
        raise no_function(name, args, position)
    context = binder.context
    oid = context.coercer.coerce(args[0], OID, Context.IMPLICIT)
    own = context.session.temporary_schema
    others = [each for each in context.catalog.schemas if is_temporary_schema(each) and each != own]
    found: Expr = Literal(False, BOOLEAN)
    for other in others:
        pair = Operand(oid, position), Operand(Literal(schema_oid(other), OID), position)
        found = Call("or", (found, binder.calls.operator("=", pair, position)), BOOLEAN)
    return Case(((Call("is_null", (oid,), BOOLEAN), Literal(None, BOOLEAN)),), found, BOOLEAN)


def _set_config(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """The new value. The statement sets constants when it begins to run; else each row sets it when it is computed."""
    if len(args) != 3:
        raise no_function(name, args, position)
    coercer = binder.context.coercer
    setting, value = (coercer.coerce(arg, TEXT, Context.IMPLICIT) for arg in args[:2])
    local = coercer.coerce(args[2], BOOLEAN, Context.IMPLICIT)
    parts = (setting, value, local)
    if all(isinstance(part, Literal | Parameter) for part in parts):
        binder.context.settings.append(SetConfig(*parts))
        return value
    return Call("set_config", parts, TEXT)


def current_setting_of(value: Operand, binder: ExpressionBinder) -> Expr:
    """`current_setting` of a name that is no constant: NULL where there is no such setting."""
    return Call("setting_value", (binder.context.coercer.coerce(value, VARCHAR, Context.IMPLICIT),), TEXT)


def _looked_up(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """`to_regclass(text)`."""
    if len(args) != 1:
        raise no_function(name, args, position)
    coercer = binder.context.coercer
    text = coercer.coerce(args[0], VARCHAR, Context.IMPLICIT)
    return Call(name, (text, Literal(coercer.names.database, VARCHAR)), SYSTEM_TYPES[name.removeprefix("to_")])


def _of_regclass(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """A function of a relation, which a text names."""
    if args and not is_oid(args[0].type) and not args[0].type.is_numeric:
        relation = binder.context.coercer.coerce(args[0], REGCLASS, Context.EXPLICIT)
        args = [Operand(relation, args[0].where), *args[1:]]
    return binder.calls.function(name, args, position)


def _digest(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """Of a relation by its name, or by the digits of its oid."""
    if len(args) != 1:
        raise no_function(name, args, position)
    coercer = binder.context.coercer
    given = args[0]
    if is_oid(given.type):
        given = Operand(Cast(given.expr, BIGINT), given.where)
    text = coercer.coerce(given, VARCHAR, Context.EXPLICIT)
    return Call("rw_digest", (text, Literal(coercer.names.database, VARCHAR)), TEXT)


def _get_expr(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """A pg_node_tree is kept as the text that it means, with all parentheses."""
    if len(args) not in (2, 3):
        raise no_function(name, args, position)
    coercer = binder.context.coercer
    text = coercer.coerce(args[0], TEXT, Context.EXPLICIT)
    if len(args) == 2:
        return text
    owner, pretty = (coercer.coerce(a, t, Context.IMPLICIT) for a, t in zip(args[1:], (OID, BOOLEAN), strict=True))
    return Call("pg_get_expr_pretty", (text, owner, pretty), TEXT)


def _user_by_id(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if len(args) != 1:
        raise no_function(name, args, position)
    return Call(name, (binder.context.coercer.coerce(args[0], OID, Context.IMPLICIT),), NAME)


def _of_vector(binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    if not args or not is_vector(args[0].type):
        return binder.calls.function(name, args, position)
    operands = [args[0].expr]
    if name == "array_position":
        element, coercer = args[0].type.element, binder.context.coercer
        operands += [arg.expr if arg.type.is_integer else coercer.exactly(arg, element) for arg in args[1:2]]
    return Call(_VECTOR_FUNCTIONS[name], tuple(operands), INTEGER)


def _not_in_recovery(_binder: ExpressionBinder, name: str, args: list[Operand], position: int) -> Expr:
    """As PostgreSQL, which only a standby can ask: an error of the call, if it comes to that (pgAdmin's CASE)."""
    if args:
        raise no_function(name, args, position)
    return Call("not_in_recovery", (), BOOLEAN if name == "pg_is_wal_replay_paused" else TEXT)


_ORDINARY = frozenset(_VECTOR_FUNCTIONS)
_OF_VALUES = frozenset({"rw_vnode", "pg_column_size", "pg_size_pretty"})  # their arguments alone say what they give
SYSTEM_FUNCTIONS: dict[str, Callable[[ExpressionBinder, str, list[Operand], int], Expr]] = {
    **dict.fromkeys(_CONSTANTS, _constant),
    **dict.fromkeys((f"to_{kind}" for kind in OBJECT_IDENTIFIERS), _looked_up),
    **dict.fromkeys(_OF_REGCLASS, _of_regclass),
    **dict.fromkeys(_VECTOR_FUNCTIONS, _of_vector),
    **PRIVILEGE_FUNCTIONS,
    **SEQUENCE_FUNCTIONS,
    "current_schemas": _current_schemas,
    "pg_is_in_recovery": _is_in_recovery,
    "pg_my_temp_schema": _my_temp_schema,
    "pg_is_other_temp_schema": _is_other_temp_schema,
    "set_config": _set_config,
    "pg_get_userbyid": _user_by_id,
    "rw_digest": _digest,
    "pg_get_expr": _get_expr,
    **dict.fromkeys(("pg_is_wal_replay_paused", "pg_get_wal_replay_pause_state"), _not_in_recovery),
}
NEED_SYSTEM = (
    (SYSTEM_FUNCTIONS.keys() - _ORDINARY)
    | {line.split(maxsplit=1)[0] for line in SYSTEM.strip().splitlines()}
    | {"current_setting", "pg_backend_pid"}
) - _OF_VALUES
"""Functions that are only for queries: what they give is of the session, or changes without epochs."""
