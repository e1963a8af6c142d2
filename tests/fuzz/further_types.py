"""What a random expression can be of the types that no table of the schema has: moments, jsonb, arrays, ranges, bytes.

`m` timestamp, `l` interval, `a` int[], `j` jsonb, `r` int8range, `x` bytea. Values that are equal look alike, since
which of them stays in a UNION depends on a plan: so intervals are less than a day, and jsonb has no fractions.
"""

from __future__ import annotations

from collections.abc import Callable

FURTHER = "mlajrx"
WITH_MINIMUM = "mla"  # those of which PostgreSQL 15 has min() and max()

CONSTANTS = {
    "m": ("TIMESTAMP '2024-02-28 23:59:59.5'", "TIMESTAMP '2024-03-01'", "TIMESTAMP '1999-12-31 12:00'"),
    "l": ("INTERVAL '90 minutes'", "INTERVAL '-5 hours'", "INTERVAL '0.25 seconds'"),
    "a": ("ARRAY[1, 2]", "ARRAY[NULL, 3]", "'{}'::int[]", "ARRAY[5]"),
    "j": (
        """'{"a": 1, "b": null}'::jsonb""",
        "'[1, 2, null]'::jsonb",
        "'\"x\"'::jsonb",
        "'null'::jsonb",
        "'{}'::jsonb",
    ),
    "r": ("int8range(1, 5)", "'empty'::int8range", "int8range(NULL, 3)", "int8range(2, NULL)"),
    "x": (r"'\x01ff'::bytea", "''::bytea", r"'\x00'::bytea"),
}
RARE = {"m": ("TIMESTAMP 'infinity'", "TIMESTAMP '-infinity'", "TIMESTAMP '0044-03-15 BC'", "TIMESTAMP '99999-12-31'")}


def forms(kind: str, one: str, other: str) -> list[str]:
    """Values of the type made of two others."""
    match kind:
        case "m":
            moved = [f"({one} {sign} INTERVAL '{length}')" for sign, length in (("+", "1 month"), ("-", "36 hours"))]
            return [*moved, f"date_trunc('hour', {one})", f"greatest({one}, {other})", f"least({one}, {other})"]
        case "l":
            return [f"(- {one})", f"({one} / 2)", f"greatest({one}, {other})", f"least({one}, {other})"]
        case "a":
            return [f"({one} || {other})", f"array_remove({one}, 1)", f"array_append({one}, 4)", f"({one})[1:2]"]
        case "j":
            parts = [f"({one} -> 'a')", f"({one} -> 0)", f"({one} #> '{{b,a}}')"]
            return [*parts, f"({one} || {other})", f"jsonb_build_array({one}, {other})", f"jsonb_strip_nulls({one})"]
        case "r":
            return [f"({one} * {other})", f"range_merge({one}, {other})"]
        case _:
            return [f"({one} || {other})", f"substring({one} FROM 1 FOR 1)"]


def made(kind: str, of: Callable[[str], str]) -> list[str]:
    """Values of the type made of values of other types, which `of` gives."""
    match kind:
        case "m":
            return [f"({of('d')}::timestamp + make_interval(hours => abs({of('i')})::int % 30))"]
        case "l":
            return [f"make_interval(mins => ({of('i')})::int % 1000)"]
        case "a":
            return [f"ARRAY[{of('i')}, {of('i')}]::int[]", f"array_positions({of('a')}, {of('i')}::int)"]
        case "j":
            whole = f"jsonb_build_object('a', {of('i')}, 'm', {of('m')}, 'b', {of('b')}, 't', {of('t')})"
            return [whole, f"to_jsonb({of('a')})", f"to_jsonb({of('t')})", f"to_jsonb({of('d')})"]
        case "r":
            one, other = (f"{of('i')}::int8" for _ in range(2))
            return [f"int8range(least({one}, {other}), greatest({one}, {other}), '[]')"]
        case _:
            return [f"convert_to({of('t')}, 'UTF8')"]


def integers(of: Callable[[str], str]) -> list[str]:
    """Integers made of the types."""
    return [
        *(f"cardinality({of('a')})", f"({of('a')})[1]", f"extract(hour FROM {of('l')})::int"),
        *(f"extract(dow FROM {of('m')})::int", f"upper({of('r')})::int", f"length({of('x')})"),
    ]


def texts(of: Callable[[str], str]) -> list[str]:
    """Texts made of the types."""
    return [f"jsonb_typeof({of('j')})", f"({of('j')} ->> 'a')", *(f"{of(kind)}::varchar" for kind in FURTHER)]


def conditions(of: Callable[[str], str]) -> list[str]:
    """Conditions over the types."""
    return [
        *(f"{of('i')} = ANY ({of('a')})", f"{of('a')} && {of('a')}", f"{of('a')} @> {of('a')}"),
        *(f"{of('j')} @> {of('j')}", f"{of('j')} ? 'a'", f"{of('j')} < {of('j')}"),
        *(f"{of('r')} && {of('r')}", f"isempty({of('r')})", f"{of('r')} < {of('r')}"),
        *(f"{of('m')} < {of('d')}", f"{of('l')} > {of('l')}", f"{of('x')} < {of('x')}"),
    ]
