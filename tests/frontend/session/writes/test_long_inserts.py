"""INSERTs of very many constant rows in one text: the rows and errors are those of the parser's way."""

from __future__ import annotations

import random

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import Result
from risingpy.frontend.session.long_inserts import LongInserts
from risingpy.frontend.wire import WireServer
from tests.frontend.session.conftest import Client
from tests.frontend.session.writes.short_writes import all_rows, connect

_COLUMNS = {
    "i": ("int", ["1", "-7", "NULL", "'12'", "2147483647", "'-3'"]),
    "s": ("smallint", ["1", "NULL", "' 5 '"]),
    "l": ("bigint", ["9000000000", "-1", "'5'", "NULL"]),
    "n": ("numeric(8, 2)", ["1", "-1.5", "2.345", "'3.999'", "NULL"]),
    "w": ("numeric", ["1.50", "-12345678901234567890.5", "'7'"]),
    "d": ("double precision", ["1", "1.25", "-0.1", "'Infinity'", "'1e5'", "NULL"]),
    "r": ("real", ["1.1", "3", "'2.5'"]),
    "t": ("varchar", ["'x'", "''", "'it''s'", "'a, (b)'", "NULL", "'Grüße'", "'\\n'", "'a'::text"]),
    "v": ("varchar(5)", ["'short'", "''", "'four '", "'blank      '", "NULL"]),
    "c": ("char(3)", ["'ab'", "'abc'", "'a    '", "NULL"]),
    "b": ("boolean", ["TRUE", "false", "NULL", "'t'", "'off'"]),
    "da": ("date", ["'2026-11-28'", "'2026-11-28'::date", "NULL"]),
    "ts": ("timestamp", ["'2026-11-28 01:02:03'", "'2026-11-28T01:02:03.5'::timestamp", "NULL"]),
    "tz": ("timestamptz", ["'2026-11-28 01:02:03+01'", "'2026-11-28 01:02:03'::timestamptz", "NULL"]),
    "u": ("uuid", ["'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", "'a0eebc999c0b4ef8bb6d6bb9bd380a11'::uuid", "NULL"]),
    "y": ("bytea", ["'\\x00ff'", "'\\x'::bytea", "NULL"]),
    "j": ("jsonb", ["'{\"a\": [1, 2]}'", "NULL"]),
    "a": ("int[]", ["'{1,2}'", "'{}'", "NULL"]),
    "e": ("mood", ["'sad'", "'glad'", "NULL"]),
}
# Each of them means something else than the text of a constant, or is an error.
_UNUSUAL = {
    "i": ["1.5", "1 + 1", "DEFAULT", "99999999999", "'x'", "- 5", "1e2", "'5'::text", "(1)", "TRUE", "'a' 'b'"],
    "n": ["'x'", "1e3", "12345678", "TRUE"],
    "t": ["5", "E'\\n'", "'a' || 'b'", "1.5", "TRUE", "'x'::date", "lower('A')", "$$a$$", "U&'a'"],
    "v": ["'longer than'", "'longer'::text"],
    "da": ["'2026-02-30'", "'x'", "'2026-11-28'::timestamp", "5"],
    "b": ["1", "'maybe'", "NULL::boolean"],
    "e": ["'angry'"],
}


def _text(table: str, names: list[str], rows: list[list[str]]) -> str:
    shown = ",\n ".join(f"({', '.join(row)})" for row in rows)
    return f"INSERT INTO {table} ({', '.join(names)}) VALUES {shown}"


def _outcome(client: Client, text: str, *, by_parser: bool) -> object:
    try:
        if by_parser:
            client.run(text)
            return client.tag
        result = client.session.insert_rows(text)
        client.session.sync()
        return None if result is None else result.tag.text(0)
    except SqlError as error:
        client.session.fail()
        return error.sqlstate, error.message, error.position


@pytest.fixture
def tables(client: Client) -> Client:
    client.run("CREATE TYPE mood AS ENUM ('sad', 'glad')")
    for name in ("short", "long"):
        client.run(f"CREATE TABLE {name} ({', '.join(f'{c} {type_}' for c, (type_, _) in _COLUMNS.items())})")
    client.run("SET TIME ZONE 'Europe/Berlin'")
    return client


@pytest.mark.parametrize("seed", range(4))
def test_rows_are_those_of_the_parser(tables: Client, seed: int) -> None:
    chance = random.Random(seed)
    taken = 0
    for _ in range(12):
        names = chance.sample(list(_COLUMNS), chance.randint(1, 6))
        rows = [[chance.choice(_COLUMNS[name][1]) for name in names] for _ in range(400)]
        outcomes = [
            _outcome(tables, _text("long", names, rows), by_parser=False),
            _outcome(tables, _text("short", names, rows), by_parser=True),
        ]
        if outcomes[0] is None:
            tables.run(_text("long", names, rows))
        else:
            assert outcomes[0] == outcomes[1]
            taken += 1
    assert taken > 6
    assert all_rows(tables, "long") == all_rows(tables, "short")


@pytest.mark.parametrize(("name", "cell"), [(name, cell) for name, cells in _UNUSUAL.items() for cell in cells])
def test_what_is_unusual_is_left_to_the_parser(tables: Client, name: str, cell: str) -> None:
    rows = [[chance] for chance in _COLUMNS[name][1] * 300]
    rows.insert(277, [cell])
    assert _outcome(tables, _text("long", [name], rows), by_parser=False) is None
    assert all_rows(tables, "long") == []


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO long (i) VALUES {} RETURNING i",
        "INSERT INTO long (i) VALUES {} ON CONFLICT DO NOTHING",
        "INSERT INTO long (i) VALUES {}; SELECT 1",
        "INSERT INTO long (i) VALUES {}, (1, 2)",
        "INSERT INTO long (i) VALUES {},",
        "INSERT INTO long (i, s) VALUES {}",
        "INSERT INTO nothing VALUES {}",
        "INSERT INTO long (i) SELECT * FROM (VALUES {}) AS v",
        "INSERT INTO long (i) /* VALUES (1) */ VALUES {}",
        "EXPLAIN INSERT INTO long (i) VALUES {}",
        "INSERT INTO long (i) VALUES {} -- the end",
    ],
)
def test_other_statements(tables: Client, text: str) -> None:
    rows = ", ".join("(1)" for _ in range(900))
    assert tables.session.insert_rows(text.format(rows)) is None


def test_texts_of_clients(client: Client, server: WireServer, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[Result | None] = []
    run = LongInserts.run

    def noting(self: LongInserts, text: str) -> Result | None:
        taken.append(run(self, text))
        return taken[-1]

    monkeypatch.setattr(LongInserts, "run", noting)
    client.run("CREATE TABLE t (id int PRIMARY KEY, v varchar(9) UNIQUE, n int CHECK (n < 5))")
    rows = [f"({number}, 'v{number}', {number % 5})" for number in range(500)]
    with connect(server) as connection:
        assert connection.execute(f"INSERT INTO t VALUES {','.join(rows)}").statusmessage == "INSERT 0 500"
        assert taken and taken[-1] is not None
        again = [row.replace("(", "(1") for row in rows]
        with pytest.raises(psycopg.errors.UniqueViolation, match="t_v_key"):
            connection.execute(f"INSERT INTO t VALUES {','.join(again)}")
        with pytest.raises(psycopg.errors.CheckViolation):
            connection.execute(
                f"INSERT INTO t VALUES {','.join([*(f'({n}, NULL, 1)' for n in range(900, 1500)), '(1500, NULL, 5)'])}"
            )
        with connection.transaction():
            connection.execute(f"INSERT INTO t VALUES {','.join(f'({n}, NULL, 1)' for n in range(600, 900))}")
            assert connection.execute("SELECT count(*) FROM t").fetchone() == (800,)
    assert len(all_rows(client, "t")) == 800
