"""When a suite's views are made: before the data in mode stream, and at the query in mode backfill."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.sqllogictest.client import Answer, Client, Connect, StatementRefused
from risingpy.sqllogictest.modes import Mode
from risingpy.sqllogictest.results import FileResult
from risingpy.sqllogictest.runner import run_file

FILE = """statement ok
CREATE TABLE t (a INT)

statement ok
INSERT INTO t VALUES (1), (2)

query I
SELECT sum(a) FROM t ORDER BY 1
----
3

statement ok
DELETE FROM t WHERE a = 1

query I
SELECT sum(a) FROM t
----
2
"""


def run(directory: Path, text: str, connect: Connect, mode: Mode) -> FileResult:
    path = directory / "file.slt"
    path.write_text(text)
    return run_file(path, connect, mode)


def steps(statements: list[str]) -> list[str]:
    """The statements but for those around a schema, each cut to its first words."""
    kept = [sql for sql in statements if "SCHEMA" not in sql and "search_path" not in sql]
    return [" ".join(sql.split()[:4]) for sql in kept]


def test_stream_makes_every_view_before_the_data(like_ours: Connect, statements: list[str], tmp_path: Path) -> None:
    result = run(tmp_path, FILE, like_ours, Mode.STREAM)
    assert result.failures == ()
    second_pass = steps(statements)[5:]
    assert second_pass == [
        "CREATE TABLE t (a",
        "CREATE MATERIALIZED VIEW slt_view_2",
        "CREATE MATERIALIZED VIEW slt_view_4",
        "INSERT INTO t VALUES",
        "SELECT * FROM slt_view_2",
        "DROP MATERIALIZED VIEW slt_view_2",
        "DELETE FROM t WHERE",
        "SELECT * FROM slt_view_4",
        "DROP MATERIALIZED VIEW slt_view_4",
    ]
    assert result.checked == 5 + 5


def test_backfill_makes_a_view_where_its_query_stands(
    like_ours: Connect, statements: list[str], tmp_path: Path
) -> None:
    assert run(tmp_path, FILE, like_ours, Mode.BACKFILL).failures == ()
    assert steps(statements)[1:6] == [
        "INSERT INTO t VALUES",
        "SELECT sum(a) FROM t",
        "CREATE MATERIALIZED VIEW slt_view_2",
        "SELECT * FROM slt_view_2",
        "DROP MATERIALIZED VIEW slt_view_2",
    ]
    assert "CREATE MATERIALIZED VIEW slt_view_2 (c0) AS SELECT sum(a) FROM t" in statements


def test_views_wait_for_the_last_definition_of_what_they_read(
    like_ours: Connect, statements: list[str], tmp_path: Path
) -> None:
    text = (
        "statement ok\nCREATE TABLE t (a INT)\n\nstatement ok\nDROP TABLE t\n\n"
        "statement ok\nCREATE TABLE t (b INT)\n\nstatement ok\nCREATE VIEW v AS SELECT b FROM t\n\n"
        "query I\nSELECT b FROM v\n----\n\nstatement ok\nDROP VIEW v\n\nstatement ok\nDROP TABLE t\n"
    )
    assert run(tmp_path, text, like_ours, Mode.STREAM).failures == ()
    made = steps(statements).index("CREATE MATERIALIZED VIEW slt_view_4")
    assert steps(statements)[made - 1 : made + 2] == [
        "CREATE VIEW v AS",
        "CREATE MATERIALIZED VIEW slt_view_4",
        "SELECT * FROM slt_view_4",
    ]


def test_no_view_stands_for_what_a_transaction_reads_of_itself(
    like_ours: Connect, statements: list[str], tmp_path: Path
) -> None:
    text = (
        "statement ok\nCREATE TABLE t (a INT)\n\nstatement ok\nBEGIN\n\nstatement ok\nINSERT INTO t VALUES (1)\n\n"
        "query I\nSELECT a FROM t\n----\n1\n\nstatement ok\nROLLBACK\n\nquery I\nSELECT count(*) FROM t\n----\n0\n"
    )
    for mode in (Mode.STREAM, Mode.BACKFILL):
        assert run(tmp_path, text, like_ours, mode).failures == ()
    assert {sql.split()[3] for sql in statements if sql.startswith("CREATE MATERIALIZED")} == {"slt_view_5"}


def test_queries_without_tables_cannot_stream(like_ours: Connect, tmp_path: Path) -> None:
    result = run(tmp_path, "query I\nSELECT 1\n----\n1\n", like_ours, Mode.STREAM)
    assert result.failures == ()
    assert [skip.reason for skip in result.skips] == ["no relation of the file to stream from"]


def test_returning_is_run_in_the_second_pass_too(like_ours: Connect, tmp_path: Path) -> None:
    text = (
        "statement ok\nCREATE TABLE t (a INT)\n\nquery I\nINSERT INTO t VALUES (1) RETURNING a\n----\n1\n\n"
        "query I\nSELECT count(*) FROM t\n----\n1\n"
    )
    assert run(tmp_path, text, like_ours, Mode.STREAM).failures == ()


class _Stale:
    """A database whose materialized views forget one row, or that has none at all."""

    def __init__(self, client: Client, refuse: bool) -> None:
        self._client = client
        self._refuse = refuse

    def run(self, sql: str) -> Answer:
        if self._refuse and sql.startswith("CREATE MATERIALIZED"):
            raise StatementRefused("no views here", "0A000", fatal=False)
        if sql.startswith("SELECT * FROM slt_view"):
            answer = self._client.run(sql)
            return Answer(answer.columns, (("99",),), None)
        return self._client.run(sql)

    def close(self) -> None:
        self._client.close()


@pytest.mark.parametrize("mode", [Mode.STREAM, Mode.BACKFILL])
def test_a_view_that_is_wrong_fails_the_file(like_ours: Connect, tmp_path: Path, mode: Mode) -> None:
    result = run(tmp_path, FILE, lambda: _Stale(like_ours(), refuse=False), mode)
    assert [(failure.location.line, failure.summary) for failure in result.failures] == [
        (7, "view: wrong rows"),
        (15, "view: wrong rows"),
    ]


@pytest.mark.parametrize("mode", [Mode.STREAM, Mode.BACKFILL])
def test_queries_that_cannot_be_views_are_counted(like_ours: Connect, tmp_path: Path, mode: Mode) -> None:
    result = run(tmp_path, FILE, lambda: _Stale(like_ours(), refuse=True), mode)
    assert result.failures == ()
    assert [(skip.location.line, skip.reason) for skip in result.skips] == [
        (7, "no such view: no views here"),
        (15, "no such view: no views here"),
    ]
