"""psycopg 3 against the wire server: text and binary, parameters, pipeline, COPY, cancel."""

from __future__ import annotations

import datetime
import threading
import time
from decimal import Decimal
from typing import Any

import psycopg
import pytest

from risingpy.frontend.wire import WireServer


def connect(server: WireServer, **options: Any) -> psycopg.Connection[Any]:
    options = {"autocommit": True, **options}
    return psycopg.connect(f"host=127.0.0.1 port={server.port} user=u dbname=db", **options)


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("rows", [1, 500])
def test_every_type(server: WireServer, *, binary: bool, rows: int) -> None:
    sql = f"""select (i - 2)::smallint a, -i::int b, i::bigint * 1000000000000 c, i::real / 4 d, i / 3.0::double e,
        i % 2 = 0 f, 'tëxt ' || i g, ('\\x00\\xff')::blob h, date '1999-12-31' + i::int j, time '03:04:05.678' k,
        timestamp '1999-01-02 03:04:05.5' l, timestamptz '2024-01-02 03:04:05+00' m,
        interval '1 month 2 days 03:00:00' n, (i * -1.50)::decimal(10,2) o, null::int p
        from range({rows}) t(i)"""
    expected_last = rows - 1
    with connect(server) as connection:
        fetched = connection.cursor(binary=binary).execute(sql.encode()).fetchall()
    assert len(fetched) == rows
    row = fetched[expected_last]
    i = expected_last
    assert row[:8] == (i - 2, -i, i * 10**12, i / 4, i / 3.0, i % 2 == 0, f"tëxt {i}", b"\x00\xff")
    assert row[8] == datetime.date(1999, 12, 31) + datetime.timedelta(days=i)
    assert row[9] == datetime.time(3, 4, 5, 678000)
    assert row[10] == datetime.datetime(1999, 1, 2, 3, 4, 5, 500000)
    assert row[11] == datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)
    assert row[12] == datetime.timedelta(days=32, hours=3)
    assert row[13] == Decimal("-1.50") * i
    assert row[14] is None


@pytest.mark.parametrize("place", ["%s", "%b", "%t"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("int", 41),
        ("bigint", -(2**40)),
        ("smallint", -5),
        ("varchar", "May"),
        ("varchar", ""),
        ("double", 1.5),
        ("bool", True),
        ("date", datetime.date(1999, 1, 2)),
        ("timestamp", datetime.datetime(2024, 1, 2, 3, 4, 5, 6)),
        ("time", datetime.time(1, 2, 3)),
        ("timestamptz", datetime.datetime(2024, 1, 2, 3, 4, 5, tzinfo=datetime.UTC)),
        ("bytea", b"ab\xff\0"),
        ("decimal(10,3)", Decimal("-1.250")),
        ("interval", datetime.timedelta(days=3, seconds=5)),
        ("int", None),
        ("varchar", None),
    ],
)
def test_parameters_come_back(server: WireServer, place: str, name: str, value: object) -> None:
    with connect(server) as connection:
        answer = connection.execute(f"select {place}::{name}", (value,)).fetchone()
    assert answer == (value,)


def test_multiple_statements_give_their_results(server: WireServer) -> None:
    with connect(server) as connection:
        cursor = connection.execute("select 1; select 2; select 'a;b'")
        results = [cursor.fetchall()]
        while cursor.nextset():
            results.append(cursor.fetchall())
    assert results == [[(1,)], [(2,)], [("a;b",)]]


def test_prepared_statements_run_once(server: WireServer, database: Any) -> None:
    with connect(server) as connection:
        connection.execute("create or replace table once(a int)")
        for value in range(8):
            connection.execute("insert into once values (%s::int)", (value,), prepare=True)
        assert connection.execute("select count(*), sum(a) from once").fetchone() == (8, 28)


def test_insert_returning_and_rowcount(server: WireServer) -> None:
    with connect(server) as connection:
        connection.execute("create or replace table ret(a bigint)")
        cursor = connection.execute("insert into ret values (1), (2) returning a")
        assert cursor.fetchall() == [(1,), (2,)]
        assert cursor.statusmessage == "INSERT 0 2"


def test_pipeline(server: WireServer) -> None:
    with connect(server) as connection, connection.pipeline():
        first = connection.execute("select 1")
        second = connection.execute("select %s::varchar", ("x",))
        assert (first.fetchone(), second.fetchone()) == ((1,), ("x",))


def test_pipeline_error_skips_to_sync(server: WireServer, database: Any) -> None:
    database.executed.clear()
    with connect(server) as connection:
        with pytest.raises(psycopg.errors.UndefinedTable), connection.pipeline() as pipeline:
            connection.execute("select * from nope")
            connection.execute("select 'never run'")
            pipeline.sync()
        assert connection.execute("select 5").fetchone() == (5,)
    assert "select 'never run'" not in database.executed


def test_errors_have_class_state_and_position(server: WireServer) -> None:
    with connect(server) as connection:
        with pytest.raises(psycopg.errors.UndefinedTable) as caught:
            connection.execute("select * from nope")
        diagnosis = caught.value.diag
        assert (diagnosis.sqlstate, diagnosis.severity, diagnosis.severity_nonlocalized) == ("42P01", "ERROR", "ERROR")
        assert diagnosis.statement_position == "15"
        with pytest.raises(psycopg.errors.SyntaxError):
            connection.execute("selec 1")
        with pytest.raises(
            psycopg.errors.InvalidTextRepresentation, match='invalid input syntax for type integer: "x"'
        ):
            connection.execute("select %s::int", ("x",))
        assert connection.execute("select 1").fetchone() == (1,)


def test_failed_transaction(server: WireServer) -> None:
    with connect(server, autocommit=False) as connection:
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.execute("select * from nope")
        assert connection.info.transaction_status.name == "INERROR"
        with pytest.raises(psycopg.errors.InFailedSqlTransaction):
            connection.execute("select 1")
        connection.rollback()
        assert connection.execute("select 1").fetchone() == (1,)


def test_empty_query_and_notices_and_settings(server: WireServer) -> None:
    with connect(server) as connection:
        heard: list[tuple[str | None, ...]] = []
        connection.add_notice_handler(lambda notice: heard.append((notice.message_primary, notice.message_hint)))
        connection.execute("")
        connection.execute(" ;; ")
        connection.execute("notice")
        assert heard == [("take note", "of this")]
        connection.execute("set TimeZone = 'Asia/Kathmandu'")
        assert connection.info.parameter_status("TimeZone") == "Asia/Kathmandu"
        moment = connection.execute("select timestamptz '2024-01-02 00:00:00+00'").fetchone()
        assert moment is not None
        assert moment[0].isoformat() == "2024-01-02T05:45:00+05:45"
        assert connection.info.parameter_status("server_version") == "14.17"


def test_cancel_leaves_the_session(server: WireServer) -> None:
    with connect(server) as connection:
        started = time.monotonic()
        timer = threading.Timer(0.3, connection.cancel_safe)
        timer.start()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("select pg_sleep(20)")
        assert time.monotonic() - started < 5
        timer.join()
        connection.cancel_safe()  # nothing runs: ignored
        time.sleep(0.1)
        assert connection.execute("select 1").fetchone() == (1,)


def test_cancel_while_rows_flow(server: WireServer) -> None:
    with connect(server) as connection:
        with pytest.raises(psycopg.errors.QueryCanceled):
            for count, _ in enumerate(connection.cursor().stream("select 1 as big_rows")):
                if count == 10:
                    connection.cancel_safe()
        assert connection.execute("select 1").fetchone() == (1,)


def test_copy_in_and_out(server: WireServer) -> None:
    rows = [(1, "x"), (None, None), (3, "a\tb\\c\nd"), (4, "")]
    with connect(server) as connection:
        connection.execute("create or replace table ci(a int, b varchar)")
        with connection.cursor().copy("copy ci from stdin") as copy:
            for row in rows:
                copy.write_row(row)
        assert connection.execute("select * from ci").fetchall() == rows
        with connection.cursor().copy("copy ci to stdout") as copy:
            copy.set_types(["int4", "varchar"])
            assert list(copy.rows()) == rows
        with connection.cursor().copy("copy ci to stdout (format binary)") as copy:
            copy.set_types(["int4", "varchar"])
            assert list(copy.rows()) == rows
        with connection.cursor().copy("copy ci from stdin (format binary)") as copy:
            copy.set_types(["int4", "varchar"])
            for row in rows:
                copy.write_row(row)
        assert connection.execute("select count(*) from ci").fetchone() == (8,)


def test_copy_errors_leave_the_session(server: WireServer) -> None:
    with connect(server) as connection:
        connection.execute("create or replace table ce(a int, b varchar)")
        with (
            pytest.raises(psycopg.errors.InvalidTextRepresentation) as caught,
            connection.cursor().copy("copy ce from stdin") as copy,
        ):
            copy.write("1\tx\n2\ty\nthree\tz\n")
        assert caught.value.diag.context == 'COPY ce, line 3, column a: "three"'
        with (
            pytest.raises(psycopg.errors.BadCopyFileFormat) as short,
            connection.cursor().copy("copy ce from stdin") as copy,
        ):
            copy.write("1\tx\n2\n")
        assert short.value.diag.message_primary == 'missing data for column "b"'
        assert short.value.diag.context == 'COPY ce, line 2: "2"'
        with pytest.raises(ZeroDivisionError), connection.cursor().copy("copy ce from stdin") as copy:
            copy.write("1\tx\n")
            raise ZeroDivisionError
        assert connection.execute("select count(*) from ce").fetchone() == (0,)


def test_server_side_row_limits(server: WireServer) -> None:
    with connect(server) as connection:
        rows = list(connection.cursor().stream("select * from range(10) t(i)", size=3))
    assert rows == [(i,) for i in range(10)]


def test_many_columns_and_no_rows(server: WireServer) -> None:
    with connect(server) as connection:
        columns = ", ".join(f"{index} as c{index}" for index in range(500))
        row = connection.execute(f"select {columns}".encode()).fetchone()
        assert row == tuple(range(500))
        cursor = connection.execute("select 1 as a where false")
        assert cursor.description is not None and cursor.fetchall() == []
        assert cursor.statusmessage == "SELECT 0"
