"""SQL as a tree of pieces. A piece that is used twice is bound once, so the text grows linearly with the expression.

A piece is an expression's text over the values that are already bound. There are two ways to bind a piece:

* as a column of an inner SELECT (`Layers`). This is cheap, and also cuts expressions that nest too deeply, for which
  DuckDB's time grows superlinearly;

      a * b + 1  =>  SELECT CASE WHEN isfinite(t.b0 + 1) … FROM (SELECT *, CASE … a * b … AS b0 FROM t) AS t

* as the parameter of a lambda over a list of one element: `list_transform([{a0: …}], lambda s0: … s0.a0 … s0.a0 …)[1]`.
  It is valid in any place, and is evaluated only for the rows for which that place is evaluated.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from risingpy.errors import StatementTooComplex

DEEPEST = 16  # nodes of an expression between two bindings: each is a few levels of DuckDB's expressions
DEEPEST_UNCUT = 250  # where none can be bound; DuckDB itself refuses 1,000 levels, and takes seconds for them
CHEAP_LAYERS = 50  # SELECTs inside each other, from which on there is one for DEEPEST nodes only
MOST_LAYERS = 900  # DuckDB takes seconds to plan them, and refuses 1,000
# DuckDB writes a filter that it moves below a SELECT with the SELECT's expressions in place of its columns, as often
# as it reads them: through some SELECTs, far too often. It moves none below a LIMIT.
_BARRIER = f" LIMIT {2**63 - 1}"
_LONG = 1_000  # characters of a constant that are worth a binding
_HOLE = re.compile("\0(\\d+)\0")  # PostgreSQL's texts have no zero byte
_LAMBDA = "lambda "


@dataclass(frozen=True, slots=True)
class Piece:
    """SQL of an expression: `depth` since the last binding, valid in a SELECT over the first `layer` layers.

    A `simple` piece (a column, a constant) may be written and computed twice at no cost. A `safe` one never fails.
    """

    text: str
    depth: int = 0
    layer: int = 0
    simple: bool = False
    safe: bool = False


Guard = Callable[[], Piece]
"""Gives a simple condition, binding what it needs: it is true of the rows for which something is to be evaluated."""


@dataclass(slots=True)
class Layers:
    """Columns b0, b1, … for expressions over one relation called `alias`, in SELECTs around it.

    If `ordered`, the relation's rows keep their order, which DuckDB's joins on several threads do not preserve.
    """

    alias: str = "t"
    ordered: bool = True
    _joining: set[int] = field(default_factory=set)  # the SELECTs that join
    _layers: list[list[str]] = field(default_factory=list)
    _names: count[int] = field(default_factory=count)

    def bind(self, piece: Piece, *, joins: bool = False) -> Piece:
        """A column that holds the piece; it `joins` if there is a subquery in it."""
        if joins:
            self._joining.add(piece.layer + 1)
        if piece.layer == len(self._layers):
            if piece.layer == MOST_LAYERS:
                raise StatementTooComplex
            self._layers.append([])
        name = f"b{next(self._names)}"
        self._layers[piece.layer].append(f"{piece.text} AS {name}")
        return Piece(f"{self.alias}.{name}", layer=piece.layer + 1, simple=True, safe=True)

    def around(self, source: str) -> str:
        """`source`, which may follow FROM and is called `alias`, with the columns that were bound."""
        for number, columns in enumerate(self._layers, 1):
            limit = _BARRIER if number == len(self._layers) > 1 else ""
            sorts = self.ordered and number in self._joining
            if sorts:
                source = f"(SELECT *, row_number() OVER () AS o{number} FROM {source}) AS {self.alias}"
            source = f"(SELECT *, {', '.join(columns)} FROM {source}{limit}) AS {self.alias}"
            if sorts:
                source = f"(SELECT * FROM {source} ORDER BY {self.alias}.o{number}) AS {self.alias}"
        return source

    def __bool__(self) -> bool:
        return bool(self._layers)


def simple(text: str) -> Piece:
    """A column or a constant; a long constant is written once."""
    return Piece(text, simple=len(text) <= _LONG, safe=True)


def piece_of(text: str, parts: Sequence[Piece], *, safe: bool) -> Piece:
    """A piece whose text contains `parts`."""
    depth = max((part.depth for part in parts), default=0)
    return Piece(text, depth + 1, max((part.layer for part in parts), default=0), safe=safe)


class Tree:
    """Makes pieces of other pieces. Without `layers` it binds all by lambdas."""

    def __init__(self, layers: Layers | None, names: Iterator[int] | None = None) -> None:
        self._layers = layers
        self._names = names or count()  # of lambdas' parameters

    @property
    def has_layers(self) -> bool:
        return self._layers is not None

    def in_lambda(self) -> Tree:
        """A tree for expressions that read a lambda's parameter, which inner SELECTs cannot see."""
        return Tree(None, self._names)

    def applied(
        self,
        write: Callable[[list[str]], str],
        args: Sequence[Piece],
        guard: Guard | None = None,
        *,
        apart: bool = False,
        safe: bool = False,
    ) -> Piece:
        """The piece that `write` makes of the texts of `args`; it may use each of them several times.

        `guard` limits the rows for which it is evaluated. With `apart` the arguments' errors do not count as its own.
        `safe`: it never fails by itself.
        """
        text = write([arg.text if arg.simple else f"\0{k}\0" for k, arg in enumerate(args)])
        uses = Counter(int(found) for found in _HOLE.findall(text))
        # Inside a lambda an argument would be computed for every element.
        several = {k for k, times in uses.items() if times > 1 or apart}
        if _LAMBDA in text:
            several.update(int(found) for found in _HOLE.findall(text, text.index(_LAMBDA)))
        own = self.parameter() if several else ""
        inside: dict[int, Piece] = {}
        fields: dict[int, Piece] = {}
        for k in uses:
            if k not in several:
                inside[k] = self.cut(args[k], guard)
            elif self._layers is not None and guard is None and args[k].layer < CHEAP_LAYERS:
                inside[k] = self._layers.bind(args[k])
            else:
                inside[k] = self.cut(args[k], guard)
                if not inside[k].simple:
                    fields[k] = inside[k]
                    inside[k] = Piece(f"{own}.a{k}")
        text = _HOLE.sub(lambda found: inside[int(found[1])].text, text)
        if fields:
            values = ", ".join(f"a{k}: {piece.text}" for k, piece in fields.items())
            text = f"list_transform([{{{values}}}], {_LAMBDA}{own}: {text})[1]"
        used = [*(arg for arg in args if arg.simple), *inside.values(), *fields.values()]
        return piece_of(text, used, safe=safe and all(arg.safe for arg in args))

    def parameter(self) -> str:
        """A new name of a lambda's parameter."""
        return f"s{next(self._names)}"

    def given(self, parameter: Piece, value: Piece, body: Piece) -> Piece:
        """The body, which reads the parameter, over the value, which is computed once for each row."""
        text = f"list_transform([{value.text}], {_LAMBDA}{parameter.text}: {body.text})[1]"
        return piece_of(text, [value, body], safe=value.safe and body.safe)

    def cut(self, piece: Piece, guard: Guard | None) -> Piece:
        """The piece, bound if it has become too deep."""
        return piece if piece.depth < DEEPEST else self.bound(piece, guard)

    def bound(self, piece: Piece, guard: Guard | None, *, joins: bool = False) -> Piece:
        """The piece as a column that is evaluated where the guard holds; without layers, the piece itself."""
        if self._layers is None:
            if piece.depth > DEEPEST_UNCUT:
                raise StatementTooComplex
            return piece
        if guard is not None and not piece.safe:
            holds = guard()
            text = f"CASE WHEN {holds.text} THEN {piece.text} END"
            piece = Piece(text, piece.depth + 1, max(holds.layer, piece.layer))
        return self._layers.bind(piece, joins=joins)
