"""`*` and `t.*` in a select list, and what EXCEPT takes out of them: `SELECT * EXCEPT (a)`, as in RisingWave.

EXCEPT may name any column of FROM. One that the star does not mean (`a.* EXCEPT (b.x)`, or the side of a USING that
`*` leaves out) takes nothing out.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from risingpy.errors import AmbiguousColumn, SqlError, SyntaxError_
from risingpy.frontend.binder.scope.columns import Scope, ScopeColumn
from risingpy.frontend.binder.trees import begin_of, name_of, position_of


def is_star(tree: exp.Expr) -> bool:
    """Whether the tree is a bare `*`, as in count(*) and (row).*. Raises SyntaxError_ if EXCEPT follows it."""
    if not isinstance(tree, exp.Star):
        return False
    if tree.args.get("except_"):
        raise SyntaxError_("EXCEPT may follow only * and table.* in a select list", position=position_of(tree))
    return True


def star_columns(tree: exp.Expr, scope: Scope) -> Sequence[ScopeColumn] | None:
    """The visible columns that a star means; None if the tree is no star."""
    position = position_of(tree)
    if isinstance(tree, exp.Star):
        if not scope.tables:
            raise SyntaxError_("SELECT * with no tables specified is not valid", position=position)
        star, columns = tree, scope.columns
    elif isinstance(tree, exp.Column) and isinstance(tree.this, exp.Star):
        schema = name_of(tree.args.get("db")) or None
        star, columns = tree.this, scope.table(schema, name_of(tree.args["table"]), position).columns
    else:
        return None
    out: list[ScopeColumn] = []
    for part in star.args.get("except_") or ():
        column = _taken_out(part, columns, scope)
        if column is None:
            continue
        if column in out:
            message = f'column "{column.name}" is twice in the EXCEPT of a star'
            raise SqlError(message, sqlstate="42701", position=begin_of(part))
        out.append(column)
    left = [column for column in columns if not column.hidden and column not in out]
    if out and not left:
        raise SyntaxError_("EXCEPT leaves no column of the star", position=position)
    return left


def _taken_out(part: exp.Expr, columns: Sequence[ScopeColumn], scope: Scope) -> ScopeColumn | None:
    """The column of the star that a name in EXCEPT means; None if it means another column of FROM."""
    position = begin_of(part)
    if not isinstance(part, exp.Column) or not isinstance(part.this, exp.Identifier):
        raise SyntaxError_("only names of columns may stand in the EXCEPT of a star", position=position)
    name = name_of(part.this)
    if part.args.get("table") is None:
        found = [column for column in columns if column.name == name]
        shown = f'"{name}"'
        if not found:
            scope.column(name, position)  # raises if FROM has no such column, and says what is like it
    else:
        schema, table = name_of(part.args.get("db")) or None, name_of(part.args["table"])
        named = scope.qualified(schema, table, name, position)
        found = [column for column in columns if column.name == name and column.expr == named.expr]
        shown = f"{table}.{name}"
    if len(found) > 1:
        raise AmbiguousColumn(f"column reference {shown} is ambiguous", position=position)
    return found[0] if found else None
