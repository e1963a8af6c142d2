"""GROUPING SETS, ROLLUP and CUBE: which sets of expressions a GROUP BY groups by.

GROUP BY a, ROLLUP (b, c)                    (a, b, c), (a, b), (a)
GROUP BY GROUPING SETS ((a, b), CUBE (c))    (a, b), (c), ()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, product

from sqlglot import exp

from risingpy.errors import SqlError
from risingpy.frontend.binder.trees import begin_of, refuse_unknown
from risingpy.plan.expressions import Expr

MAX_SETS = 4096  # PostgreSQL's
_MAX_CUBE = 12  # columns of a CUBE: 4096 sets

BindKey = Callable[[exp.Expr], Expr]
Set = tuple[Expr, ...]


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
            parts = [_members(part, bind) for part in tree.expressions]
            return [_union(parts[:size]) for size in range(len(parts), -1, -1)]
        case exp.Cube():
            if len(tree.expressions) > _MAX_CUBE:
                message = f"CUBE is limited to {_MAX_CUBE} elements"
                raise SqlError(message, sqlstate="54011", position=begin_of(tree))
            parts = [_members(part, bind) for part in tree.expressions]
            sizes = range(len(parts), -1, -1)
            return [_union(chosen) for size in sizes for chosen in combinations(parts, size)]
        case _:
            return [_members(tree, bind)]


def _members(tree: exp.Expr, bind: BindKey) -> Set:
    """An expression, or several in parentheses."""
    trees = tree.expressions if isinstance(tree, exp.Tuple) else [tree]
    return tuple(bind(part.unnest() if isinstance(part, exp.Paren) else part) for part in trees)


def _union(parts: Sequence[Set]) -> Set:
    return tuple(dict.fromkeys(expr for part in parts for expr in part))
