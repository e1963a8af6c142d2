"""CREATE RECURSIVE VIEW: a view of a recursive query that has the view's name and columns.

CREATE RECURSIVE VIEW v (n) AS q   =>   CREATE VIEW v (n) AS WITH RECURSIVE v (n) AS (q) SELECT n FROM v
"""

from __future__ import annotations

from sqlglot import exp

from risingpy.frontend.parser.ast import CreateView, Query
from risingpy.frontend.parser.cursor import Cursor
from risingpy.sql_quoting import double_quoted


def parse_create_recursive_view(cursor: Cursor, or_replace: bool) -> CreateView:
    """What follows RECURSIVE VIEW. The columns must be named, as in PostgreSQL."""
    name = cursor.object_name()
    columns = cursor.in_parentheses(cursor.name)
    cursor.expect("AS")
    query = cursor.query()
    names = [column.name for column in columns]
    listed, own = ", ".join(map(double_quoted, names)), double_quoted(name.name)
    text = f"WITH RECURSIVE {own} ({listed}) AS ({query.text}) SELECT {listed} FROM {own}"
    alias = exp.TableAlias(this=_identifier(name.name), columns=[_identifier(each) for each in names])
    with_ = exp.With(recursive=True, expressions=[exp.CTE(this=query.tree, alias=alias)])
    tree = exp.Select(
        expressions=[exp.Column(this=_identifier(each)) for each in names],
        from_=exp.From(this=exp.Table(this=_identifier(name.name))),
        with_=with_,
    )
    return CreateView(name, columns, Query(tree, text, query.position), or_replace=or_replace)


def _identifier(name: str) -> exp.Identifier:
    return exp.Identifier(this=name, quoted=True)
