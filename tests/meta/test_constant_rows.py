"""A view over VALUES has each row where it was written, whether its values are literals or computed."""

from __future__ import annotations

import pytest

from tests.meta.conftest import Server

MIXED = {
    "int": ["1", "2 + 3", "NULL", "-4", "abs(-5)"],
    "numeric": ["1.50", "1.5 + 2", "NULL", "'NaN'::numeric", "100000000000000000000.1"],
    "double precision": ["1.5", "sqrt(2.0::double precision)", "'NaN'", "'Infinity'", "NULL"],
    "varchar": ["'a'", "upper('b')", "NULL", "''", "'c' || 'd'"],
    "bytea": [r"'\x0102'", "NULL", r"decode('ff', 'hex')", r"'\x'", r"'\x03'"],
    "timestamptz": ["'2024-01-02 03:04:05Z'", "NULL", "to_timestamp(0)", "'1970-01-01Z'", "'2000-01-01Z'"],
    "interval": ["'1 day'", "'1 month'::interval * 2", "NULL", "'00:00:01'", "'1 year'"],
    "date": ["'2024-01-02'", "'2024-01-02'::date + 1", "NULL", "'1970-01-01'", "'2000-01-01'"],
    "jsonb": ["""'{"a": 1}'""", "jsonb_build_array(1)", "NULL", "'null'", "'1'"],
    "int[]": ["'{1,2}'", "ARRAY[1, 1 + 1]", "NULL", "'{}'", "'{NULL}'"],
    "uuid": [
        "'00000000-0000-0000-0000-000000000001'",
        "NULL",
        "'ffffffff-0000-0000-0000-000000000001'",
        "NULL",
        "NULL",
    ],
}


@pytest.mark.parametrize("type_name", MIXED)
def test_literals_and_computed_values_keep_their_rows(server: Server, type_name: str) -> None:
    client = server.client()
    rows = ", ".join(f"({n}, ({value})::{type_name})" for n, value in enumerate(MIXED[type_name]))
    client.run(f"CREATE MATERIALIZED VIEW v AS SELECT * FROM (VALUES {rows}) AS t(n, v)")
    seen = client.run("SELECT n, v::varchar FROM v ORDER BY n")
    assert seen == client.run(f"SELECT n, v::varchar FROM (VALUES {rows}) AS t(n, v) ORDER BY n")
    alone = [client.run(f"SELECT ({value})::{type_name}::varchar")[0][0] for value in MIXED[type_name]]
    assert [value for _, value in seen] == alone


def test_thousands_of_constant_rows_are_one_array(server: Server) -> None:
    client = server.client()
    rows = ", ".join(f"({n}, {n} + 1, 'x{n}')" for n in range(3000))
    client.run(f"CREATE MATERIALIZED VIEW v AS SELECT * FROM (VALUES {rows}) AS t(a, b, c)")
    assert client.run("SELECT count(*), sum(b - a), max(c) FROM v") == [(3000, 3000, "x999")]
    assert server.database.reads.state.set_aside == {}
