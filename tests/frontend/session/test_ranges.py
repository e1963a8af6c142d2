"""Ranges and multiranges of a program, epochs on Spark: psycopg's classes, COPY, views, a kill, and Arrow."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg.types.multirange import (
    DateMultirange,
    Int4Multirange,
    Int8Multirange,
    Multirange,
    MultirangeInfo,
    NumericMultirange,
    TimestampMultirange,
    TimestamptzMultirange,
)
from psycopg.types.range import (
    DateRange,
    Int4Range,
    Int8Range,
    NumericRange,
    Range,
    RangeInfo,
    TimestampRange,
    TimestamptzRange,
)

import risingpy
from risingpy.errors import SqlError
from risingpy.server_process import HOST, ServerProcess
from tests.postgres_oracle import PostgresOracle
from tests.postgres_oracle import postgres_oracle as postgres_oracle

_COLUMNS = "i int4range, b int8range, n numrange, d daterange, s tsrange, z tstzrange"
_ROW = (
    Int4Range(1, 10),
    Int8Range(-(2**40), None),
    NumericRange(Decimal("1.5"), Decimal(3), "(]"),
    DateRange(date(2024, 2, 28), date(2024, 3, 1)),
    TimestampRange(datetime(2024, 2, 28, 10), datetime(2024, 2, 29), "[]"),
    TimestamptzRange(None, datetime(2024, 2, 28, 10, tzinfo=UTC), "()"),
)
_MULTIRANGES = "i int4multirange, b int8multirange, n nummultirange, d datemultirange, s tsmultirange, z tstzmultirange"
_SETS = (
    Int4Multirange([Range(1, 3), Range(7, 9)]),
    Int8Multirange([_ROW[1]]),
    NumericMultirange([Range(Decimal(-1), Decimal(1)), _ROW[2]]),
    DateMultirange([_ROW[3]]),
    TimestampMultirange([_ROW[4], Range(datetime(2025, 1, 1), None)]),
    TimestamptzMultirange([_ROW[5]]),
)
_VIEWS = {
    "by_range": "SELECT r, count(*) AS n, sum(upper(r)) AS total FROM t GROUP BY r",
    "overlaps": "SELECT a.k AS one, b.k AS other, a.r * b.r AS common FROM t a JOIN t b ON a.r && b.r AND a.k < b.k",
    "equal": "SELECT a.k AS one, b.k AS other FROM t a JOIN t b ON a.r = b.r AND a.k <> b.k",
    "together": "SELECT k % 3 AS g, range_agg(r) AS ever, range_intersect_agg(r) AS always FROM t GROUP BY k % 3",
    "sets": (
        "SELECT a.ever + b.ever AS one, a.ever - b.ever AS other, a.ever * b.ever AS common"
        " FROM (SELECT k % 3 AS g, range_agg(r) AS ever FROM t GROUP BY k % 3) a"
        " JOIN (SELECT k % 4 AS g, range_agg(r) FILTER (WHERE NOT isempty(r)) AS ever FROM t GROUP BY k % 4) b"
        " ON a.ever && b.ever AND a.g <> b.g"
    ),
    "last": "SELECT k, r FROM t ORDER BY r DESC NULLS LAST, k LIMIT 5",
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ranges") / "data"


@pytest.fixture(scope="module")
def server(data: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(data, engine="spark", parallelism=2)
    yield process
    process.stop()


def _client(server: ServerProcess) -> psycopg.Connection[Any]:
    return psycopg.connect(host=HOST, port=server.port, user="root", dbname="dev", autocommit=True)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_ranges_of_a_program(server: ServerProcess, binary: bool) -> None:
    empty, nothing = tuple(type(each)(empty=True) for each in _ROW), (None,) * len(_ROW)
    with _client(server) as client:
        client.execute("DROP TABLE IF EXISTS p")
        client.execute(f"CREATE TABLE p (k int PRIMARY KEY, {_COLUMNS})")
        cursor = client.cursor(binary=binary)
        marks = ", ".join(["%b" if binary else "%t"] * (1 + len(_ROW)))
        for key, row in enumerate((_ROW, empty, nothing)):
            cursor.execute(f"INSERT INTO p VALUES ({marks})".encode(), (key, *row))
        with cursor.copy("COPY p FROM STDIN WITH (FORMAT binary)") as copy:
            copy.set_types(["int4", *(column.split()[1] for column in _COLUMNS.split(", "))])
            copy.write_row((3, *_ROW))
        found = [row[1:] for row in cursor.execute("SELECT * FROM p ORDER BY k").fetchall()]
        assert found == [_ROW, empty, nothing, _ROW]
        assert cursor.execute("SELECT k FROM p WHERE i = %s ORDER BY k", (_ROW[0],)).fetchall() == [(0,), (3,)]
        assert cursor.execute("SELECT ARRAY[i, NULL], i * '[5,)' FROM p WHERE k = 0").fetchone() == (
            [_ROW[0], None],
            Int4Range(5, 10),
        )
        assert cursor.execute("SELECT %s::int4range[]", ([Range(1, 2), Range(3, 3, "[]")],)).fetchone() == (
            [Int4Range(1, 2), Int4Range(3, 4)],
        )
        info = RangeInfo.fetch(client, "tsrange")
        assert info is not None and (info.oid, info.subtype_oid) == (3908, 1114)


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_multiranges_of_a_program(server: ServerProcess, binary: bool) -> None:
    empty, nothing = tuple(type(each)() for each in _SETS), (None,) * len(_SETS)
    with _client(server) as client:
        client.execute("DROP TABLE IF EXISTS m")
        client.execute(f"CREATE TABLE m (k int PRIMARY KEY, {_MULTIRANGES})")
        cursor = client.cursor(binary=binary)
        marks = ", ".join(["%b" if binary else "%t"] * (1 + len(_SETS)))
        for key, row in enumerate((_SETS, empty, nothing)):
            cursor.execute(f"INSERT INTO m VALUES ({marks})".encode(), (key, *row))
        with cursor.copy("COPY m FROM STDIN WITH (FORMAT binary)") as copy:
            copy.set_types(["int4", *(column.split()[1] for column in _MULTIRANGES.split(", "))])
            copy.write_row((3, *_SETS))
        found = [row[1:] for row in cursor.execute("SELECT * FROM m ORDER BY k").fetchall()]
        assert found == [_SETS, empty, nothing, _SETS]
        assert cursor.execute("SELECT k FROM m WHERE i = %s ORDER BY k", (_SETS[0],)).fetchall() == [(0,), (3,)]
        assert cursor.execute("SELECT ARRAY[i, NULL], i * '{[2,8)}' FROM m WHERE k = 0").fetchone() == (
            [_SETS[0], None],
            Multirange([Range(2, 3), Range(7, 8)]),
        )
        info = MultirangeInfo.fetch(client, "tsmultirange")
        assert info is not None and (info.oid, info.range_oid, info.subtype_oid) == (4533, 3908, 1114)


def test_views_of_ranges_equal_postgres_through_changes_and_a_kill(
    server: ServerProcess, data: Path, postgres_oracle: PostgresOracle
) -> None:
    chance = random.Random(7)
    with _client(server) as ours, postgres_oracle.connect() as theirs:
        ours.execute("SET rw_implicit_flush = true")
        for client in (ours, theirs):
            client.execute("DROP TABLE IF EXISTS t CASCADE")
            client.execute("CREATE TABLE t (k int PRIMARY KEY, r numrange)")
        for name, query in _VIEWS.items():
            ours.execute(f"CREATE MATERIALIZED VIEW {name} AS {query}".encode())
        for _ in range(8):
            for statement, given in _changes(chance):
                for client in (ours, theirs):
                    client.execute(statement, given)
            _compare(ours, theirs)
        for name, query in _VIEWS.items():
            ours.execute(f"CREATE MATERIALIZED VIEW later_{name} AS {query}".encode())
            assert _rows(ours, f"SELECT * FROM later_{name}") == _rows(theirs, query), name
        server.kill()
        again = ServerProcess(data, engine="inprocess", parallelism=2)
        try:
            with _client(again) as after:
                after.execute("INSERT INTO t VALUES (1000, '[1,3)')")
                theirs.execute("INSERT INTO t VALUES (1000, '[1,3)')")
                after.execute("FLUSH")
                _compare(after, theirs)
        finally:
            again.stop()


def _changes(chance: random.Random) -> Iterator[tuple[bytes, Sequence[object]]]:
    for _ in range(15):
        key, kind = chance.randrange(40), chance.random()
        ends = [str(chance.randint(-3, 6)) if chance.random() < 0.9 else "" for _ in "ab"]
        if all(ends):
            ends.sort(key=int)
        text = "empty" if kind < 0.1 else f"{chance.choice('[(')}{ends[0]},{ends[1]}{chance.choice('])')}"
        if kind < 0.25:
            yield b"DELETE FROM t WHERE k = %s", (key,)
        else:
            yield b"INSERT INTO t VALUES (%s, %s) ON CONFLICT (k) DO UPDATE SET r = excluded.r", (key, text)


def _compare(ours: psycopg.Connection[Any], theirs: psycopg.Connection[Any]) -> None:
    for name, query in _VIEWS.items():
        expected = _rows(theirs, query)
        assert _rows(ours, query) == expected, name
        assert _rows(ours, f"SELECT * FROM {name}") == expected, name


def _rows(client: psycopg.Connection[Any], query: str) -> list[str]:
    return sorted(map(repr, client.execute(query.encode()).fetchall()))


def test_programs_in_python_have_texts(tmp_path: Path) -> None:
    with risingpy.connect(tmp_path / "data") as db:
        db.sql(f"CREATE TABLE p (k int PRIMARY KEY, {_COLUMNS}, l int4range[], m int4multirange)")
        db.sql("INSERT INTO p (k, i, s, l, m) VALUES (1, '[1,5]', '[2024-01-01,)', '{empty,NULL}', '{[1,2],[3,4]}')")
        db.sql("INSERT INTO p (k, i) VALUES ($1, $2)", [2, "(,3]"])
        rows = db.sql("SELECT i, s, l, m FROM p ORDER BY k")
        assert rows.arrow().schema.types == [pa.string(), pa.string(), pa.list_(pa.string()), pa.string()]
        assert rows.fetchall() == [
            ("[1,6)", '["2024-01-01 00:00:00",)', ["empty", None], "{[1,5)}"),
            ("(,4)", None, None, None),
        ]


def test_errors_tell_what_is_wrong_and_what_to_write(tmp_path: Path) -> None:
    with risingpy.connect(tmp_path / "data") as db:
        with pytest.raises(SqlError) as flags:
            db.sql("SELECT int4range(n, 10, 'x') FROM generate_series(1, 2) AS n")
        assert (flags.value.sqlstate, flags.value.hint) == ("42601", 'Valid values are "[]", "[)", "(]", and "()".')
        with pytest.raises(SqlError) as commas:
            db.sql("SELECT ('[1,2,' || n || ')')::int4range FROM generate_series(3, 4) AS n")
        assert (commas.value.sqlstate, commas.value.detail) == ("22P02", "Too many commas.")
