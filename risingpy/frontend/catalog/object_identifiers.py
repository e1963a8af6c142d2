"""regclass, regtype, regproc and their siblings in system queries: the SQL that texts and oids become.

    'public.kv'::regclass, (schema || '.' || name)::regclass    the oid, or the name where it is shown
    c.oid::regclass                                             likewise
    to_regclass('nosuch')                                       NULL, where the cast raises an error

An object identifier is a number, as in PostgreSQL; it is shown by its name in a result and in a text.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import duckdb
import pyarrow as pa
from duckdb.func import FunctionNullHandling
from sqlglot import exp

from risingpy.frontend.catalog.functions import instantiate
from risingpy.frontend.catalog.object_texts import key, malformed, no_such_object
from risingpy.frontend.catalog.oids import ROOT_USER_OID
from risingpy.functions.evaluation.duckdb_functions import register_function
from risingpy.functions.topics.calling import Function, by_row, call
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import VARCHAR

_KEY = "rp_key('{kind}', CAST($1 AS VARCHAR))"
_FOUND = {
    "regclass": f"(SELECT rp_named FROM rp_spellings WHERE rp_text = {_KEY})",
    "regtype": f"(SELECT rp_named FROM rp_type_spellings WHERE rp_text = {_KEY})",
    "regproc": "(SELECT CASE COUNT(*) WHEN 0 THEN NULL WHEN 1 THEN MAX(rp_named) ELSE"
    " CAST(ERROR('more than one function named \"' || $1 || '\"') AS UINTEGER) END"
    f" FROM rp_function_spellings WHERE rp_text = {_KEY})",
    "regprocedure": f"(SELECT MIN(rp_named) FROM rp_function_spellings WHERE rp_text = {_KEY})",
    "regnamespace": f"(SELECT rp_oid FROM rp_schemas WHERE rp_name = {_KEY})",
    "regrole": f"CASE WHEN {_KEY} = 'root' THEN {ROOT_USER_OID} END",
}
_FUNCTION_TEXT = (
    "(SELECT rp_text FROM rp_function_spellings WHERE rp_named = $1 AND {} ORDER BY LENGTH(rp_text) LIMIT 1)"
)
_NAMES = {
    "regclass": "(SELECT rp_name FROM rp_objects WHERE rp_oid = $1 AND NOT rp_is_constraint)",
    "regtype": "(SELECT rp_display FROM rp_types WHERE rp_oid = $1)",
    "regproc": _FUNCTION_TEXT.format("NOT rp_with_types"),
    "regprocedure": _FUNCTION_TEXT.format("rp_with_types"),
    "regnamespace": "(SELECT rp_name FROM rp_schemas WHERE rp_oid = $1)",
    "regrole": f"CASE WHEN $1 = {ROOT_USER_OID} THEN 'root' END",
}
KINDS = frozenset(_FOUND)
_SHOWING = (exp.DPipe, exp.Concat, exp.ConcatWs, exp.GroupConcat, exp.Ordered, exp.Order, exp.Group)
_SHOWING_FUNCTIONS = frozenset(("format", "json_build_object", "jsonb_build_object"))
_PASSING = (exp.Alias, exp.Paren, exp.Coalesce, exp.If, exp.Case, exp.ArrayAgg, exp.Distinct, exp.Filter)


@dataclass(frozen=True, slots=True)
class Naming:
    """What names depend on besides the relations: the database, and which schemas there are."""

    database: Callable[[], str]
    schemas: Callable[[], Collection[str]]


def register_names(connection: duckdb.DuckDBPyConnection, naming: Naming) -> None:
    """Makes the functions known that the templates here call."""

    def refuse(kind: str, text: str) -> None:
        raise no_such_object(kind, text, naming.database(), naming.schemas())

    def allow(kind: str, text: str) -> None:
        wrong = malformed(kind, text, naming.database())
        if wrong is not None:
            raise wrong

    _register(connection, "rp_key", lambda kind, text: key(kind, text, naming.database()))
    # Volatile, or DuckDB takes them out of the COALESCE in which they come last, as common subexpressions.
    _register(connection, "rp_refuse", refuse, volatile=True)
    _register(connection, "rp_allow", allow, volatile=True)


def _register(
    connection: duckdb.DuckDBPyConnection, name: str, one: Callable[[str, str], str | None], *, volatile: bool = False
) -> None:
    function = Function(by_row(one, pa.string()))

    def computed(*columns: pa.Array | pa.ChunkedArray) -> pa.Array:
        return call(function, [whole(column) for column in columns], pa.string())

    register_function(connection, name, computed, VARCHAR, FunctionNullHandling.SPECIAL, volatile=volatile)


def lookup_sql(kind: str, *, refuse: bool) -> str:
    """The template of the oid of the object that the text `$1` names; without `refuse` NULL where there is none."""
    otherwise = f"CAST({'rp_refuse' if refuse else 'rp_allow'}('{kind}', CAST($1 AS VARCHAR)) AS UINTEGER)"
    return f"COALESCE({_FOUND[kind].format(kind=kind)}, {otherwise})"


def oid_sql(kind: str) -> str:
    """The template of the oid that `$1`, a name, a text of digits or a number, means."""
    text = "CAST($1 AS VARCHAR)"
    digits = f"WHEN REGEXP_FULL_MATCH({text}, '[0-9]+') THEN CAST({text} AS UINTEGER) WHEN {text} = '-' THEN 0"
    return f"CASE WHEN $1 IS NULL THEN NULL {digits} ELSE {lookup_sql(kind, refuse=True)} END"


def name_sql(kind: str) -> str:
    """The template of the name of the object whose oid is `$1`."""
    return f"CASE WHEN $1 = 0 THEN '-' ELSE COALESCE({_NAMES[kind]}, CAST($1 AS VARCHAR)) END"


def object_identifier(node: exp.Expr, kind: str, operand: exp.Expr, *, is_oid: bool, refuse: bool = True) -> exp.Expr:
    """What a cast to an object identifier type, or a call of to_regclass, becomes where it stands."""
    if is_oid:
        oid: exp.Expr = exp.cast(operand.copy(), exp.DataType.build("UINTEGER", dialect="duckdb"))
    else:
        oid = exp.paren(instantiate(oid_sql(kind) if refuse else lookup_sql(kind, refuse=False), [operand]))
    return exp.paren(instantiate(name_sql(kind), [oid])) if _is_shown(node) else oid


def _is_shown(node: exp.Expr) -> bool:
    child, parent = node, node.parent
    while isinstance(parent, _PASSING) and not (isinstance(parent, exp.If) and parent.this is child):
        child, parent = parent, parent.parent
    if isinstance(parent, exp.Cast):
        return parent.to.this in exp.DataType.TEXT_TYPES or parent.to.sql().lower() == "name"
    if isinstance(parent, exp.Anonymous | exp.Format):
        return isinstance(parent, exp.Format) or str(parent.name).lower() in _SHOWING_FUNCTIONS
    return isinstance(parent, (exp.Select, *_SHOWING))
