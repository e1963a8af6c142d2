"""The command line, up to the server's door."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from risingpy.cli import main
from risingpy.sql_command import StatementFailed, run_sql, table_lines
from risingpy.sqllogictest.oracle import OracleUnavailable, running_postgresql


@pytest.fixture(scope="module")
def conninfo() -> Iterator[str]:
    try:
        with running_postgresql() as text:
            yield text
    except OracleUnavailable as error:
        pytest.skip(str(error))


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, list(arguments))
    return result.exit_code, result.output


def test_help_names_the_commands_and_loads_nothing_heavy() -> None:
    loaded = {name for name in sys.modules if name in ("pyspark", "duckdb", "pyarrow")}
    code, output = run("--help")
    assert code == 0
    assert all(command in output for command in ("serve", "sql", "slt"))
    assert loaded == {name for name in sys.modules if name in ("pyspark", "duckdb", "pyarrow")}


def test_a_wrong_setting_ends_serve_with_its_reason(tmp_path: Path) -> None:
    path = tmp_path / "bad.toml"
    path.write_text("colour = 1\n")
    code, output = run("serve", "--config", str(path))
    assert code == 2
    assert 'unknown key "colour"' in output


def test_serve_refuses_a_cluster_before_it_opens_anything(tmp_path: Path) -> None:
    data = tmp_path / "data"
    code, output = run("serve", "--master", "spark://host:7077", "--data-dir", str(data))
    assert code == 2
    assert '--master must be "local", "local[N]" or "local[N,TRIES]", not "spark://host:7077"' in output
    assert not data.exists()


def test_sql_prints_tables_as_psql_does(conninfo: str) -> None:
    output = io.StringIO()
    texts = ["SELECT 1 AS n, 'two' AS s, NULL AS z; SELECT 22 AS n WHERE false", "SET timezone = 'UTC'"]
    run_sql(conninfo, texts, output)
    assert output.getvalue() == (
        " n |  s  | z\n---+-----+---\n 1 | two |\n(1 row)\n\n"
        " n\n---\n(0 rows)\n\n"
        "SET\n"
    )  # fmt: skip


def test_sql_runs_everything_in_one_session(conninfo: str) -> None:
    output = io.StringIO()
    run_sql(conninfo, ["SET application_name = 'mine'; BEGIN", "SHOW application_name"], output)
    assert " mine\n(1 row)" in output.getvalue()


def test_sql_shows_where_a_statement_is_wrong(conninfo: str) -> None:
    with pytest.raises(StatementFailed) as caught:
        run_sql(conninfo, ["SELECT 1;\nSELECT 1,\n\tnope + 1"], io.StringIO())
    assert caught.value.lines == ['ERROR:  column "nope" does not exist', "LINE 2:  nope + 1", "         ^"]


def test_numbers_stand_right_texts_left() -> None:
    assert list(table_lines(["number", "t"], [["1", "a"], ["22", "long"]], [True, False])) == [
        " number |  t",
        "--------+------",
        "      1 | a",
        "     22 | long",
        "(2 rows)",
        "",
    ]


def test_sql_wants_something_to_run() -> None:
    code, output = run("sql")
    assert code == 2
    assert "give a statement with -c, or a file" in output


@pytest.mark.parametrize("there", [["psql", "pgcli"], ["pgcli"], []], ids=["psql", "pgcli", "none"])
def test_sql_at_a_terminal_becomes_a_shell(there: list[str], tmp_path: Path) -> None:
    for name in there:
        shell = tmp_path / name
        shell.write_text(f'#!/bin/sh\necho {name} "$@"\n')
        shell.chmod(0o755)
    main, terminal = os.openpty()
    command = [sys.executable, "-m", "risingpy", "sql", "--port", "7", "--user", "ann"]
    done = subprocess.run(
        command, stdin=terminal, capture_output=True, text=True, timeout=60, env={**os.environ, "PATH": str(tmp_path)}
    )
    os.close(main)
    os.close(terminal)
    if there:
        assert done.stdout == f"{there[0]} -h localhost -p 7 -U ann -d dev\n"
    else:
        assert done.returncode == 2 and "risingpy[shell]" in done.stderr


def test_sql_without_a_server_fails_with_its_reason() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        code, output = run("sql", "-c", "SELECT 1", "--host", "127.0.0.1", "--port", str(unused.getsockname()[1]))
    assert code == 1
    assert "ERROR:" in output
    assert "refused" in output


def test_slt_reports_and_fails(tmp_path: Path, conninfo: str) -> None:
    (tmp_path / "good.slt").write_text("query I\nSELECT 1\n----\n1\n")
    (tmp_path / "bad.slt").write_text("query I\nSELECT 1\n----\n2\n")
    junit = tmp_path / "results.xml"
    code, output = run("slt", "--mode", "oracle", "--junit", str(junit), str(tmp_path))
    assert code == 1
    assert "2 files: 1 ok, 1 failed" in output
    assert "bad.slt:1: SELECT: wrong rows" in output
    assert junit.exists()
    assert run("slt", "--mode", "oracle", str(tmp_path / "good.slt"))[0] == 0


def test_slt_refuses_what_is_not_there(tmp_path: Path) -> None:
    code, output = run("slt", str(tmp_path / "none.slt"))
    assert code == 2
    assert "no such file" in output
