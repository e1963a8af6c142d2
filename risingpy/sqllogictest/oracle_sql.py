"""Translates a statement of ours for PostgreSQL.

    CREATE MATERIALIZED VIEW v AS …   =>  CREATE VIEW v AS …          (always fresh, as ours are)
    CREATE TABLE t (…) APPEND ONLY    =>  CREATE TABLE t (…)
    FLUSH                             =>  nothing

Statements that PostgreSQL does not have (SHOW TABLES, DESCRIBE, CREATE SINK, our settings) are not sent to it.
"""

from __future__ import annotations

import re
from itertools import pairwise

from risingpy.sqllogictest.execution import Untranslatable
from risingpy.sqllogictest.sql_text import first_words, tokens

_CREATE_VIEW = re.compile(r"\s*CREATE\s+MATERIALIZED\s+VIEW\b(\s+IF\s+NOT\s+EXISTS\b)?", re.IGNORECASE)
_OTHER_VIEW = re.compile(r"\s*(DROP|ALTER)\s+MATERIALIZED\s+VIEW\b", re.IGNORECASE)
_OUR_SETTINGS = frozenset({"VISIBILITY_MODE", "QUERY_MODE"})


def to_postgresql(sql: str) -> str | None:
    """The statement for PostgreSQL; None if nothing is to be done there. Raises Untranslatable."""
    words = first_words(sql, 3)
    match words:
        case ["FLUSH", *_]:
            return None
        case ["DESCRIBE" | "DESC" | "EXPLAIN", *_]:
            raise Untranslatable(f"PostgreSQL answers {words[0]} in its own way")
        case ["CREATE" | "DROP" | "ALTER" | "WAIT", "SOURCE" | "SINK" | "SUBSCRIPTION", *_]:
            raise Untranslatable(f"PostgreSQL has no {words[1].lower()}s")
        case ["SET", setting, *_] if setting in _OUR_SETTINGS:
            raise Untranslatable(f"PostgreSQL has no setting {setting.lower()}")
        case ["SHOW", what, *_] if what in _OUR_SETTINGS or what in _SHOWN:
            raise Untranslatable(f"PostgreSQL has no SHOW {what}")
    if made := _CREATE_VIEW.match(sql):
        return ("CREATE OR REPLACE VIEW" if made.group(1) else "CREATE VIEW") + sql[made.end() :]
    if other := _OTHER_VIEW.match(sql):
        return f"{other.group(1)} VIEW{sql[other.end() :]}"
    return _without_append_only(sql) if words[:2] == ["CREATE", "TABLE"] else sql


_SHOWN = frozenset(
    {
        "TABLES",
        "MATERIALIZED",
        "VIEWS",
        "SOURCES",
        "SINKS",
        "SUBSCRIPTIONS",
        "COLUMNS",
        "CREATE",
        "PARAMETERS",
        "SCHEMAS",
        "JOBS",
    }
)


def _without_append_only(sql: str) -> str:
    found = list(tokens(sql))
    for first, second in pairwise(found):
        if (first.depth, first.text, second.text) == (0, "APPEND", "ONLY"):
            return sql[: first.start] + sql[second.start + len("ONLY") :]
    return sql
