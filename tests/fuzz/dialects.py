"""Queries in two dialects: where PostgreSQL has no word for an operator, a query has both texts, ⟦ours¦PostgreSQL's⟧.

Either text may hold such pairs itself.
"""

from __future__ import annotations

import re

_PAIR = re.compile("⟦([^⟦¦⟧]*)¦([^⟦¦⟧]*)⟧")  # one with none inside


def pair(ours: str, postgres: str) -> str:
    """A text that is `ours` here and `postgres` there."""
    return f"⟦{ours}¦{postgres}⟧"


def for_us(sql: str) -> str:
    """The query as this database takes it."""
    return _chosen(sql, r"\1")


def for_postgres(sql: str) -> str:
    """The query as PostgreSQL takes it."""
    return _chosen(sql, r"\2")


def _chosen(sql: str, which: str) -> str:
    while (chosen := _PAIR.sub(which, sql)) != sql:
        sql = chosen
    return sql
