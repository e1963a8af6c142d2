"""pg_proc: the functions and aggregates of the signature table, and the users' functions, for psql's lists."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.function_texts import (
    built_in_definition,
    built_in_spellings,
    definition,
    spellings,
)
from risingpy.frontend.system_catalog.oids import LANGUAGE_OIDS, ROOT_USER_OID, schema_oid
from risingpy.frontend.system_catalog.rights.acls import acl_texts
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.frontend.system_catalog.type_functions import TYPE_FUNCTIONS, TypeFunction
from risingpy.functions.signatures import AGGREGATE_SIGNATURES, SCALAR_SIGNATURES, ArgType, Polymorphic, Signature
from risingpy.plan.catalog import FunctionDesc, FunctionKind, FunctionLanguage
from risingpy.plan.catalog.rights import language_of
from risingpy.types import SqlType, TypeKind
from risingpy.types.system_types import as_text, element_type
from risingpy.types.type_entries import TYPES_BY_NAME, TYPES_BY_OID

_ANY_ELEMENT_OID = 2283
_SHARED = {"array": 2277, "range": 3831, "multirange": 4537}  # anyarray, anyrange, anymultirange
# The argument and result types of types' functions: cstring, and internal or bytea.
_FORM_OIDS = {"in": 2275, "out": 2275, "recv": 2281, "send": 17}
_HANDLERS = {3: "heap_tableam_handler", 330: "bthandler"}  # named by pg_am; they have no rows here
_OIDS = {Polymorphic.ARRAY: 2277, Polymorphic.RECORD: 2249, Polymorphic.ENUM: 3500}
_NAMES = {
    Polymorphic.ARRAY: "anyarray",
    Polymorphic.ENUM: "anyenum",
    Polymorphic.MAP: "anymap",
    Polymorphic.RECORD: "record",
}
_FIRST_OID = 10000  # the first of our own oids, below the users' range
_PYTHON_HANDLER_OID = _FIRST_OID - 1  # the handler of Python functions, which has no row here
_COST_OF_USERS, _ROWS_OF_SET = 100.0, 1000.0  # what PostgreSQL assumes where COST and ROWS are not said
_UNSAID = (0, False, None, None, None)  # prosupport, proleakproof, protrftypes, prosqlbody, proconfig
_KINDS = {FunctionKind.SCALAR: "f", FunctionKind.TABLE: "f", FunctionKind.AGGREGATE: "a", FunctionKind.PROCEDURE: "p"}
_VOID_OID = 2278


def _is_function(signature: Signature) -> bool:
    # The table also has operators, and forms with their own syntax, which are no functions of that name.
    return signature.name.isidentifier() and signature.name.islower()


def _type_oid(argument: ArgType) -> int:
    return _OIDS.get(argument, _ANY_ELEMENT_OID) if isinstance(argument, Polymorphic) else _as_listed(argument).oid


def _type_text(argument: ArgType) -> str:
    return _NAMES.get(argument, "anyelement") if isinstance(argument, Polymorphic) else _as_listed(argument).name


def _key_text(argument: ArgType) -> str:
    return _type_text(argument) if isinstance(argument, Polymorphic) else argument.name


def _as_listed(type_: SqlType) -> SqlType:
    """The signature table has varchar where PostgreSQL's functions have text."""
    return as_text(type_) if type_.leaf.kind is TypeKind.VARCHAR and not type_.leaf.system else type_


def _numbered() -> Iterable[tuple[int, str, Signature]]:
    functions = [("f", s) for s in SCALAR_SIGNATURES if _is_function(s)]
    aggregates = [("a", s) for s in AGGREGATE_SIGNATURES]
    for number, (kind, signature) in enumerate(functions + aggregates):
        yield _FIRST_OID + number, kind, signature


def _all_arguments(function: FunctionDesc) -> tuple[list[int] | None, list[str] | None, list[str] | None]:
    """Types, modes and names of the arguments, and behind them of the columns of RETURNS TABLE."""
    columns = () if function.modes else function.columns
    every = [*function.signature, *(("t", name, type_) for name, type_ in columns)]
    names = [name for _, name, _ in every]
    shown = names if any(names) else None
    if not columns and not function.modes and not function.variadic:
        return None, None, shown
    return [type_.oid for _, _, type_ in every], [mode for mode, _, _ in every], shown


def _element_oid(function: FunctionDesc) -> int:
    """Of the arguments that a call of a VARIADIC function may give in any number."""
    return element_type(function.shown_arguments[-1]).oid if function.variadic else 0


def _made(state: SystemState) -> Iterable[Row]:
    for function in state.catalog.own_functions:
        arguments = [type_.oid for type_ in function.shown_arguments]
        kind, is_set = _KINDS[function.kind], function.kind is FunctionKind.TABLE
        language = LANGUAGE_OIDS["python"] if function.language is FunctionLanguage.PYTHON else LANGUAGE_OIDS["sql"]
        owner = (schema_oid(function.schema_name), function.owner, language, kind, is_set, function.strict)
        volatility = "i" if function.immutable else "v"
        acl = acl_texts(state, function.acl)
        defaults = function.argument_defaults
        result = _VOID_OID if kind == "p" else function.shown_result.oid
        yield (
            *(function.function_id, function.name, *owner, volatility, len(arguments), len(defaults), result),
            *(arguments, *_all_arguments(function), ", ".join(defaults) or None, function.body, None, acl, "u", False),
            *(_COST_OF_USERS, _ROWS_OF_SET if is_set else 0.0, _element_oid(function), *_UNSAID),
        )
    for oid, kind, signature in _numbered():
        arguments = [_type_oid(argument) for argument in signature.args]
        yield (
            *(oid, signature.name, schema_oid("pg_catalog"), ROOT_USER_OID, LANGUAGE_OIDS["internal"], kind),
            *(False, False, "i"),
            *(len(arguments), 0, _type_oid(signature.result), arguments, None, None, None, None, signature.function),
            *(None, None, "s", False, 1.0, 0.0, 0, *_UNSAID),
        )

    yield from map(_type_function_row, TYPE_FUNCTIONS)


def _type_function_row(function: TypeFunction) -> Row:
    result, argument = _types_of(function)
    return (
        *(function.oid, function.name, schema_oid("pg_catalog"), ROOT_USER_OID, LANGUAGE_OIDS["internal"], "f"),
        *(False, True, "i", 1, 0, result, [argument], None, None, None, None, function.name, None, None, "s", False),
        *(1.0, 0.0, 0, *_UNSAID),
    )


def _types_of(function: TypeFunction) -> tuple[int, int]:
    """(The result's, the argument's)."""
    form, type_oid = _FORM_OIDS[function.purpose], _type_of(function)
    return (type_oid, form) if function.purpose in ("in", "recv") else (form, type_oid)


def _type_of(function: TypeFunction) -> int:
    return _SHARED.get(function.type_name) or TYPES_BY_NAME[function.type_name].oid


def _signature_texts(state: SystemState) -> Iterable[Row]:
    for function in state.catalog.own_functions:
        identity, arguments = function.identity_text, function.arguments_text
        result = None if function.kind is FunctionKind.PROCEDURE else function.result_text
        yield function.function_id, result, arguments, identity, definition(function, arguments)
    for each in TYPE_FUNCTIONS:
        result, arguments = (TYPES_BY_OID[oid].display for oid in _types_of(each))
        text = built_in_definition(each.name, arguments, result, each.name)
        yield each.oid, result, arguments, arguments, text
    for oid, _kind, signature in _numbered():
        result, arguments = _type_text(signature.result), ", ".join(map(_type_text, signature.args))
        yield (
            oid,
            result,
            arguments,
            arguments,
            built_in_definition(signature.name, arguments, result, signature.function),
        )


def _spellings(state: SystemState) -> Iterable[Row]:
    for function in state.catalog.own_functions:
        yield from ((*spelling, function.function_id) for spelling in spellings(state, function))
    for type_function in TYPE_FUNCTIONS:
        for text in (type_function.name, f"pg_catalog.{type_function.name}"):
            yield text, False, type_function.oid
    yield from ((name, False, oid) for oid, name in _HANDLERS.items())
    for oid, _kind, signature in _numbered():
        # What PostgreSQL shows, and what every spelling of a text is reduced to where a name is looked up.
        both = tuple(map(_type_text, signature.args)), tuple(map(_key_text, signature.args))
        spelled = dict.fromkeys(text for types in both for text in built_in_spellings(signature.name, types))
        yield from ((*spelling, oid) for spelling in spelled)


def _languages(state: SystemState) -> Iterable[Row]:
    yield LANGUAGE_OIDS["internal"], "internal", ROOT_USER_OID, False, False, 0, 0, 0, None
    acl = language_of(state.catalog, "sql").stored
    yield LANGUAGE_OIDS["sql"], "sql", ROOT_USER_OID, False, True, 0, 0, 0, acl_texts(state, acl)
    of_python = acl_texts(state, language_of(state.catalog, "python").acl)  # never what acldefault gives
    yield LANGUAGE_OIDS["python"], "python", ROOT_USER_OID, True, False, _PYTHON_HANDLER_OID, 0, 0, of_python


_MADE = (
    "oid oid, proname name, pronamespace oid, proowner oid, prolang oid, prokind char, proretset bool,"
    "proisstrict bool, provolatile char, pronargs int2, pronargdefaults int2, prorettype oid, proargtypes oidvector,"
    "proallargtypes _oid, proargmodes _char, proargnames _text, proargdefaults pg_node_tree, prosrc text, probin text,"
    "proacl _aclitem, proparallel char, prosecdef bool, procost float4, prorows float4, provariadic oid,"
    "prosupport regproc, proleakproof bool, protrftypes _oid, prosqlbody pg_node_tree, proconfig _text"
)
"""The columns in the order in which `_made` has them: those in which functions differ come first."""
_ORDER = (
    "oid,proname,pronamespace,proowner,prolang,procost,prorows,provariadic,prosupport,prokind,prosecdef,proleakproof,"
    "proisstrict,proretset,provolatile,proparallel,pronargs,pronargdefaults,prorettype,proargtypes,proallargtypes,"
    "proargmodes,proargnames,proargdefaults,protrftypes,prosrc,probin,prosqlbody,proconfig,proacl"
)
_COLUMNS = [column.strip() for column in _MADE.split(",")]
_PLACES = [[column.split()[0] for column in _COLUMNS].index(name) for name in _ORDER.split(",")]


def _rows(state: SystemState) -> Iterable[Row]:
    for made in _made(state):
        yield tuple(made[place] for place in _PLACES)


PG_PROC = relation("pg_catalog", "pg_proc", ",".join(_COLUMNS[place] for place in _PLACES), _rows)
PG_LANGUAGE = relation(
    "pg_catalog",
    "pg_language",
    "oid oid, lanname name, lanowner oid, lanispl bool, lanpltrusted bool, lanplcallfoid oid, laninline oid,"
    "lanvalidator oid, lanacl _aclitem",
    _languages,
)
# The texts of pg_get_function_result, …_arguments, …_identity_arguments and pg_get_functiondef.
FUNCTION_TEXTS = relation(
    "risingpy",
    "rp_functions",
    "rp_oid oid, rp_result text, rp_arguments text, rp_identity text, rp_definition text",
    _signature_texts,
)
# The texts that regproc and regprocedure read.
FUNCTION_SPELLINGS = relation(
    "risingpy", "rp_function_spellings", "rp_text text, rp_with_types bool, rp_named oid", _spellings
)
