"""The names of output columns that have no alias: PostgreSQL's FigureColname."""

from __future__ import annotations

from sqlglot import exp

from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.binder.types import internal_name
from risingpy.frontend.parser.parser_tools import TYPE_TEXT

NO_NAME = "?column?"


def output_name(tree: exp.Expr) -> str:
    """The name of a column computed by `tree`: its column's, function's or type's, or `?column?`."""
    return _figure(tree)[0]


def _figure(tree: exp.Expr) -> tuple[str, int]:
    """A name and how good it is: 0 none, 1 of a type or CASE, 2 of a column or function."""
    match tree:
        case exp.Alias():
            return name_of(tree.args["alias"]), 2
        case exp.Column():
            return name_of(tree.this), 2
        case exp.Anonymous():
            return name_of(tree.this), 2
        case exp.Subquery():
            return _first_column(tree), 2
        case exp.Exists():
            return "exists", 2
        case exp.Dot():
            return _figure(tree.expression)
        case exp.Extract():
            return "extract", 2
        case exp.AtTimeZone():
            return "timezone", 2
        case exp.Paren() | exp.Filter() | exp.Window() | exp.Collate():
            return _figure(tree.this)
        case exp.Cast():
            name, strength = _figure(tree.this)
            return (name, strength) if strength > 1 else (internal_name(str(tree.args["to"].meta[TYPE_TEXT])), 1)
        case exp.Interval():
            return "interval", 1
        case exp.Case():
            default = tree.args.get("default")
            name, strength = _figure(default) if default is not None else (NO_NAME, 0)
            return (name, strength) if strength > 1 else ("case", 1)
        case _:
            return NO_NAME, 0


def _first_column(query: exp.Expr) -> str:
    """The name of a query's first column."""
    while isinstance(query, exp.Subquery | exp.SetOperation):
        query = query.this
    if isinstance(query, exp.Values):
        return "column1"
    return output_name(query.expressions[0]) if query.expressions else NO_NAME
