"""Whole files are run on PostgreSQL: which pass, which fail, and with which report."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.sqllogictest.client import Connect, StatementRefused, connect_with_psycopg
from risingpy.sqllogictest.modes import Mode
from risingpy.sqllogictest.results import FileResult
from risingpy.sqllogictest.runner import run_file

TABLE = "statement ok\nCREATE TABLE t (a INT PRIMARY KEY, b DOUBLE PRECISION)\n\n"


def run(directory: Path, text: str, connect: Connect, mode: Mode = Mode.ORACLE) -> FileResult:
    path = directory / "file.slt"
    path.write_text(text)
    return run_file(path, connect, mode)


def failures(result: FileResult) -> list[tuple[int, str]]:
    return [(failure.location.line, failure.summary) for failure in result.failures]


def test_a_file_that_holds(postgresql: Connect, tmp_path: Path) -> None:
    text = (
        TABLE + "statement count 2\nINSERT INTO t VALUES (1, 0.1), (2, NULL)\n\n"
        "query IR rowsort\nSELECT * FROM t\n----\n2 NULL\n1 0.1\n\n"
        "query error (42P01) nope\nSELECT * FROM nope\n"
    )
    result = run(tmp_path, text, postgresql)
    assert (failures(result), result.checked, result.skips) == ([], 4, ())


@pytest.mark.parametrize(
    ("record", "summary"),
    [
        ("statement ok\nSELECT * FROM nope\n", "failed"),
        ("statement count 5\nDELETE FROM t\n", "5 rows expected, 0 counted"),
        ("statement error\nSELECT 1\n", "an error was expected"),
        ("statement error other words\nSELECT * FROM nope\n", "another error came"),
        ("statement error (42703)\nSELECT * FROM nope\n", "another error came"),
        ("statement error\nSELECT * FROM nope\n----\nother words\n", "another error came"),
        ("query I\nSELECT 1\n----\n2\n", "SELECT: wrong rows"),
        ("query II\nSELECT 1\n----\n1\n", "SELECT: 1 columns came"),
        ("query I\nSELECT * FROM nope\n----\n", "failed"),
        ("system ok\nexit 3\n", "command failed"),
        ("system ok\necho a\n----\nb\n", "another output came"),
        ("control substitution on\n\nstatement ok\nSELECT $NO_SUCH_NAME\n", "variable 'NO_SUCH_NAME' is not set"),
    ],
)
def test_a_record_that_fails_says_so_and_the_file_goes_on(
    postgresql: Connect, tmp_path: Path, record: str, summary: str
) -> None:
    result = run(tmp_path, TABLE + record + "\n\nquery I\nSELECT count(*) FROM t\n----\n7\n", postgresql)
    assert [text for _, text in failures(result)] == [summary, "SELECT: wrong rows"]


def test_a_wrong_answer_is_shown_with_its_sql_and_a_diff(postgresql: Connect, tmp_path: Path) -> None:
    result = run(tmp_path, "query I\nSELECT 1\nUNION ALL SELECT 2\n----\n1\n3\n", postgresql)
    assert result.failures[0].detail.splitlines() == [
        "    SELECT 1", "    UNION ALL SELECT 2", "(- expected, + came)", "  1", "- 3", "+ 2",
    ]  # fmt: skip


def test_conditions_sort_modes_halt_and_threshold(postgresql: Connect, tmp_path: Path) -> None:
    text = (
        "skipif postgresql\nstatement ok\nNONSENSE\n\nonlyif batch\nstatement ok\nNONSENSE\n\n"
        "skipif postgres\nstatement ok\nNONSENSE\n\n"
        "control sortmode rowsort\n\nquery I\nVALUES (2), (1)\n----\n1\n2\n\n"
        "hash-threshold 1\n\nquery I\nVALUES (2), (1)\n----\n2 values hashing to 6ddb4095eb719e2a9f0a3f95677d24e0\n\n"
        "halt\n\nstatement ok\nNONSENSE\n"
    )
    result = run(tmp_path, text, postgresql)
    assert (failures(result), result.checked) == ([], 2)


def test_connections_are_sessions_of_their_own(postgresql: Connect, tmp_path: Path) -> None:
    text = (
        "connection a\nstatement ok\nSET application_name = 'a'\n\n"
        "connection a\nquery T\nSHOW application_name\n----\na\n\n"
        "query T\nSHOW application_name\n----\n(empty)\n"
    )
    assert failures(run(tmp_path, text, postgresql)) == []


def test_variables_and_commands(postgresql: Connect, tmp_path: Path) -> None:
    text = (
        "control substitution on\n\n"
        "system ok\necho kept > $__TEST_DIR__/file && cat ${__TEST_DIR__}/file\n----\nkept\n\n"
        "query T\nSELECT current_schema()\n----\n${__SCHEMA__}\n\n"
        "query T\nSELECT '${NOT_SET_ANYWHERE:fallback} \\$1'\n----\nfallback \\$1\n"
    )
    assert failures(run(tmp_path, text, postgresql)) == []


def test_a_retried_record_may_fail_at_first(postgresql: Connect, tmp_path: Path) -> None:
    text = (
        TABLE + "query I retry 3 backoff 1ms\n"
        "INSERT INTO t SELECT count(*) FROM t RETURNING a\n----\n2\n\n"
        "query I retry 1 backoff 1ms\nSELECT count(*) FROM t\n----\n9\n"
    )
    assert failures(run(tmp_path, text, postgresql)) == [(9, "SELECT: wrong rows")]


def test_files_leave_nothing_behind(postgresql: Connect, tmp_path: Path) -> None:
    # An open transaction holds locks on what is to be dropped.
    run(tmp_path, TABLE + "statement ok\nBEGIN\n\nstatement ok\nINSERT INTO t VALUES (1)\n", postgresql)
    client = postgresql()
    assert client.run("SELECT nspname FROM pg_namespace WHERE nspname LIKE 'slt%'").rows == ()
    client.close()


def test_a_lost_connection_fails_its_record_only(postgresql: Connect, tmp_path: Path) -> None:
    text = "statement ok\nSELECT pg_terminate_backend(pg_backend_pid())\n\nquery I\nSELECT 1\n----\n1\n"
    assert failures(run(tmp_path, text, postgresql)) == [(1, "failed")]


def test_no_server_is_one_failure(tmp_path: Path) -> None:
    connect = connect_with_psycopg("host=127.0.0.1 port=1 dbname=dev user=root")
    assert failures(run(tmp_path, TABLE + TABLE, connect, Mode.BATCH)) == [(1, "cannot connect")]


def test_a_file_that_breaks_the_format_is_a_failure(postgresql: Connect, tmp_path: Path) -> None:
    assert failures(run(tmp_path, "\n\nnonsense\n", postgresql)) == [(3, "cannot read the file")]


def test_a_statement_that_hangs_is_cancelled(postgresql: Connect) -> None:
    client = postgresql()
    client._timeout = 0.2  # type: ignore[attr-defined]
    with pytest.raises(StatementRefused, match=r"no answer within 0.2 s") as caught:
        client.run("SELECT pg_sleep(20)")
    assert caught.value.fatal
    client.close()


def test_update_writes_what_came(postgresql: Connect, tmp_path: Path) -> None:
    path = tmp_path / "file.slt"
    path.write_text("query I\nSELECT 1\n----\n\nquery II\nSELECT 2, 3\n----\nwrong\nrows\n\n# kept\n")
    run_file(path, postgresql, Mode.ORACLE, update=True)
    assert path.read_text() == "query I\nSELECT 1\n----\n1\n\nquery II\nSELECT 2, 3\n----\n2 3\n\n# kept\n"
    assert run_file(path, postgresql, Mode.ORACLE).passed
