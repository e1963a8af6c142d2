"""Functions whose answer depends on the session: they become constants before a system query runs.

`current_setting` of a name that is no constant becomes a lookup.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from risingpy.errors import UndefinedObject
from risingpy.frontend.catalog.functions import SETTING, instantiate

SERVER_VERSION = "13.14.0"
VERSION_TEXT = f"PostgreSQL {SERVER_VERSION}-RisingPy-0.1.0"
_CHOSEN = "CASE WHEN CAST($1 AS BOOLEAN) THEN $2 WHEN NOT CAST($1 AS BOOLEAN) THEN $3 END"


class SessionFacts(Protocol):
    """What the functions ask of a session."""

    user: str
    process_id: int

    @property
    def search_path(self) -> tuple[str, ...]:
        """The schemas that exist and are searched."""

    @property
    def database_name(self) -> str:
        """The database's name."""

    def setting(self, name: str) -> str | None:
        """A parameter's value; None if there is no such parameter."""

    def change_setting(self, name: str, value: str) -> None:
        """SET name = value. Raises as SET does."""


_CLASS_NAMES: dict[type[exp.Expr], str] = {
    exp.CurrentVersion: "version",
    exp.CurrentSchema: "current_schema",
    exp.CurrentSchemas: "current_schemas",
    exp.CurrentUser: "current_user",
    exp.SessionUser: "session_user",
    exp.CurrentDatabase: "current_database",
    exp.CurrentCatalog: "current_database",
    exp.CurrentRole: "current_user",
}

SESSION_FUNCTIONS = frozenset(
    {*_CLASS_NAMES.values(), "current_catalog", "current_role", "pg_backend_pid", "current_setting", "set_config"}
)


def function_name(node: exp.Expr) -> str | None:
    """The SQL name of a call of a session function or of a function that sqlglot does not know."""
    if isinstance(node, exp.Anonymous):
        return str(node.name).lower()
    return _CLASS_NAMES.get(type(node))


def arguments_of(node: exp.Expr) -> list[exp.Expr]:
    """The arguments of a call."""
    if isinstance(node, exp.Anonymous):
        return list(node.expressions)
    return [node.this] if isinstance(node.this, exp.Expr) else []


def evaluate(name: str, arguments: Sequence[exp.Expr], session: SessionFacts, *, execute: bool) -> exp.Expr:
    """The constant that a call of a session function stands for.

    `set_config` takes effect only with `execute`: Describe must change nothing.
    """
    match name:
        case "version":
            return exp.Literal.string(VERSION_TEXT)
        case "current_schema":
            return _text(session.search_path[0] if session.search_path else None)
        case "current_schemas":
            both = (_names(("pg_catalog", "rw_catalog", *session.search_path)), _names(session.search_path))
            return exp.paren(instantiate(_CHOSEN, [*arguments[:1], *both])) if arguments else both[1]
        case "current_database" | "current_catalog":
            return exp.Literal.string(session.database_name)
        case "pg_backend_pid":
            return exp.Literal.number(session.process_id)
        case "current_setting":
            return _current_setting(arguments, session)
        case "set_config":
            return _set_config(arguments, session, execute=execute)
        case _:
            return exp.Literal.string(session.user)


def _current_setting(arguments: Sequence[exp.Expr], session: SessionFacts) -> exp.Expr:
    name = _constant(arguments[0]) if arguments else None
    if name is None:
        return exp.paren(instantiate(SETTING, list(arguments[:1]))) if arguments else _text(None)
    value = session.setting(name)
    if value is None and not _is_true(arguments[1:]):
        raise UndefinedObject(f'unrecognized configuration parameter "{name}"')
    return _text(value)


def _set_config(arguments: Sequence[exp.Expr], session: SessionFacts, *, execute: bool) -> exp.Expr:
    name, value, *_ = [*(_constant(argument) for argument in arguments), None, None]
    if name is None or value is None:
        return _text(None)
    if execute:
        session.change_setting(name, value)
    return _text(value)


def _constant(node: exp.Expr) -> str | None:
    """The value of a text literal, which may stand in a cast."""
    while isinstance(node, exp.Cast | exp.Paren):
        node = node.this
    return str(node.name) if isinstance(node, exp.Literal) and node.is_string else None


def _is_true(arguments: Sequence[exp.Expr]) -> bool:
    return bool(arguments) and isinstance(arguments[0], exp.Boolean) and bool(arguments[0].this)


def _names(names: Sequence[str]) -> exp.Expr:
    array = exp.Array(expressions=[exp.Literal.string(name) for name in names])
    return exp.cast(array, exp.DataType.build("VARCHAR[]", dialect="duckdb"))


def _text(value: str | None) -> exp.Expr:
    literal = exp.null() if value is None else exp.Literal.string(value)
    return exp.cast(literal, exp.DataType.Type.TEXT)
