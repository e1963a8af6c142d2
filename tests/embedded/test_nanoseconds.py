"""timestamp_ns through a program: Arrow, data frames, parameters, files, and what it becomes in Python."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import risingpy
from risingpy.client.interface import OpenDatabase
from risingpy.errors import SqlError
from risingpy.server_process import HOST, ServerProcess
from risingpy.types.clocks.nano_moments import FIRST_NANOS, LAST_NANOS

NANOS = pa.timestamp("ns")
MOMENT = 1_704_067_200_123_456_789
TEXT = "2024-01-01 00:00:00.123456789"
NUMBERS = [MOMENT, -1, None, 0, FIRST_NANOS, LAST_NANOS, 1_000]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server in a process of its own."""
    running = ServerProcess(tmp_path_factory.mktemp("server") / "data", engine="inprocess")
    try:
        yield f"postgresql://root@{HOST}:{running.port}/dev"
    finally:
        running.stop()


@pytest.fixture(scope="module", params=["embedded", "server"])
def shared(request: pytest.FixtureRequest) -> Iterator[OpenDatabase]:
    address = None if request.param == "embedded" else request.getfixturevalue("server")
    with risingpy.connect(parallelism=2) if address is None else risingpy.connect(address) as database:
        yield database


@pytest.fixture
def db(shared: OpenDatabase) -> Iterator[OpenDatabase]:
    """The module's database, in an empty schema."""
    shared.sql("CREATE SCHEMA s; SET search_path = s")
    yield shared
    shared.sql("DROP SCHEMA s CASCADE")


def column(numbers: list[int | None]) -> pa.Array:
    return pa.array(numbers, pa.int64()).cast(NANOS)


def test_arrow_goes_in_and_out_without_loss(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (k INT PRIMARY KEY, at TIMESTAMP_NS)")
    rows = pa.table({"k": range(len(NUMBERS)), "at": column(NUMBERS)})
    assert db.insert("t", rows) == len(NUMBERS)
    found = db.sql("SELECT at FROM t ORDER BY k").arrow()
    assert found.column("at").combine_chunks().equals(column(NUMBERS))
    ordered = db.sql("SELECT at FROM t ORDER BY at NULLS LAST").arrow().column("at").combine_chunks()
    assert ordered.equals(column([*sorted(n for n in NUMBERS if n is not None), None]))


def test_arrays_and_rows_keep_nanoseconds(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (a TIMESTAMP_NS[], r STRUCT<at TIMESTAMP_NS, n INT>)")
    lists = pa.array([[MOMENT, None]], pa.list_(pa.int64())).cast(pa.list_(NANOS))
    structs = pa.StructArray.from_arrays([column([MOMENT]), pa.array([7], pa.int32())], ["at", "n"])
    db.insert("t", pa.table({"a": lists, "r": structs}))
    assert db.sql("SELECT a[1]::text, (r).at::text FROM t").fetchall() == [(TEXT, TEXT)]


def test_data_frames_keep_nanoseconds(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (at TIMESTAMP_NS, zoned TIMESTAMP_NS, cut TIMESTAMP)")
    at = pd.Series(pd.to_datetime([MOMENT, None], unit="ns"))
    db.insert("t", pd.DataFrame({"at": at, "zoned": at.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"), "cut": at}))
    first, second = db.sql("SELECT at::text, zoned::text, cut::text FROM t ORDER BY at").fetchall()
    assert first == (TEXT, TEXT, "2024-01-01 00:00:00.123456")  # into timestamp, what is finer is cut off
    assert second == (None, None, None)
    frame = db.sql("SELECT at FROM t WHERE at IS NOT NULL").pandas()
    assert frame["at"].astype("int64").tolist() == [MOMENT]


@pytest.mark.parametrize("number", [-(2**63) + 1, 2**63 - 1])
def test_numbers_that_are_no_moments_do_not_come_in(db: OpenDatabase, number: int) -> None:
    db.sql("CREATE TABLE t (at TIMESTAMP_NS)")
    with pytest.raises(SqlError, match="out of range"):
        db.insert("t", pa.table({"at": column([number])}))


def test_python_rows_have_texts(db: OpenDatabase) -> None:
    assert db.sql("SELECT $1::timestamp_ns AS at", [TEXT]).fetchall() == [(TEXT,)]
    moments = [datetime(2024, 1, 1, 1, 2, 3, 4), datetime(2024, 1, 1, 1, 2, 3, 4, UTC), pd.Timestamp(MOMENT)]
    for given, shown in zip(moments, [*["2024-01-01 01:02:03.000004"] * 2, TEXT], strict=True):
        assert db.sql("SELECT $1::timestamp_ns AS at", [given]).fetchall() == [(shown,)]
    (array,) = db.sql("SELECT ARRAY[$1::timestamp_ns, NULL] AS at", [TEXT]).fetchone() or ()
    assert array == [TEXT, None]
    assert TEXT in repr(db.sql(f"SELECT TIMESTAMP_NS '{TEXT}' AS at"))


def test_functions_in_python_have_texts(db: OpenDatabase) -> None:
    db.sql(
        "CREATE FUNCTION later(a timestamp_ns) RETURNS timestamp_ns LANGUAGE python AS"
        " $$\ndef later(a):\n    return a.replace('2024', '2025')\n$$"
    )
    db.sql(f"CREATE TABLE t (at TIMESTAMP_NS); INSERT INTO t VALUES ('{TEXT}')")
    assert db.sql("SELECT later(at)::text FROM t").fetchall() == [(TEXT.replace("2024", "2025"),)]


def test_parquet_out_and_in_again(tmp_path: Path) -> None:
    with risingpy.connect(parallelism=2) as db:
        db.sql("CREATE TABLE t (k INT PRIMARY KEY, at TIMESTAMP_NS, a TIMESTAMP_NS[])")
        db.sql(
            f"CREATE SINK s FROM t WITH (connector = 'fs', fs.path = '{tmp_path}', type = 'append-only',"
            " force_append_only = 'true', commit_checkpoint_interval = 0) FORMAT PLAIN ENCODE PARQUET"
        )
        db.sql(f"INSERT INTO t VALUES (1, '{TEXT}', ARRAY[TIMESTAMP_NS '{TEXT}']), (2, NULL, NULL)")
        db.sql("FLUSH; WAIT")
        (path,) = _files(tmp_path)
        assert pq.read_table(path).column("at").combine_chunks().cast(NANOS).equals(column([MOMENT, None]))
        db.sql(
            "CREATE TABLE back (k INT PRIMARY KEY, at TIMESTAMP_NS, a TIMESTAMP_NS[]) WITH (connector = 'posix_fs',"
            f" posix_fs.root = '{tmp_path}', match_pattern = '*.parquet') FORMAT PLAIN ENCODE PARQUET"
        )
        _until(db, "SELECT at::text, a[1]::text FROM back ORDER BY k", [(TEXT, TEXT), (None, None)])


def _files(directory: Path) -> list[Path]:
    for _ in range(200):
        found = sorted(directory.glob("*.parquet"))
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("the sink wrote nothing")


def _until(db: OpenDatabase, query: str, expected: list[tuple[object, ...]]) -> None:
    found: list[tuple[object, ...]] = []
    for _ in range(200):
        found = db.sql(query).fetchall()
        if found == expected:
            return
        time.sleep(0.05)
    assert found == expected


def test_random_changes_and_another_process(tmp_path: Path) -> None:
    """A view by the moments follows them, before and after a restart; Python's integers say how."""
    chance, rows = random.Random(7), {}
    near = [MOMENT + n for n in range(-3, 4)] + [-1, 0, 1, FIRST_NANOS, LAST_NANOS]
    view = "SELECT epoch_ns(at), count(*), min(k) FROM t GROUP BY at"
    with risingpy.connect(tmp_path / "data", parallelism=2) as db:
        db.sql("CREATE TABLE t (k INT PRIMARY KEY, at TIMESTAMP_NS)")
        db.sql("CREATE INDEX by_at ON t (at DESC)")
        db.sql(f"CREATE MATERIALIZED VIEW early AS {view.replace('count(*)', 'count(*) AS n')}")
        for _ in range(60):
            key, at = chance.randrange(20), chance.choice(near)
            match chance.choice(["insert", "update", "delete"]):
                case "insert":
                    insert = f"INSERT INTO t VALUES ({key}, make_timestamp_ns({at}))"
                    db.sql(f"{insert} ON CONFLICT (k) DO UPDATE SET at = EXCLUDED.at")
                    rows[key] = at
                case "update":
                    db.sql(f"UPDATE t SET at = make_timestamp_ns({at}) WHERE k = {key}")
                    rows.update({key: at} if key in rows else {})
                case _:
                    db.sql(f"DELETE FROM t WHERE at = make_timestamp_ns({at})")
                    rows = {k: moment for k, moment in rows.items() if moment != at}
        _compare(db, rows)
    with risingpy.connect(tmp_path / "data", parallelism=2) as db:
        _compare(db, rows)
        db.sql(f"CREATE MATERIALIZED VIEW late AS {view.replace('count(*)', 'count(*) AS n')}")
        assert sorted(db.sql("SELECT * FROM late")) == sorted(db.sql("SELECT * FROM early")) == sorted(db.sql(view))


def _compare(db: OpenDatabase, rows: dict[int, int]) -> None:
    grouped: dict[int, list[int]] = {}
    for key, at in rows.items():
        grouped.setdefault(at, []).append(key)
    expected = sorted((at, len(keys), min(keys)) for at, keys in grouped.items())
    assert sorted(db.sql("SELECT * FROM early")) == expected
    for at in grouped:
        found = db.sql(f"SELECT k FROM t WHERE at = make_timestamp_ns({at})").fetchall()
        assert sorted(key for (key,) in found) == sorted(grouped[at])


def test_keys_and_indexes_find_rows(db: OpenDatabase) -> None:
    """A key, a range of it, its first rows, and a join's lookups, all by nanoseconds."""
    db.sql("CREATE TABLE many (k INT PRIMARY KEY, at TIMESTAMP_NS); CREATE INDEX by_at ON many (at, k)")
    db.sql(f"INSERT INTO many SELECT i, make_timestamp_ns({MOMENT} + i) FROM generate_series(1, 5000) i")
    db.sql(f"CREATE TABLE few (at TIMESTAMP_NS); INSERT INTO few VALUES (make_timestamp_ns({MOMENT} + 777)), (NULL)")
    joined = "SELECT k FROM few JOIN many ON few.at = many.at"
    assert "lookups: [at = few.at by by_at]" in str(db.sql(f"EXPLAIN {joined}").fetchall())
    assert db.sql(joined).fetchall() == [(777,)]
    assert db.sql(f"SELECT k FROM many WHERE at = make_timestamp_ns({MOMENT} + 4)").fetchall() == [(4,)]
    between = f"make_timestamp_ns({MOMENT} + 10) AND make_timestamp_ns({MOMENT} + 12)"
    assert db.sql(f"SELECT k FROM many WHERE at BETWEEN {between} ORDER BY k").fetchall() == [(10,), (11,), (12,)]
    assert db.sql("SELECT k FROM many ORDER BY at DESC, k DESC LIMIT 2").fetchall() == [(5000,), (4999,)]
    assert db.sql("SELECT epoch_ns(max(at)) FROM many").fetchall() == [(MOMENT + 5000,)]


def test_clients_of_postgresql(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as client, client.cursor() as cursor:
        cursor.execute("CREATE TABLE p (k int PRIMARY KEY, at timestamp_ns)")
        cursor.execute("INSERT INTO p VALUES (%s, %s), (%s, %s)", [1, TEXT, 2, datetime(2024, 1, 1, 0, 0, 1, 5)])
        assert cursor.execute("SELECT at FROM p ORDER BY k").fetchall() == [(TEXT,), ("2024-01-01 00:00:01.000005",)]
        assert cursor.execute("SELECT at FROM p WHERE k = %s", [1]).fetchall() == [(TEXT,)]
        assert cursor.execute("SELECT k FROM p WHERE at = %s", [TEXT]).fetchall() == [(1,)]
        cursor.execute("SET TIME ZONE 'Asia/Tokyo'")
        zoned = "timestamptz '2024-01-01 00:00:00.5+00'"
        query = f"SELECT TIMESTAMP_NS '{TEXT}'::timestamptz::text, {zoned}::timestamp_ns::text"
        assert cursor.execute(query).fetchone() == ("2024-01-01 00:00:00.123457+09", "2024-01-01 09:00:00.5")
        for form in ("text", "csv", "binary"):
            with cursor.copy(f"COPY p TO STDOUT (FORMAT {form})") as copy:
                data = b"".join(bytes(part) for part in copy)
            cursor.execute("DELETE FROM p")
            with cursor.copy(f"COPY p FROM STDIN (FORMAT {form})") as copy:
                copy.write(data)
            assert cursor.execute("SELECT k FROM p WHERE at = %s", [TEXT]).fetchall() == [(1,)]
        binary = client.cursor(binary=True).execute("SELECT at FROM p WHERE k = 1").fetchone()
        assert binary == (MOMENT.to_bytes(8, "big"),)
        cursor.execute("DROP TABLE p")
