"""Which statements are the system's."""

from __future__ import annotations

import pytest

from risingpy.frontend.catalog.recognize import OtherText, SystemText, divide


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM pg_catalog.pg_class",
        "select count(*) from PG_CLASS",
        "SELECT a, b FROM t, pg_type",
        "SELECT name FROM rw_tables",
        "SELECT 1 FROM information_schema.tables",
        "SELECT 'public.t'::regclass",
        "SELECT pg_backend_pid()",
        "WITH x AS (SELECT oid FROM pg_class) SELECT * FROM x",
    ],
)
def test_system_queries(sql: str) -> None:
    assert divide(sql) == [SystemText(sql, 0)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1",
        "SELECT pg_class FROM t",
        "SELECT 'FROM pg_class' FROM t",
        "CREATE TABLE pg_things (a int)",
        "INSERT INTO t SELECT 1 -- FROM pg_class",
        "SELECT version(), current_user, current_schema()",
        "SELECT 'unterminated FROM pg_class",
    ],
)
def test_other_statements(sql: str) -> None:
    assert divide(sql) == [OtherText(sql, 0)]


def test_several_statements_keep_their_places() -> None:
    sql = "SELECT pg_advisory_unlock_all(); CLOSE ALL; UNLISTEN *;\nRESET ALL;"
    assert [type(piece) for piece in divide(sql)] == [SystemText, OtherText, OtherText, OtherText]
    assert all(sql[piece.offset :].startswith(piece.text) for piece in divide(sql))
