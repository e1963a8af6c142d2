"""GROUPING SETS, ROLLUP and CUBE: which sets of expressions a GROUP BY groups by.

GROUP BY a, ROLLUP (b, c)                    (a, b, c), (a, b), (a)
GROUP BY GROUPING SETS ((a, b), CUBE (c))    (a, b), (c), ()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, product

from sqlglot import exp

from risingpy.errors import SqlError, SyntaxError_
from risingpy.frontend.binder.trees import begin_of, refuse_unknown
from risingpy.plan.expressions import Expr

MAX_SETS = 4096  # PostgreSQL's
_MAX_CUBE = 12  # columns of a CUBE: 4096 sets


@dataclass(frozen=True, slots=True)
class GroupKey:
    """An expression that is grouped. `item` is its number in the select list; None if the list does not have it.

    Equal items are keys of their own, as in PostgreSQL: in the two sets of `SELECT a AS x, a AS y … GROUP BY x,
    ROLLUP (y)`, x is always `a`, and y is NULL in one.
    """

    expr: Expr
    item: int | None = None


BindKey = Callable[[exp.Expr], GroupKey]
Set = tuple[GroupKey, ...]


def grouping_sets(group: exp.Group, bind: BindKey) -> list[Set]:
    """The sets, in order; one where nothing but expressions stands. `bind` binds an expression."""
    refuse_unknown(group, ("expressions", "all"), {})
    if not group.expressions:
        raise SqlError("GROUP BY ALL is not supported", sqlstate="0A000", position=begin_of(group))
    parts = [_sets(tree, bind) for tree in group.expressions]
    number = 1
    for part in parts:
        number *= len(part)
    if number > MAX_SETS:
        message = f"too many grouping sets present (maximum {MAX_SETS})"
        raise SqlError(message, sqlstate="54011", position=begin_of(group))
    sets = [_union(chosen) for chosen in product(*parts)]
    if group.args.get("all") is False:  # GROUP BY DISTINCT
        return list({frozenset(each): each for each in reversed(sets)}.values())[::-1]
    return sets


def _sets(tree: exp.Expr, bind: BindKey) -> list[Set]:
    """The sets that one element of GROUP BY or of GROUPING SETS stands for."""
    match tree:
        case exp.GroupingSets():
            return [each for part in tree.expressions for each in _sets(part, bind)]
        case exp.Rollup():
            parts = [_members(part, bind) for part in _elements(tree)]
            return [_union(parts[:size]) for size in range(len(parts), -1, -1)]
        case exp.Cube():
            if len(tree.expressions) > _MAX_CUBE:
                message = f"CUBE is limited to {_MAX_CUBE} elements"
                raise SqlError(message, sqlstate="54011", position=begin_of(tree))
            parts = [_members(part, bind) for part in _elements(tree)]
            sizes = range(len(parts), -1, -1)
            return [_union(chosen) for size in sizes for chosen in combinations(parts, size)]
        case _:
            return [_members(tree, bind)]


def _elements(tree: exp.Rollup | exp.Cube) -> list[exp.Expr]:
    """What stands in the parentheses: something, and no empty set."""
    parts: list[exp.Expr] = tree.expressions
    empty = next((part for part in parts if isinstance(part, exp.Tuple) and not part.expressions), None)
    if empty is not None or not parts:
        position = begin_of(tree) if empty is None else begin_of(empty) + 1
        raise SyntaxError_('syntax error at or near ")"', position=position)
    return parts


def _members(tree: exp.Expr, bind: BindKey) -> Set:
    """An expression, or several in parentheses, which may be in more parentheses."""
    while isinstance(tree, exp.Paren):
        tree = tree.this
    if isinstance(tree, exp.Tuple):
        return tuple(key for part in tree.expressions for key in _members(part, bind))
    return (bind(tree),)


def _union(parts: Sequence[Set]) -> Set:
    return tuple(dict.fromkeys(key for part in parts for key in part))
