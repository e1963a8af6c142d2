"""The items of a WITH that have to be computed once: those that are read twice and are different each time.

    WITH r AS (SELECT random() AS x) SELECT a.x = b.x FROM r a, r b          true, as in PostgreSQL

Other items take the places of their names: their rows are the same each time, and a filter on them may go inside.
"""

from __future__ import annotations

from collections import Counter

from sqlglot import exp

from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.parser.ast import Insert, Select
from risingpy.frontend.parser.dml.within import WriteInWith
from risingpy.frontend.parser.with_parser import CHANGELOG
from risingpy.frontend.statement_context import StatementContext
from risingpy.functions.volatile import NON_DETERMINISTIC


def volatile_items(session: StatementContext, statement: object) -> frozenset[str]:
    """The names of these items of the statement's own WITH."""
    match statement:
        case Select(query):
            tree, with_ = query.tree, query.tree.args.get("with_")
        case Insert(source=source, with_=exp.With() as with_) if source is not None:
            tree = source.tree
        case _:
            return frozenset()
    if with_ is None or with_.args.get("recursive"):
        return frozenset()
    trees = [tree] if tree.args.get("with_") is with_ else [tree, with_]
    read = Counter(name for each in trees for name in _names(each))
    volatile: set[str] = set()
    for cte in with_.expressions:
        if isinstance(cte.this, WriteInWith) or cte.meta.get(CHANGELOG):
            continue
        if not volatile.isdisjoint(_names(cte.this)) or _is_volatile(session, cte.this):
            volatile.add(name_of(cte.args["alias"].this))
    return frozenset(name for name in volatile if read[name] > 1)


def _names(tree: exp.Expr) -> list[str]:
    """The names of relations in FROM that may be those of items."""
    return [name_of(table.this) for table in tree.find_all(exp.Table) if not table.args.get("db")]


def _is_volatile(session: StatementContext, query: exp.Expr) -> bool:
    """Whether the query calls a function that gives another result each time, or may do so."""
    catalog, path = session.database.reads.catalog, session.search_path()
    for call in query.find_all(exp.Anonymous):
        name = name_of(call.this)
        made = catalog.functions_named(name, None, path)
        if name in NON_DETERMINISTIC or any(not function.immutable for function in made):
            return True
    return False
