"""The names of output columns that have no alias: PostgreSQL's FigureColname."""

from __future__ import annotations

from sqlglot import exp

from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.binder.typing.type_names import internal_name, qualified_type_name
from risingpy.frontend.parser.nested_parser import Subscript
from risingpy.frontend.parser.parser_tools import TYPE_TEXT

NO_NAME = "?column?"
COLUMN_NAME = "column_name"  # meta key of a scalar subquery: its column's name, known when it is bound

# What has a syntax of its own, and is called like this.
_FORMS: dict[type[exp.Expr], str] = {
    exp.Array: "array",
    exp.AtTimeZone: "timezone",
    exp.Exists: "exists",
    exp.Extract: "extract",
    exp.Overlaps: "overlaps",
    exp.Tuple: "row",
}
# What is called like what it is about.
_WRAPPERS = (
    *(exp.Paren, exp.Collate, exp.Filter, exp.Window, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls),
    Subscript,
)


def output_name(tree: exp.Expr) -> str:
    """The name of a column computed by `tree`, which is bound: its column's, function's or type's, or `?column?`."""
    return _figure(tree)[0]


def _figure(tree: exp.Expr) -> tuple[str, int]:
    """A name and how good it is: 0 none, 1 of a type or CASE, 2 of a column or function."""
    if type(tree) in _FORMS:
        return _FORMS[type(tree)], 2
    if isinstance(tree, _WRAPPERS):
        return _figure(tree.this)
    match tree:
        case exp.Alias():
            return name_of(tree.args["alias"]), 2
        case exp.Column(this=exp.Star()):  # the row of a table
            return name_of(tree.args["table"]), 2
        case exp.Column() | exp.Anonymous():
            return name_of(tree.this), 2
        case exp.Subquery():
            return str(tree.meta.get(COLUMN_NAME, NO_NAME)), 2
        case exp.Dot():
            field = tree.expression
            return (name_of(field), 2) if isinstance(field, exp.Identifier) else _figure(field)
        case exp.Cast():
            name, strength = _figure(tree.this)
            return (name, strength) if strength > 1 else (_name_of_type(str(tree.args["to"].meta[TYPE_TEXT])), 1)
        case exp.Interval():
            return "interval", 1
        case exp.Case():
            default = tree.args.get("default")
            name, strength = _figure(default) if default is not None else (NO_NAME, 0)
            return (name, strength) if strength > 1 else ("case", 1)
        case _:
            return NO_NAME, 0


def _name_of_type(text: str) -> str:
    """The name of a column that is cast to a type: that of a user's type has no schema in front."""
    internal = internal_name(text)
    parts = qualified_type_name(text.partition("[")[0]) if "." in internal else ()
    return parts[-1] if parts else internal
