"""Reading sqlglot's trees: positions, names, and the refusal of what is not understood."""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.parser.cursor import fold
from risingpy.frontend.parser.parser_tools import START

NUMBER = "number"  # of a node among those of its tree, in its meta data: its copies have the same
_BEGIN = "begin"  # where a tree is known to begin, in its meta data


def number_of(tree: exp.Expr) -> int:
    """What tells a node from the others of its tree, and not from its copies; else from all nodes."""
    number = tree.meta.get(NUMBER)
    return id(tree) if number is None else int(number)


def position_of(tree: exp.Expr) -> int:
    """Where the node's own token stands (an operator's symbol, a function's name), in characters from 1."""
    start = tree.meta.get(START)
    return begin_of(tree) if start is None else int(start) + 1


def begin_of(tree: exp.Expr) -> int:
    """Where the text of the whole node begins, as far as its tokens are known."""
    starts = []
    rest = [tree]
    while rest:
        node = rest.pop()
        known = node.meta.get(_BEGIN)  # it is asked for at every level of a deep tree, from the leaves up
        if known is not None:
            starts.append(known)
            continue
        if START in node.meta:
            starts.append(int(node.meta[START]))
        rest += node.iter_expressions()
    if starts:
        tree.meta[_BEGIN] = min(starts)
    return min(starts, default=0) + 1


def name_of(identifier: exp.Expr | str | None) -> str:
    """An identifier's name: folded unless it was quoted."""
    if identifier is None:
        return ""
    if isinstance(identifier, str):
        return fold(identifier)
    if isinstance(identifier, exp.Identifier):
        return str(identifier.this) if identifier.args.get("quoted") else fold(str(identifier.this))
    return fold(identifier.name)


def refuse_unknown(tree: exp.Expr, understood: Iterable[str], names: dict[str, str]) -> None:
    """Raises FeatureNotSupported if the node has a part that is not understood; `names` calls parts by their SQL."""
    for key, value in tree.args.items():
        if value in (None, False, []) or key in understood:
            continue
        part = value[0] if isinstance(value, list) else value
        position = begin_of(part) if isinstance(part, exp.Expr) else position_of(tree)
        raise FeatureNotSupported(f"{names.get(key, key.upper())} is not supported", position=position)
