"""Writes docs/sql/functions.md from the signature table, so that the page says what the binder takes.

Run it after a change of `risingpy/functions/signatures.py`; a test compares the page with what it writes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from risingpy.functions.signatures import (
    AGGREGATE_SIGNATURES,
    EXTRACT_FIELDS,
    SCALAR_SIGNATURES,
    TABLE_FUNCTIONS,
    WINDOW_FUNCTIONS,
    ArgType,
    Polymorphic,
    Signature,
)
from risingpy.types import SqlType

PAGE = Path(__file__).parent / "sql" / "functions.md"

SYMBOLS_BY_SUBJECT = {
    "Arithmetic": "+ - * / % ^ |/ ||/ @",
    "Comparison": "= <> != < <= > >=",
    "Bits": "& | # << >>",
    "jsonb and arrays": "-> ->> #> #>> @> <@ && ? ?| ?& #- @? @@",
    "Text and bytes": "|| ~~ ~~* !~~ !~~* ~ ~* !~ !~* ^@",
}
MEANINGS = {
    "->": "field or element", "->>": "field or element, as text", "#>": "value at a path", "#>>": "its text",
    "@>": "contains", "<@": "is contained in", "&&": "have elements in common", "?": "has a key or string",
    "?|": "has any of them", "?&": "has all of them", "#-": "without what is at a path",
    "@?": "a jsonpath leads to something", "@@": "a jsonpath predicate holds",
    "~~": "LIKE", "~~*": "ILIKE", "!~~": "NOT LIKE", "!~~*": "NOT ILIKE",
    "~": "matches a regular expression; before an integer: its bits inverted", "~*": "matches, any case",
    "!~": "does not match", "!~*": "does not match, any case", "^": "power", "#": "exclusive or", "|/": "square root",
    "||/": "cube root", "@": "absolute value", "^@": "starts with",
}  # fmt: skip
SYNTAX = {
    "AND": "a AND b", "OR": "a OR b", "NOT": "NOT a",
    "IS_NULL": "a IS NULL", "IS_NOT_NULL": "a IS NOT NULL",
    "IS_TRUE": "a IS TRUE", "IS_NOT_TRUE": "a IS NOT TRUE",
    "IS_FALSE": "a IS FALSE", "IS_NOT_FALSE": "a IS NOT FALSE",
    "IS_UNKNOWN": "a IS UNKNOWN", "IS_NOT_UNKNOWN": "a IS NOT UNKNOWN",
    "IS_DISTINCT_FROM": "a IS DISTINCT FROM b", "IS_NOT_DISTINCT_FROM": "a IS NOT DISTINCT FROM b",
    "IN": "a IN (b, …)", "COALESCE": "COALESCE(a, …)", "NULLIF": "NULLIF(a, b)",
    "GREATEST": "GREATEST(a, …)", "LEAST": "LEAST(a, …)",
    "LIKE_ESCAPE": "a LIKE b ESCAPE c", "ILIKE_ESCAPE": "a ILIKE b ESCAPE c",
    "OVERLAPS": "(a, b) OVERLAPS (c, d)",
    "SIMILAR": "a SIMILAR TO b", "SIMILAR_ESCAPE": "a SIMILAR TO b ESCAPE c",
    "IS_JSON_VALUE": "a IS JSON", "IS_JSON_OBJECT": "a IS JSON OBJECT", "IS_JSON_ARRAY": "a IS JSON ARRAY",
    "IS_JSON_SCALAR": "a IS JSON SCALAR",
    "ARRAY": "ARRAY[a, …]", "SUBSCRIPT": "a[b]", "SLICE": "a[b:c]", "ROW": "ROW(a, …)", "FIELD": "(a).b",
    "NOT_LIKE_ESCAPE": "a NOT LIKE b ESCAPE c", "NOT_ILIKE_ESCAPE": "a NOT ILIKE b ESCAPE c",
}  # fmt: skip
INTERNAL = {  # what casts, storing, aggregates and unnest do
    "CHECK_CHARACTER", "CHECK_LENGTH", "TEXT_AT", "PARSE_AT", "NEXT_NUMBER", "JSONB_OBJECT_OF_PAIRS",
    "JSONB_BUILD_ARRAY_OF", "JSONB_BUILD_OBJECT_OF",
    "RANGES_OF", "MULTIRANGE_OF", "RANGE_AGG", "RANGE_INTERSECT_AGG",
}  # fmt: skip

HEAD = """\
# Functions and operators

Written by `docs/generate_functions.py` from `risingpy/functions/signatures.py`: change that, not this page.

Names, types, NULL handling and rounding are PostgreSQL's; its [manual](https://www.postgresql.org/docs/15/functions.html)
describes them. In the tables, `text` is varchar of any length, and `numeric` has any precision and scale. All arguments
marked `any` have one common type, `every` is any type, and `anyarray` is an array of `anyelement`. `…` means one or more
of the last argument. An argument is cast where PostgreSQL would cast it implicitly. [Differences](differences.md) lists
where the rules differ from PostgreSQL's.
"""

BY_SYNTAX = """\
## With a syntax of their own

Besides the forms below: `CASE`, `CAST(a AS type)` and `a::type`, `a BETWEEN [SYMMETRIC] b AND c`,
`TRY_CAST(a AS type)` (NULL where the cast fails), `a = ANY (b)`, `a < ALL (b)` of an array,
`substring(a FROM b FOR c)`, `substring(a SIMILAR b ESCAPE c)`, `overlay(a PLACING b FROM c FOR d)`,
`normalize(a, NFC)`, `a IS [NFC] NORMALIZED`, `trim([BOTH | LEADING | TRAILING] [b] FROM a)`, `position(a IN b)`,
`a AT TIME ZONE b`,
`(a, b) = (c, d)`, and `current_date`, `current_timestamp[(n)]`, `localtimestamp[(n)]`, `transaction_timestamp()`,
`statement_timestamp()` (all of them `now()`, when the transaction began), `date_part('field', a)` (EXTRACT as double precision), `pg_typeof(a)`,
`enum_first(a)`, `enum_last(a)`, `enum_range(a)`, `enum_range(a, b)` ([enums](types.md)),
`version()`, `current_user`, `session_user`, `current_database()`, `current_schema`.
"""

AGGREGATES = """\
## Aggregates

They accept DISTINCT, ORDER BY and `FILTER (WHERE …)`, in a SELECT and in a materialized view: see
[aggregates](aggregates.md).
"""

TABLE_FUNCTIONS_HEAD = """\
## Functions that give rows

They stand in FROM, with `WITH ORDINALITY` and an alias for their columns; their arguments may read the relations before
them. Or they stand in the select list: several of them are advanced together, and one that has ended gives NULL.
`unnest` takes arrays of any depth, and in FROM several of them. `ROWS FROM (f(a), g(b)) AS r(x, y)` advances several functions
together. `jsonb_each` and `jsonb_each_text` give the columns key and value.
`jsonb_to_record(a) AS r(b int, c text)` and
`jsonb_to_recordset` take a column definition list. `jsonb_populate_record(NULL::struct<b int, c text>, a)` and
`jsonb_populate_recordset` take a row: its type gives the result's columns, and its values replace missing ones.
Of `NULL::record`, and of `ROW(…)` if they are to have names, a column definition list says what the columns are.
`jsonb_populate_map(m, a)` is RisingWave's: the members of the object over the entries of a map.
Any other function in FROM gives one row. The list shows the array whose elements become the rows.
"""

WINDOW_FUNCTIONS_HEAD = """\
## Window functions

They need an OVER clause; every aggregate but mode, percentile_cont and percentile_disc may have one too.
"""


def page() -> str:
    """The whole page."""
    scalar = [HEAD, *_operators(), BY_SYNTAX, *_forms(), *_extract(), *_functions()]
    sets = [TABLE_FUNCTIONS_HEAD, *_table_functions()]
    return "\n".join([*scalar, AGGREGATES, *_aggregates(), *sets, WINDOW_FUNCTIONS_HEAD, *_window_functions()])


def _operators() -> Iterator[str]:
    by_name = _by_name(SCALAR_SIGNATURES)
    yield "## Operators\n"
    for subject, symbols in SYMBOLS_BY_SUBJECT.items():
        rows = [(f"{_code(s)}{_meaning(s)}", _overloads(by_name[s])) for s in symbols.split()]
        yield from _table(subject, ("operator", "takes → gives"), rows)


def _forms() -> Iterator[str]:
    forms = [s for s in SCALAR_SIGNATURES if _is_form(s) and s.name not in INTERNAL]
    rows = [(f"`{SYNTAX[s.name]}`", _overloads([s])) for s in forms]
    yield from _table("", ("form", "takes → gives"), rows)


def _extract() -> Iterator[str]:
    rows = [(kind.value, " ".join(f"`{field}`" for field in fields)) for kind, fields in EXTRACT_FIELDS.items()]
    yield "## EXTRACT(field FROM a)\n"
    yield from _table("", ("type of a", "fields"), rows)
    yield "Units have PostgreSQL's short names too (`s`, `qtr`, `decs`, `cent`, …), the same ones here, in `date_part`, in"
    yield "`date_trunc` and in the texts of intervals.\n"


def _functions() -> Iterator[str]:
    symbols = " ".join(SYMBOLS_BY_SUBJECT.values()).split()
    functions = [s for s in SCALAR_SIGNATURES if s.name not in symbols and not s.name[0].isupper()]
    rows = [(f"`{name}`", _overloads(found)) for name, found in sorted(_by_name(functions).items())]
    yield "## Functions\n"
    yield from _table("", ("function", "takes → gives"), rows)


def _aggregates() -> Iterator[str]:
    rows = [(f"`{name}`", _overloads(found)) for name, found in _by_name(AGGREGATE_SIGNATURES).items()]
    yield from _table("", ("aggregate", "takes → gives"), rows)


def _table_functions() -> Iterator[str]:
    rows = [(f"`{name}`", _overloads(found)) for name, found in sorted(TABLE_FUNCTIONS.items())]
    yield from _table("", ("function", "takes → gives elements of"), rows)


def _window_functions() -> Iterator[str]:
    rows = [(f"`{name}`", _overloads(found)) for name, found in WINDOW_FUNCTIONS.items()]
    yield from _table("", ("function", "takes → gives"), rows)


def _is_form(signature: Signature) -> bool:
    return signature.name[0].isupper() and not signature.name.startswith("EXTRACT_")


def _by_name(signatures: Sequence[Signature]) -> dict[str, list[Signature]]:
    names: dict[str, list[Signature]] = {}
    for signature in signatures:
        names.setdefault(signature.name, []).append(signature)
    return names


def _overloads(signatures: Sequence[Signature]) -> str:
    """`integer, integer → integer; …`; where many overloads differ in one type only, `T, T → T for T in …`."""
    texts: list[str] = []
    for result in ("T", "boolean"):
        for arity in (1, 2):
            alike = [s for s in signatures if _pattern(s) == (arity, result)]
            if len(alike) > 2:
                signatures = [s for s in signatures if s not in alike]
                types = "every type" if len(alike) > 26 else ", ".join(_type(s.args[0]) for s in alike)
                texts.append(f"{', '.join('T' * arity)} → {result} for T in {types}".replace("in every", "of every"))
    return "; ".join([*texts, *(f"{_arguments(s)} → {_type(s.result)}" for s in signatures)])


def _pattern(signature: Signature) -> tuple[int, str] | None:
    """(number of arguments, result) of an overload whose arguments are of one type."""
    if len(set(signature.args)) != 1 or signature.variadic:
        return None
    result = _type(signature.result)
    return len(signature.args), "T" if signature.result == signature.args[0] and result != "boolean" else result


def _arguments(signature: Signature) -> str:
    return (", ".join(_type(each) for each in signature.args) or "()") + ("…" if signature.variadic else "")


def _type(each: ArgType) -> str:
    if isinstance(each, Polymorphic):
        return each.value
    short = {"character varying": "text", "time without time zone": "time", "timestamp without time zone": "timestamp"}
    assert isinstance(each, SqlType)
    return {**short, "timestamp with time zone": "timestamptz"}.get(str(each), str(each))


def _meaning(symbol: str) -> str:
    return f" {MEANINGS[symbol]}" if symbol in MEANINGS else ""


def _code(symbol: str) -> str:
    # A bar ends a table's cell, in code too.
    return "`" + symbol.replace("|", "\\|") + "`"


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if title:
        yield f"### {title}\n"
    yield f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
