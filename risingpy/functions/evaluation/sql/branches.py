"""CASE, AND, OR and COALESCE as pieces of SQL: each part is evaluated only for the rows that reach it.

A value that is bound in an inner SELECT is computed before any of these. So it needs its own condition: that the parts
before it have not decided the row. For that condition those parts are bound, too, in one column.

    b IS NULL OR <deep>  =>  … OR b1 FROM (SELECT *, CASE WHEN (b0 IS NOT TRUE) THEN <deep> END AS b1 FROM
                                          (SELECT *, b IS NULL AS b0 FROM …))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from risingpy.functions.evaluation.sql.tree import Guard, Piece, Tree, piece_of, simple
from risingpy.plan.expressions import Call, Case, Expr
from risingpy.types import BOOLEAN

_MOST_FAILING = 16  # parts of one AND or OR that may fail: each becomes a column for those after it
_SHALLOW = 3  # levels of a condition that may be written twice

Compile = Callable[[Expr, Guard | None], Piece]


@dataclass(frozen=True, slots=True)
class InTurn:
    """A function whose arguments are evaluated one after the other, until one decides the result."""

    joint: str
    open: str  # of the result of the first ones: whether the next argument counts


IN_TURN = {
    "and": InTurn(" AND ", "({} IS NOT FALSE)"),
    "or": InTurn(" OR ", "({} IS NOT TRUE)"),
    "coalesce": InTurn(", ", "({} IS NULL)"),
}


def in_turn(
    name: str,
    operands: Sequence[Expr],
    compile_part: Compile,
    tree: Tree,
    guard: Guard | None,
    *,
    as_condition: bool = True,
) -> Piece:
    """The call of one of `IN_TURN`.

    Unless it is the condition of a filter or a CASE (`as_condition`), DuckDB evaluates all parts of an AND or OR. So a
    part that may fail then becomes a CASE with the part before it.
    """
    turn = _Turn(name, tree, guard)
    failing = 0
    for k, operand in enumerate(operands):
        own = turn.still_open if k else guard
        part = tree.cut(compile_part(operand, own), own)
        if k and not (part.safe or as_condition) and tree.has_layers and failing < _MOST_FAILING:
            failing += 1
            turn.add_failing(part)
        else:
            turn.parts.append(part)
    return turn.call()


@dataclass(slots=True)
class _Turn:
    """A call of one of `IN_TURN`, part by part."""

    name: str
    tree: Tree
    guard: Guard | None
    parts: list[Piece] = field(default_factory=list)

    def still_open(self) -> Piece:
        """The guard of the next part: the parts before it have not decided the result."""
        settled = self._so_far()
        if not settled.simple:
            settled = self.tree.bound(settled, self.guard)
            self.parts = [settled]
        is_open = _joined(IN_TURN[self.name].open.format(settled.text), [settled])
        if self.guard is None:
            return is_open
        # Where the guard does not hold the column may be NULL, which leaves the next part open.
        return self.tree.bound(replace(is_open, safe=False), self.guard)

    def add_failing(self, part: Piece) -> None:
        """Adds a part that is evaluated in a CASE, for the rows that those before it leave open."""
        function, before = IN_TURN[self.name], self._so_far()
        if not before.safe or before.depth > _SHALLOW:
            before = self.tree.bound(before, self.guard)
        whole, is_open = f"({before.text}{function.joint}{part.text})", function.open.format(before.text)
        self.parts = [_joined(f"CASE WHEN {is_open} THEN {whole} ELSE {before.text} END", [before, part])]

    def call(self) -> Piece:
        """The whole call."""
        first, *others = self.parts
        if self.name == "coalesce" and first.simple and not all(part.safe for part in others):
            # What two COALESCEs share DuckDB computes for all rows beforehand, unless it stands in a CASE.
            rest = ", ".join(part.text for part in others)
            return _joined(f"CASE WHEN {first.text} IS NULL THEN coalesce({rest}) ELSE {first.text} END", self.parts)
        return self._so_far()

    def _so_far(self) -> Piece:
        if len(self.parts) == 1 and self.name != "coalesce":
            return self.parts[0]
        function = "coalesce" if self.name == "coalesce" else ""
        return _joined(f"{function}({IN_TURN[self.name].joint.join(part.text for part in self.parts)})", self.parts)


def case_in_turn(
    case: Case, compile_condition: Compile, compile_part: Compile, tree: Tree, guard: Guard | None
) -> Piece:
    """`CASE WHEN … THEN … ELSE … END`."""
    branches, default = _flat(case)
    choice = _Choice(tree, guard)
    for condition, _ in branches:
        own = choice.undecided if choice.conditions else guard
        choice.conditions.append(tree.cut(compile_condition(condition, own), own))
    results = []
    for number, (_, result) in enumerate(branches, 1):
        own = choice.branch(number)
        results.append(tree.cut(compile_part(result, own), own))
    other = choice.branch(0)
    return choice.case(results, tree.cut(compile_part(default, other), other))


def _flat(case: Case) -> tuple[list[tuple[Expr, Expr]], Expr]:
    """The branches and the ELSE, including those of a CASE that is itself the ELSE or the last THEN.

    CASE WHEN p THEN CASE WHEN q THEN a ELSE b END ELSE c END
      =>  CASE WHEN p IS NOT TRUE THEN c WHEN q THEN a ELSE b END
    """
    branches, default = list(case.branches), case.default
    while True:
        condition, last = branches[-1]
        if isinstance(default, Case):
            branches += default.branches
            default = default.default
        elif isinstance(last, Case):
            branches[-1] = (Call("is_not_true", (condition,), BOOLEAN), default)
            branches += last.branches
            default = last.default
        else:
            return branches, default


@dataclass(slots=True)
class _Choice:
    """Decides which branch of a CASE applies to a row: conditions numbered from 1, and columns with the number."""

    tree: Tree
    guard: Guard | None
    conditions: list[Piece] = field(default_factory=list)
    first: Piece | None = None  # the number of the branch among the first `decided`, or NULL
    decided: int = 0
    chosen: Piece | None = None  # the number among all, 0 for the ELSE

    def undecided(self) -> Piece:
        """The guard of the next condition: none before it is true."""
        if self.first is None or self.decided < len(self.conditions):
            self.first = self.tree.bound(self._number(""), self.guard)
            self.decided = len(self.conditions)
            for k in range(self.decided):
                self.conditions[k] = _joined(f"({self.first.text} = {k + 1})", [self.first])
        is_open = _joined(f"({self.first.text} IS NULL)", [self.first])
        return is_open if self.guard is None else self.tree.bound(replace(is_open, safe=False), self.guard)

    def branch(self, number: int) -> Guard:
        def is_chosen() -> Piece:
            if self.chosen is None:
                self.chosen = self.tree.bound(self._number(" ELSE 0"), self.guard)
            return _joined(f"({self.chosen.text} = {number})", [self.chosen])

        return is_chosen

    def _number(self, otherwise: str) -> Piece:
        open_ones = list(enumerate(self.conditions, 1))[self.decided :]
        whens = [f"WHEN {condition.text} THEN {number}" for number, condition in open_ones]
        parts = [condition for _, condition in open_ones]
        if self.first is not None:
            whens.insert(0, f"WHEN {self.first.text} IS NOT NULL THEN {self.first.text}")
            parts.append(self.first)
        return _joined(f"CASE {' '.join(whens)}{otherwise} END", parts)

    def case(self, results: Sequence[Piece], default: Piece) -> Piece:
        if self.chosen is None:
            conditions, of = self.conditions, ""
        else:
            conditions, of = [simple(str(k)) for k in range(1, len(results) + 1)], f" {self.chosen.text}"
        pairs = zip(conditions, results, strict=True)
        whens = " ".join(f"WHEN {condition.text} THEN {result.text}" for condition, result in pairs)
        parts = [*conditions, *results, default, *([] if self.chosen is None else [self.chosen])]
        return _joined(f"CASE{of} {whens} ELSE {default.text} END", parts)


def _joined(text: str, parts: Sequence[Piece]) -> Piece:
    return piece_of(text, parts, safe=all(part.safe for part in parts))
