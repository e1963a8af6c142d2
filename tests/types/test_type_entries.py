"""The rows of pg_type: unique, and PostgreSQL's but for the types that only RisingPy has."""

from __future__ import annotations

from collections import Counter

import psycopg

from risingpy.types.type_entries import TYPES


def test_no_name_and_no_oid_stands_for_two_types() -> None:
    for found in (Counter(entry.oid for entry in TYPES), Counter(entry.name for entry in TYPES)):
        assert [value for value, times in found.items() if times > 1] == []


def test_every_pseudo_type_is_postgresqls(postgres: psycopg.Connection) -> None:
    query = (
        "SELECT oid::int, typname::text, format_type(oid, NULL), typlen::int, typcategory::text, typarray::int, "
        "typelem::int FROM pg_type WHERE typtype = 'p' ORDER BY oid"
    )
    ours = sorted(
        (entry.oid, entry.name, entry.display, entry.length, entry.category, entry.array_oid, entry.element_oid)
        for entry in TYPES
        if entry.kind == "p"
    )
    assert ours == postgres.execute(query).fetchall()
