"""`risingpy.connect`: statements, rows in and out, transactions, threads, errors, and the end of the process."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import risingpy
from risingpy.client.interface import OpenDatabase
from risingpy.embedded import EmbeddedSession
from risingpy.errors import QueryCanceled, SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.server_process import HOST, ServerProcess


@pytest.fixture(scope="module", params=["embedded", "server"])
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenDatabase]:
    """What is promised holds for both; a server is in a process of its own."""
    if request.param == "embedded":
        with risingpy.connect(parallelism=2) as database:
            yield database
        return
    server = ServerProcess(tmp_path_factory.mktemp("server") / "data", engine="inprocess")
    try:
        with risingpy.connect(f"postgresql://root@{HOST}:{server.port}/dev") as database:
            yield database
    finally:
        server.stop()


@pytest.fixture
def db(shared: OpenDatabase) -> Iterator[OpenDatabase]:
    """The module's database, in an empty schema."""
    shared.sql("CREATE SCHEMA s; SET search_path = s")
    yield shared
    shared.sql("DROP SCHEMA s CASCADE")


def test_a_view_follows_its_table(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (k INT PRIMARY KEY, v INT)")
    db.sql("CREATE MATERIALIZED VIEW sums AS SELECT k % 2 AS odd, sum(v) AS v FROM t GROUP BY k % 2")
    assert db.sql("INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)").tag == "INSERT 0 3"
    assert sorted(db.sql("SELECT * FROM sums")) == [(0, 20), (1, 40)]
    db.sql("DELETE FROM t WHERE k = 3")
    assert sorted(db.sql("SELECT * FROM sums")) == [(0, 20), (1, 10)]


PYTHON_VALUES: list[tuple[str, object]] = [
    ("boolean", True),
    ("smallint", -3),
    ("bigint", 2**62),
    ("real", 1.5),
    ("double precision", 0.1),
    ("numeric", Decimal("123456789012345678901234567890.123456789012345678901")),
    ("numeric(10, 2)", Decimal("12.30")),
    ("rw_int256", 2**200),
    ("text", "naïve \x01 '"),
    ("bytea", b"\x00\xff"),
    ("date", date(2026, 1, 2)),
    ("timestamp", datetime(2026, 1, 2, 3, 4, 5, 6)),
    ("timestamptz", datetime(2026, 1, 2, 3, 4, 5, 6, UTC)),
    ("interval", timedelta(days=3, seconds=4, microseconds=5)),
    ("uuid", UUID(int=7)),
    ("jsonb", {"a": [1, None, "x"], "b": {"c": 1.5}}),
    ("int[]", [1, None, 3]),
    ("numeric[]", [Decimal("1.50"), None]),
    ("jsonb[]", [{"a": 1}, None]),
]


@pytest.mark.parametrize(("type_", "value"), PYTHON_VALUES, ids=[type_ for type_, _ in PYTHON_VALUES])
def test_python_values_come_back_as_they_went_in(db: OpenDatabase, type_: str, value: object) -> None:
    found = db.sql(f"SELECT $1::{type_}, NULL::{type_}", [value])
    assert found.fetchall() == [(value, None)]
    assert db.sql(f"SELECT $1::{type_}", [None]).fetchall() == [(None,)]
    db.sql(f"CREATE TABLE t (v {type_})")
    db.sql("INSERT INTO t VALUES ($1)", [value])
    assert db.sql("SELECT v FROM t").fetchone() == (value,)


def test_parameters_of_other_types_are_read_as_their_texts(db: OpenDatabase) -> None:
    assert db.sql("SELECT $1::numeric, $2::date, $3::int", [5, "2026-01-02", "7"]).fetchone() == (
        5,
        date(2026, 1, 2),
        7,
    )
    with pytest.raises(SqlError) as wrong:
        db.sql("SELECT $1::int", ["x"])
    assert wrong.value.sqlstate == "22P02"
    with pytest.raises(SqlError) as strange:
        db.sql("SELECT $1::int", [object()])
    assert strange.value.sqlstate == "42804"
    for parameters in ([], [1, 2]):
        with pytest.raises(SqlError) as wrong_number:
            db.sql("SELECT $1::int", parameters)
        # Without parameters, a server gets the text as it is, and misses the first that it names.
        assert wrong_number.value.sqlstate in ("08P01", "42P02")


def test_results_are_arrow_and_data_frames(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (a BIGINT, b NUMERIC, c TEXT, d INT[], e JSONB)")
    db.sql("INSERT INTO t VALUES (1, 1.25, 'x', '{1, 2}', '{\"a\": 1}')")
    answer = db.sql("SELECT * FROM t")
    found = answer.arrow()
    assert found.schema.names == ["a", "b", "c", "d", "e"] == answer.columns
    assert found.schema.types == [pa.int64(), pa.decimal128(38, 10), pa.string(), pa.list_(pa.int32()), pa.string()]
    assert found.to_pylist() == [{"a": 1, "b": Decimal("1.25"), "c": "x", "d": [1, 2], "e": '{"a": 1}'}]
    assert answer.pandas()["c"].tolist() == ["x"]
    assert duckdb.execute("SELECT a + 1 FROM answer").fetchall() == [(2,)], "DuckDB reads an answer by its Arrow stream"
    empty = db.sql("SELECT a, b FROM t WHERE false")
    assert empty.arrow().schema.types == [pa.int64(), pa.decimal128(38, 10)]
    assert empty.fetchall() == [] and empty.fetchone() is None and len(empty) == 0
    db.sql("UPDATE t SET b = 1e40")
    with pytest.raises(SqlError) as large:
        db.sql("SELECT b FROM t").arrow()
    assert large.value.sqlstate == "22003"
    assert db.sql("SELECT b FROM t").fetchone() == (Decimal("1e40"),)


def test_results_show_themselves(db: OpenDatabase) -> None:
    answer = db.sql('SELECT g AS "<g>", NULL AS n FROM generate_series(1, 30) AS g ORDER BY g')
    assert repr(answer).splitlines()[2:4] == ["1   | NULL", "2   | NULL"]
    assert repr(answer).splitlines()[-1] == "(30 rows, the first 20 shown)"
    assert "<th>&lt;g&gt;<br>" in answer._repr_html_() and "<td>20</td>" in answer._repr_html_()
    assert repr(db.sql("SET TimeZone = 'UTC'")) == "SET"


GIVEN: list[Any] = [
    pa.table({"v": ["a", None], "k": pa.array([1, 2], pa.int8())}),
    pa.record_batch({"v": ["a", None], "k": pa.array([1, 2], pa.uint64())}),
    lambda: pa.table({"v": ["a", None], "k": [1, 2]}).to_reader(),  # can be read once
    pa.table({"v": pa.array(["a", None]).dictionary_encode(), "k": ["1", "2"]}),
    pd.DataFrame({"v": ["a", None], "k": [1, 2]}),
    [{"k": 1, "v": "a"}, {"k": 2}],
]


@pytest.mark.parametrize("rows", GIVEN, ids=["table", "batch", "reader", "dictionary", "pandas", "dicts"])
def test_rows_go_in_by_the_names_of_their_columns(db: OpenDatabase, rows: Any) -> None:
    db.sql("CREATE TABLE t (k INT PRIMARY KEY, v TEXT, d INT DEFAULT 7)")
    assert db.insert("t", rows() if callable(rows) else rows) == 2
    assert sorted(db.sql("SELECT * FROM t")) == [(1, "a", 7), (2, None, 7)]


def test_no_rows_are_none_and_rows_without_columns_an_error(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (k INT DEFAULT 7)")
    assert db.insert("t", []) == 0
    wrong: list[tuple[str, list[dict[str, object]], str]] = [("nope", [], "42P01"), ("t", [{}], "42804")]
    for relation, rows, sqlstate in wrong:
        with pytest.raises(SqlError) as error:
            db.insert(relation, rows)
        assert error.value.sqlstate == sqlstate
    assert len(db.sql("SELECT * FROM t")) == 0


def test_all_rows_go_in_or_none(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (k INT PRIMARY KEY, v INT NOT NULL)")
    wrong: list[tuple[str, list[dict[str, object]]]] = [
        ("22P02", [{"k": 1, "v": "1"}, {"k": 2, "v": "x"}]),
        ("23502", [{"k": 1, "v": 1}, {"k": 2, "v": None}]),
        ("42703", [{"k": 1, "w": 1}]),
        ("42804", [{"k": 1, "v": 1}, {"k": "x", "v": 1}]),
    ]
    for sqlstate, rows in wrong:
        with pytest.raises(SqlError) as error:
            db.insert("t", rows)
        assert error.value.sqlstate == sqlstate, rows
    with pytest.raises(SqlError):
        db.insert("t (k) FROM STDIN; DROP TABLE t; COPY t", [{"k": 1}])
    with pytest.raises(SqlError):
        db.insert("t", 5)  # type: ignore[arg-type]
    assert db.sql("SELECT count(*) FROM t").fetchone() == (0,)


def test_many_rows_go_in_and_out(db: OpenDatabase) -> None:
    rows = pa.table({"k": np.arange(300_000), "v": np.arange(300_000) % 7})
    db.sql("CREATE TABLE t (k BIGINT, v BIGINT)")
    db.sql("CREATE MATERIALIZED VIEW sums AS SELECT v, count(*) AS n, sum(k) AS k FROM t GROUP BY v")
    assert db.insert("t", rows) == 300_000
    assert db.sql("SELECT * FROM t").arrow().sort_by("k").equals(rows)
    of_duckdb = duckdb.execute("SELECT v, count(*) AS n, sum(k) AS k FROM rows GROUP BY v").fetchall()
    assert sorted(db.sql("SELECT * FROM sums")) == sorted(of_duckdb)


def test_transactions_and_texts_of_several_statements_are_one_step(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (k INT PRIMARY KEY)")
    with pytest.raises(SqlError) as error:
        db.sql("INSERT INTO t VALUES (1); INSERT INTO t VALUES (2); SELECT 1 / 0")
    assert error.value.sqlstate == "22012"
    with pytest.raises(ZeroDivisionError), db.transaction() as transaction:
        transaction.insert("t", [{"k": 1}])
        raise ZeroDivisionError
    assert db.sql("SELECT count(*) FROM t").fetchone() == (0,)
    with db.transaction() as transaction:
        transaction.insert("t", [{"k": 1}])
        transaction.sql("INSERT INTO t VALUES (2)")
    assert db.sql("SELECT count(*) FROM t").fetchone() == (2,)


def test_errors_tell_where_and_leave_the_session_usable(db: OpenDatabase) -> None:
    with pytest.raises(SqlError) as error:
        db.sql("SELECT 1,\n nope")
    assert (error.value.sqlstate, error.value.position) == ("42703", 12)
    with pytest.raises(SqlError):
        db.sql("COPY (SELECT 1) TO STDOUT")
    assert db.sql("-- nothing").tag == ""
    assert db.sql("SELECT 1").fetchone() == (1,)
    assert [notice.message for notice in db.sql("DROP TABLE IF EXISTS nope").notices] == [
        'table "nope" does not exist, skipping'
    ]


def test_threads_share_a_session_or_have_their_own(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (k INT PRIMARY KEY)")

    def write(first: int) -> None:
        with db.session() as own:
            for k in range(first, first + 20):
                own.sql("INSERT INTO s.t VALUES ($1)", [k])
                db.sql("SELECT count(*) FROM t")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, (0, 100, 200, 300)))
    assert db.sql("SELECT count(*) FROM t").fetchone() == (80,)


def test_another_thread_cancels_a_statement(db: OpenDatabase) -> None:
    session = db.session()
    timer = threading.Timer(0.3, session.cancel)
    timer.start()
    with pytest.raises(QueryCanceled):
        session.sql(
            "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 1000000) b WHERE a = b * 2 + 1"
        )
    assert session.sql("SELECT 1").fetchone() == (1,)
    session.close()
    with pytest.raises(SqlError, match="closed"):
        session.sql("SELECT 1")


def test_changes_come_as_they_happen(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (k INT PRIMARY KEY, v NUMERIC)")
    db.sql("INSERT INTO t VALUES (1, 1.5)")
    with db.subscribe("s.t") as changes:
        assert (first := next(changes)).op == "Insert" and first.row == {"k": 1, "v": Decimal("1.5")}
        db.sql("UPDATE t SET v = 2 WHERE k = 1")
        assert [(change.op, change.row["v"]) for change in (next(changes), next(changes))] == [
            ("UpdateDelete", Decimal("1.5")),
            ("UpdateInsert", Decimal(2)),
        ]
    with db.subscribe("s.t", snapshot=False) as later:
        db.sql("DELETE FROM t")
        assert next(later).op == "Delete"
        closing = threading.Timer(0.2, later.close)
        closing.start()
        assert list(later) == [], "close ends an iteration that waits"
    with pytest.raises(SqlError) as error:
        db.subscribe("s.nope")
    assert error.value.sqlstate == "42P01"


def test_settings_of_connect_are_checked(tmp_path: Path) -> None:
    for wrong in ({"engine": "fast"}, {"parallelism": 0}, {"memory": "lots"}):
        with pytest.raises(SqlError) as error:
            risingpy.connect(tmp_path / "new", **wrong)
        assert error.value.sqlstate == "22023"
    assert not (tmp_path / "new").exists()
    with pytest.raises(AttributeError):
        _ = risingpy.nope


LEFT_OPEN = """
import os, sys, risingpy
db = risingpy.connect(sys.argv[1], parallelism=2)
db.sql("CREATE TABLE IF NOT EXISTS t (k INT PRIMARY KEY)")
db.sql("CREATE MATERIALIZED VIEW IF NOT EXISTS n AS SELECT count(*) AS n FROM t")
before = db.sql("SELECT n FROM n").fetchone()[0]
db.insert("t", [{"k": before + 1}])
print(before)
if sys.argv[2] == "killed":
    os.kill(os.getpid(), 9)
"""


def test_a_directory_outlives_its_process_however_that_ends(tmp_path: Path) -> None:
    for round_, end in enumerate(("killed", "left open")):
        done = subprocess.run(
            [sys.executable, "-c", LEFT_OPEN, str(tmp_path / "data"), end], capture_output=True, text=True, timeout=60
        )
        assert done.stdout in (f"{round_}\n", ""), done.stderr
        assert done.returncode == (-9 if end == "killed" else 0), done.stderr
    with risingpy.connect(tmp_path / "data") as database:
        assert database.sql("SELECT n FROM n").fetchone() == (2,)
        with pytest.raises(SqlError) as error:
            risingpy.connect(tmp_path / "data")
        assert error.value.sqlstate == "55006"
    with pytest.raises(SqlError, match="closed"):
        database.session()
    database.close()


def test_a_directory_whose_database_and_user_were_renamed_opens(tmp_path: Path) -> None:
    with risingpy.connect(tmp_path, parallelism=2) as database:
        database.sql("CREATE DATABASE other")
        database.sql("CREATE TABLE t (k INT); CREATE USER ann SUPERUSER")
    engine = Database(tmp_path, parallelism=2)
    engine.start(InProcessRunner(tmp_path))
    session = EmbeddedSession(open_session(engine, StartupParameters("ann", "other")), lambda _: None)
    session.sql("ALTER DATABASE dev RENAME TO first")
    session.sql("ALTER USER root RENAME TO boss")
    session.close()
    engine.close()
    with risingpy.connect(tmp_path) as database:
        found = database.sql("SELECT current_database(), current_user, count(*) FROM t").fetchall()
        assert found == [("first", "boss", 0)]


NESTED = """
import sys, risingpy
with risingpy.connect(sys.argv[1]) as db:
    print(db.sql("SELECT " + " + ".join(["1"] * 1000)).fetchone()[0])
"""


def test_expressions_nest_as_deeply_as_in_a_server(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", NESTED, tmp_path], capture_output=True, text=True, timeout=60)
    assert done.stdout == "1000\n", done.stderr
