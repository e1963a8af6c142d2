"""Subqueries in RETURNING: the rows that a statement returns are read by a SELECT.

    INSERT INTO t … RETURNING id, (SELECT max(x) FROM u WHERE u.id = t.id)
    =>  WITH "returned rows" AS (INSERT INTO t … RETURNING *)
        SELECT id, (SELECT max(x) FROM u WHERE u.id = t.id) FROM "returned rows" AS t

So the subqueries read what was there before the statement, as in PostgreSQL. The tag stays the statement's. An item of
a WITH becomes two items likewise, of which the second is computed where it is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from risingpy.errors import FeatureNotSupported, GroupingError, WindowError
from risingpy.frontend.binder.functions.table_functions import is_name_of_set
from risingpy.frontend.binder.trees import begin_of, name_of
from risingpy.frontend.parser.ast import Delete, Expression, Insert, Query, Select, Update
from risingpy.frontend.parser.dml.within import WriteInWith, write_in_with
from risingpy.functions.signatures import AGGREGATES

RETURNED = "returned rows"  # no name that a statement of a user has


def has_returned_subquery(statement: object) -> bool:
    """Whether a statement that writes has a subquery in its RETURNING."""
    returning = statement.returning if isinstance(statement, Insert | Update | Delete) else None
    return any(item.tree.find(exp.Query) is not None for item in returning or ())


def read_by_select(statement: Insert | Update | Delete) -> Select:
    """The SELECT that runs the statement in its WITH. Raises 0A000 beside FROM and USING."""
    written, tree = _written_and_read(statement, RETURNED)
    with_ = exp.With() if statement.with_ is None else statement.with_.copy()
    with_.append("expressions", _item(RETURNED, replace(written, with_=None)))
    tree.set("with_", with_)
    return Select(Query(tree, "", written.returning[0].position if written.returning else 0))


def with_read_items(with_: exp.With) -> exp.With:
    """A WITH in which each item of this kind is two: what it writes, and what reads the rows of that."""
    if not any(
        isinstance(cte.this, WriteInWith) and has_returned_subquery(cte.this.statement) for cte in with_.expressions
    ):
        return with_
    items: list[exp.CTE] = []
    for cte in with_.expressions:
        if not isinstance(cte.this, WriteInWith) or not has_returned_subquery(cte.this.statement):
            items.append(cte)
            continue
        name = f"{RETURNED} {len(items)}"
        written, tree = _written_and_read(cte.this.statement, name)
        tree.set("with_", None if written.with_ is None else written.with_.copy())
        items += [_item(name, written), exp.CTE(this=tree, alias=cte.args["alias"].copy())]
    made = exp.With(recursive=with_.args.get("recursive"))
    made.args["expressions"] = items  # without `set`, which would take them out of their tree
    return made


def _written_and_read(statement: Insert | Update | Delete, name: str) -> tuple[Insert | Update | Delete, exp.Select]:
    """The statement with all columns in its RETURNING, and the SELECT of its items from rows called so."""
    items = statement.returning or ()
    _check(items)
    if (isinstance(statement, Update) and statement.from_) or (isinstance(statement, Delete) and statement.using):
        message = "a subquery in the RETURNING of a statement with FROM or USING is not supported"
        raise FeatureNotSupported(message, position=begin_of(items[0].tree))
    star = Expression(exp.Star(), "*", items[0].position)
    source = exp.Table(this=_name(name), alias=_alias(statement.alias or statement.table.name))
    tree = exp.Select(expressions=[item.tree.copy() for item in items], from_=exp.From(this=source))
    return replace(statement, returning=(star,)), tree


def _item(name: str, statement: Insert | Update | Delete) -> exp.CTE:
    return exp.CTE(this=write_in_with(statement), alias=_alias(name))


def _check(items: Sequence[Expression]) -> None:
    """What a SELECT may have and RETURNING may not."""
    for item in items:
        for tree in _outside_subqueries(item.tree):
            if isinstance(tree, exp.Window):
                raise WindowError("window functions are not allowed in RETURNING", position=begin_of(tree))
            if isinstance(tree, exp.Anonymous) and name_of(tree.this) in AGGREGATES:
                raise GroupingError("aggregate functions are not allowed in RETURNING", position=begin_of(tree))
            if isinstance(tree, exp.Unnest) or (isinstance(tree, exp.Anonymous) and is_name_of_set(name_of(tree.this))):
                message = "set-returning functions are not allowed in RETURNING"
                raise FeatureNotSupported(message, position=begin_of(tree))


def _outside_subqueries(tree: exp.Expr) -> Iterator[exp.Expr]:
    yield tree
    for part in tree.iter_expressions():
        if not isinstance(part, exp.Query):
            yield from _outside_subqueries(part)


def _name(text: str) -> exp.Identifier:
    return exp.Identifier(this=text, quoted=True)


def _alias(text: str) -> exp.TableAlias:
    return exp.TableAlias(this=_name(text))
