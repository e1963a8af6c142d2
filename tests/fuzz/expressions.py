"""Random expressions over the columns of a relation, by type.

A type is a letter: `i` integer, `n` numeric, `t` text, `d` date, `b` boolean, `e` the enum `mood`; `further_types` has
others. Numbers stay small, so that nothing overflows; divisors are powers of two, so that quotients have few digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from tests.fuzz import further_types
from tests.fuzz.further_types import FURTHER, WITH_MINIMUM

COMPARED = "intde"  # the types that have an order worth asking for
_OF_FURTHER = 0.25  # how often an integer, a text or a condition that is made of others is made of further types
LABELS = ("low", "mid", "high")  # of the enum, in its order, which is not that of the texts


@dataclass(frozen=True, slots=True)
class Relation:
    """A SELECT with columns c0, c1, …; `types` has a letter for each."""

    sql: str
    types: str

    @property
    def columns(self) -> list[str]:
        return [f"c{i}" for i in range(len(self.types))]


class Expressions:
    """The random choices of one seed."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    # Values

    def value(self, inner: Relation, q: str, kind: str, depth: int) -> str:
        """A value of this type, of the columns of `q`; of depth 0 a column if there is one."""
        mine = [f"{q}.c{i}" for i, t in enumerate(inner.types) if t == kind]
        if depth <= 0 or not mine:
            if depth > 0 and self.random.random() < 0.5:
                return self._made_of_another(inner, q, kind, depth)
            return self.pick(*mine) if mine else self.constant(kind)
        one, other = self.value(inner, q, kind, depth - 1), self.pick(self.constant(kind), self.pick(*mine))
        test = self.predicate(inner, q, 0)
        return self.pick(
            *(
                one,
                f"coalesce({one}, {other})",
                f"nullif({one}, {other})",
                self._made_of_another(inner, q, kind, depth),
            ),
            f"CASE WHEN {test} THEN {one} ELSE {other} END",
            *self._own_forms(kind, one, other),
        )

    def _own_forms(self, kind: str, one: str, other: str) -> list[str]:
        match kind:
            case "i":
                return [f"({one} + {other})", f"({one} % 5)", f"abs({one})", f"greatest({one}, {other})", f"(- {one})"]
            case "n":
                return [
                    f"({one} - {other})",
                    f"({one} * 2)",
                    f"({one} / 4)",
                    f"round({one}, 1)",
                    f"least({one}, {other})",
                ]
            case "t":
                cut = self.random.randint(1, 2)
                return [f"upper({one})", f"({one} || 'y')", f"substr({one}, {cut})", f"replace({one}, 'a', 'zz')"]
            case "d":
                unit = self.pick("month", "year", "week")
                return [f"({one} + {self.random.randint(-3, 40)})", f"date_trunc('{unit}', {one})::date"]
            case "e":
                return [f"greatest({one}, {other})", f"least({one}, {other})"]
            case _ if kind in FURTHER:
                return further_types.forms(kind, one, other)
        return [f"({one} AND {other})", f"({one} OR {other})", f"(NOT {one})"]

    def _made_of_another(self, inner: Relation, q: str, kind: str, depth: int) -> str:
        def of(letter: str) -> str:
            return self.value(inner, q, letter, min(depth - 1, 1))

        if self.random.random() < _OF_FURTHER and kind in "itb":
            makers = {"i": further_types.integers, "t": further_types.texts, "b": further_types.conditions}
            return self.pick(*makers[kind](of))
        match kind:
            case _ if kind in FURTHER:
                return self.pick(*further_types.made(kind, of))
            case "i":
                field = self.pick("day", "month", "dow", "doy")
                return self.pick(
                    *(f"length({of('t')})", f"extract({field} FROM {of('d')})::int", f"{of('b')}::int"),
                    *(f"round({of('n')})::int", f"({of('d')} - DATE '2024-02-27')", f"position('b' IN {of('t')})"),
                )
            case "n":
                return self.pick(f"({of('i')} / 2.0)", f"{of('i')}::numeric", f"({of('n')} + {of('i')})")
            case "t":
                return self.pick(
                    *(f"{of('i')}::varchar", f"{of('d')}::varchar", f"{of('e')}::varchar"),
                    *(f"concat({of('t')}, {of('b')})", f"{self._ranges(inner, q)}::varchar"),
                )
            case "d":
                return f"make_date(2024, 1 + abs({of('i')}) % 12, 28)"
            case "e":
                return f"CASE WHEN {of('i')} > 1 THEN {self.constant('e')} ELSE {self.constant('e')} END"
        return self.predicate(inner, q, 0)

    def predicate(self, inner: Relation, q: str, depth: int) -> str:
        """A condition over the columns of `q`."""
        column = self.random.randrange(len(inner.types))
        name, kind = f"{q}.c{column}", inner.types[column]
        constant, another = self.constant(kind), self.constant(kind)
        operator = self.pick("&&", "@>", "<@", "<<", "&<", "-|-")
        simple = self.pick(
            *(f"{self._ranges(inner, q)} {operator} {self._ranges(inner, q)}" for _ in range(self.random.randrange(2))),
            *(f"{name} = {constant}", f"{name} > {constant}", f"{name} IS NOT NULL", f"{name} IS NULL"),
            *(f"{name} <> {constant}", f"{name} IS DISTINCT FROM {constant}", f"{name} IN ({constant}, {another})"),
            *(f"{name} BETWEEN {constant} AND {another}", f"{name} NOT IN ({constant}, {another})"),
            *([f"{name} LIKE {self.pick('%a%', 'b_', '%')!r}"] if kind == "t" else []),
            *([name, f"{name} IS NOT TRUE", f"{name} IS FALSE"] if kind == "b" else []),
        )
        if depth <= 0:
            return simple
        other = self.predicate(inner, q, depth - 1)
        rows = (
            f"({name}, {self.value(inner, q, 'i', 0)}) {self.pick('=', '<', '<>')} ({constant}, {self.constant('i')})"
        )
        return self.pick(simple, f"({simple} AND {other})", f"({simple} OR {other})", f"NOT ({simple})", rows)

    def correlation(self, outer: Relation, q: str, inner: Relation, r: str) -> str:
        """A condition of a subquery over `r` that reads the row of `q`."""
        pairs = [(i, j) for i, x in enumerate(outer.types) for j, y in enumerate(inner.types) if x == y]
        if not pairs:
            return self.predicate(inner, r, 1)
        i, j = self.random.choice(pairs)
        condition = f"{r}.c{j} {self.pick('=', '=', '=', '<', 'IS NOT DISTINCT FROM')} {q}.c{i}"
        return condition + (f" AND {self.predicate(inner, r, 1)}" if self.random.random() < 0.4 else "")

    def call(self, inner: Relation, q: str) -> tuple[str, str]:
        """An aggregate's call and its type."""
        number, text, exact = (self.value(inner, q, kind, k) for k, kind in ((1, "i"), (0, "t"), (1, "n")))
        filtered = f" FILTER (WHERE {self.predicate(inner, q, 0)})" if self.random.random() < 0.2 else ""
        distinct = self.pick("", "", "DISTINCT ")
        kind = self.pick(*COMPARED, *WITH_MINIMUM)
        compared = self.value(inner, q, kind, 1)
        sql, kind = self.random.choice(
            [
                ("count(*)", "i"),
                (f"count({distinct}{compared})", "i"),
                (f"sum({distinct}{number})", "i"),
                (f"sum({distinct}{exact})", "n"),
                (f"min({compared})", kind),
                (f"max({compared})", kind),
                (f"max({text})", "t"),
                (f"bool_and({self.predicate(inner, q, 0)})", "b"),
                (f"bool_or({self.predicate(inner, q, 0)})", "b"),
                (f"string_agg({distinct}{text}, ',' ORDER BY {text})", "t"),
                (f"percentile_disc(0.5) WITHIN GROUP (ORDER BY {number})", "i"),
                (f"mode() WITHIN GROUP (ORDER BY {compared})", kind),
            ]
        )
        rounded = f"round(avg({number}){filtered}, 4)"
        joined = f"array_to_string(array_agg({number} ORDER BY {number}){filtered}, ',', '-')"
        ranges = f"{self.pick('range_agg', 'range_intersect_agg')}({distinct}{self._ranges(inner, q)}){filtered}"
        return self.random.choice(
            [*[(sql + filtered, kind)] * 8, (rounded, "n"), (joined, "t"), (f"({ranges})::varchar", "t")]
        )

    def _ranges(self, inner: Relation, q: str) -> str:
        """A range, or several."""
        one, other = (self._range(inner, q) for _ in range(2))
        union = f"(multirange({one}) {self.pick('+', '-', '*')} multirange({other}))"
        return self.pick(one, f"multirange({one})", f"int8multirange({one}, {other})", union)

    def _range(self, inner: Relation, q: str) -> str:
        one, other = (f"{self.value(inner, q, 'i', 0)}::int8" for _ in range(2))
        flags = self.pick("[)", "[]", "()", "(]")
        return f"int8range(least({one}, {other}), greatest({one}, {other}), '{flags}')"

    # Small things

    def constant(self, kind: str) -> str:
        match kind:
            case "i":
                return str(self.random.randint(-2, 6))
            case "n":
                return self.pick("0", "1.5", "-2.25", "3.00", "0.01")
            case "t":
                return self.pick("'a'", "'b'", "'B'", "''", "'abc'")
            case "d" if self.random.random() < 0.1:
                return self.pick("DATE 'infinity'", "DATE '-infinity'", "DATE '0044-03-15 BC'", "DATE '99999-12-31'")
            case "d":
                return self.pick("DATE '2024-02-28'", "DATE '2024-03-01'", "DATE '2023-12-31'")
            case "e":
                return f"'{self.pick(*LABELS)}'::mood"
            case _ if kind in FURTHER:
                rare = further_types.RARE.get(kind, ())
                return self.pick(*(rare if rare and self.random.random() < 0.1 else further_types.CONSTANTS[kind]))
        return self.pick("true", "false")

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)
