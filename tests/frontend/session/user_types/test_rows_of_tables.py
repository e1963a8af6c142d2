"""The name of a relation as the type of its rows: in casts and functions, not for what is stored, and in exports."""

from __future__ import annotations

import pytest

from risingpy.errors import SqlError
from tests.frontend.session.conftest import Client


def test_a_function_keeps_the_rows_that_it_was_made_for(client: Client) -> None:
    client.run("CREATE TABLE kv (k int, v text)")
    client.run("INSERT INTO kv VALUES (1, 'a')")
    client.run("CREATE FUNCTION f(r kv, more kv[]) RETURNS text LANGUAGE sql AS 'SELECT r.v || cardinality($2)'")
    client.run("CREATE FUNCTION g(n int) RETURNS SETOF public.kv LANGUAGE sql AS 'SELECT n, ''z'''")
    [(definition,)] = client.run("SELECT pg_get_functiondef(oid) FROM pg_proc WHERE proname = 'f'")
    assert "kv" not in str(definition)
    client.run("ALTER TABLE kv ADD COLUMN w int")
    assert client.run("SELECT f((1, 'x'), '{}')") == [("x0",)]
    assert client.run("SELECT * FROM g(7)") == [(7, "z")]
    with pytest.raises(SqlError) as refused:
        client.run("SELECT f(kv, '{}') FROM kv")
    assert refused.value.sqlstate == "42883"
    client.run("DROP TABLE kv")
    assert client.run("SELECT f((1, 'x'), NULL)") == [(None,)]
    assert client.run("SELECT count(*) FROM pg_proc WHERE proname IN ('f', 'g') AND prorettype <> 0") == [(2,)]


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (r kv)",
        "CREATE TABLE t (r kv[])",
        "PREPARE p(kv) AS SELECT $1",
        "ALTER TABLE kv ADD COLUMN r kv",
        "CREATE TABLE t (v text DEFAULT ((1, 'a')::kv).v)",
        "CREATE MATERIALIZED VIEW m AS SELECT jsonb_populate_record(NULL::kv, '{}') AS r FROM kv",
        "CREATE VIEW m AS SELECT (kv::kv).v FROM kv",
    ],
)
def test_what_is_stored_has_no_such_type(client: Client, statement: str) -> None:
    client.run("CREATE TABLE kv (k int, v text)")
    with pytest.raises(SqlError) as refused:
        client.run(statement)
    assert refused.value.sqlstate in ("0A000", "42704")
