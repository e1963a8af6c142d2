"""WITH as PostgreSQL prints it, and WITH MUTUALLY RECURSIVE as Materialize has it: the items and their columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from risingpy.frontend.binder.query.recursion import in_order
from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.binder.typing.type_names import KnownTypes, resolve_type
from risingpy.frontend.parser.parser_tools import TYPE_TEXT
from risingpy.frontend.parser.with_parser import MutuallyRecursive
from risingpy.functions.topics.texts.text import quote_ident
from risingpy.types import SqlType

Columns = list[tuple[str, SqlType]]


def items_in_order(with_: exp.With) -> Sequence[exp.CTE]:
    """The items, each after those that it reads, if these must be known before it."""
    recursive = with_.args.get("recursive")
    if not recursive or isinstance(recursive, MutuallyRecursive):
        return tuple(with_.expressions)
    return in_order(with_)


def declared_columns(with_: exp.With, types: KnownTypes) -> dict[str, Columns]:
    """The columns of the items of a WITH MUTUALLY RECURSIVE, which are known before any item is read."""
    if not isinstance(with_.args.get("recursive"), MutuallyRecursive):
        return {}
    return {
        name_of(cte.args["alias"].this): [
            (name_of(column.this), resolve_type(str(column.args["kind"].meta[TYPE_TEXT]), None, types))
            for column in cte.args["alias"].args["columns"]
        ]
        for cte in with_.expressions
    }


def begin_of_with(with_: exp.With) -> str:
    """The words before the first item."""
    recursive = with_.args.get("recursive")
    if not isinstance(recursive, MutuallyRecursive):
        return " WITH RECURSIVE " if recursive else " WITH "
    limit = recursive.args.get("limit")
    at = "RETURN" if recursive.args.get("returns") else "ERROR"
    options = "" if limit is None else f"({at} AT RECURSION LIMIT {limit.name}) "
    return f" WITH MUTUALLY RECURSIVE {options}"


def definitions(columns: Columns, type_name: Callable[[SqlType], str]) -> list[str]:
    """Declared columns as they are written: `n integer`."""
    return [f"{quote_ident(name)} {type_name(type_)}" for name, type_ in columns]
