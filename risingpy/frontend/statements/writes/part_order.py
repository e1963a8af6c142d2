"""Which parts of a WITH run before its statement, and which after it, as in PostgreSQL.

    WITH a AS (DELETE …), b AS (UPDATE … RETURNING id), c AS (INSERT … SELECT id FROM b) SELECT … FROM b

A part whose rows the statement reads, itself or by other items, runs first: b. The others run when the statement is
done, the last one first, but a part after those that it reads: c, then a. The order decides which of two changes of a
row takes place, which numbers of a sequence come where, and which error is the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass

from sqlglot import exp

from risingpy.frontend.binder.trees import name_of
from risingpy.frontend.parser.dml.within import WriteInWith


def run_last(with_: exp.With, parts: Sequence[str], statement: object) -> list[str]:
    """Of the items `parts`, in the order of the text, those that run after the statement, in the order of their turns.

    `statement` is the one without its WITH.
    """
    reads = {name_of(cte.args["alias"].this): _names_in(cte) for cte in with_.expressions}
    first = _closure(_names(statement), reads)
    last: list[str] = []
    for part in reversed(parts):
        if part not in first and part not in last:
            needed = _closure({part}, reads)
            last += [each for each in parts if each in needed and each not in first and each not in last]
    return last


def _closure(names: Set[str], reads: Mapping[str, Set[str]]) -> set[str]:
    """The items among `names`, and those that they read, and so on."""
    found: set[str] = set()
    new = {name for name in names if name in reads}
    while new:
        found |= new
        new = {name for each in new for name in reads[each] if name in reads} - found
    return found


def _names_in(cte: exp.CTE) -> set[str]:
    return _names(cte.this.statement if isinstance(cte.this, WriteInWith) else cte.this)


def _names(node: object) -> set[str]:
    """The names of relations in the trees of a statement that may be those of items."""
    return {
        name_of(table.this)
        for tree in _trees(node)
        for table in tree.find_all(exp.Table)
        if not table.args.get("db") and isinstance(table.this, exp.Identifier)
    }


def _trees(node: object) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Expr):
        yield node
    elif isinstance(node, tuple):
        for each in node:
            yield from _trees(each)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _trees(getattr(node, field.name))
