"""EXPLAIN of a statement, and EXPLAIN ANALYZE of a running job."""

from __future__ import annotations

from collections.abc import Callable

from risingpy.frontend.parser.ast import Explain, ExplainAnalyze, ExplainKind, Statement
from risingpy.frontend.parser.cursor import Cursor
from risingpy.optimizer.explain.tree import ExplainFormat

QUERIES = ("SELECT", "VALUES", "WITH", "TABLE", "(")
LONGEST_SECONDS = 3600.0

_OPTIONS = ("VERBOSE", "ANALYZE", "TRACE", "LOGICAL", "PHYSICAL", "DISTSQL", "TYPE", "FORMAT", "DURATION_SECS")
# PostgreSQL's, whose figures no plan here has; off or on, they change nothing.
_WITHOUT_EFFECT = ("COSTS", "BUFFERS", "SETTINGS", "WAL", "TIMING", "SUMMARY")
_JOBS = (("MATERIALIZED", "VIEW"), ("TABLE",), ("INDEX",))


def parse_explain(cursor: Cursor, parse_statement: Callable[[Cursor], Statement]) -> Explain | ExplainAnalyze:
    """The statement at the cursor; `parse_statement` reads what is explained."""
    cursor.expect("EXPLAIN")
    options = _parse_options(cursor)
    if _is_on(options.get("ANALYZE")):
        for words in _JOBS:
            if cursor.accept(*words):
                return _parse_job(cursor, " ".join(words).lower(), options)
    if "DURATION_SECS" in options:
        cursor.unsupported("DURATION_SECS of this statement")
    kinds = [kind for kind in ExplainKind if _is_on(options.get(kind.name))]
    kind = ExplainKind(options["TYPE"].lower()) if "TYPE" in options else (kinds or [ExplainKind.PHYSICAL])[0]
    trace = _is_on(options.get("TRACE"))
    if trace and options.get("FORMAT", "TEXT") != "TEXT":
        cursor.unsupported(f"EXPLAIN (TRACE, FORMAT {options['FORMAT']})")
    return Explain(
        parse_statement(cursor),
        verbose=_is_on(options.get("VERBOSE")),
        analyze=_is_on(options.get("ANALYZE")),
        kind=kind,
        format=ExplainFormat(options.get("FORMAT", "TEXT").lower()),
        trace=trace,
    )


def _parse_options(cursor: Cursor) -> dict[str, str]:
    """`(ANALYZE, FORMAT JSON)`, or `ANALYZE VERBOSE`, or RisingWave's `ANALYZE (DURATION_SECS 5)`."""
    options: dict[str, str] = {}
    for word in ("ANALYZE", "VERBOSE"):
        if cursor.accept(word):
            options[word] = "TRUE"
    if cursor.word == "(" and not _is_query_in_parentheses(cursor):
        options |= dict(cursor.in_parentheses(lambda: _parse_option(cursor)))
    return options


def _parse_job(cursor: Cursor, words: str, options: dict[str, str]) -> ExplainAnalyze:
    if options.get("FORMAT", "TEXT") != "TEXT":
        cursor.unsupported(f"FORMAT {options['FORMAT']} of EXPLAIN ANALYZE {words.upper()}")
    seconds = float(options["DURATION_SECS"]) if "DURATION_SECS" in options else None
    return ExplainAnalyze(words, cursor.object_name(), seconds)


def _is_query_in_parentheses(cursor: Cursor) -> bool:
    tokens = cursor.peek(2)
    return len(tokens) == 2 and tokens[1] in QUERIES


def _parse_option(cursor: Cursor) -> tuple[str, str]:
    if cursor.word not in _OPTIONS + _WITHOUT_EFFECT:
        cursor.fail_with(f'unrecognized EXPLAIN option "{cursor.word.lower()}"', cursor.position)
    name = cursor.any_word().upper()
    position = cursor.position
    value = "TRUE" if cursor.word in (",", ")") else cursor.value().upper()
    if name == "FORMAT" and value.lower() not in [each.value for each in ExplainFormat]:
        cursor.unsupported(f"EXPLAIN (FORMAT {value})")
    if name == "TYPE" and value.lower() not in [kind.value for kind in ExplainKind]:
        cursor.fail()
    if name == "DURATION_SECS" and not _is_duration(value):
        cursor.fail_with(f"DURATION_SECS must be a number of seconds between 0 and {LONGEST_SECONDS:g}", position)
    return name, value


def _is_duration(value: str) -> bool:
    try:
        return 0 < float(value) <= LONGEST_SECONDS
    except ValueError:
        return False


def _is_on(value: str | None) -> bool:
    return value in ("TRUE", "ON", "1")
