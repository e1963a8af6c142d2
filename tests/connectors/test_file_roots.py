"""Files of sources and sinks lie below directories that the operator names, whatever links say; others need a right."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from risingpy.connectors.file_roots import ENVIRONMENT_NAME, allowed
from risingpy.errors import SqlError
from tests.engines import Engine
from tests.meta.conftest import Client, Server


@pytest.fixture
def server(tmp_path: Path, engine: Engine) -> Iterator[Server]:
    started = Server(tmp_path / "data", engine)
    yield started
    started.stop()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only directory that is allowed."""
    made = tmp_path / "root"
    made.mkdir()
    monkeypatch.setenv(ENVIRONMENT_NAME, str(made))
    return made


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    made = tmp_path / "outside"
    made.mkdir()
    pq.write_table(pa.table({"n": pa.array([1], pa.int64())}), made / "a.parquet")
    (made / "a.csv").write_text("n\n1\n")
    return made


STATEMENTS = {
    "a source": "CREATE SOURCE s (n bigint) WITH (connector = 'file', path = '{path}/*.parquet', format = 'parquet')",
    "a table": "CREATE TABLE s (n bigint) WITH (connector = 'file', path = '{path}/a.parquet', format = 'parquet')",
    "files of a directory": "CREATE TABLE s (n bigint) WITH (connector = 'posix_fs', posix_fs.root = '{path}')"
    " FORMAT PLAIN ENCODE CSV",
    "a schema": "CREATE TABLE s (*) WITH (connector = 'posix_fs', posix_fs.root = '{root}') FORMAT PLAIN ENCODE AVRO"
    " (schema.location = 'file://{path}/a.csv')",
    "a sink": "CREATE SINK s FROM t WITH (connector = 'fs', fs.path = '{path}', type = 'append-only',"
    " force_append_only = 'true') FORMAT PLAIN ENCODE JSON",
}


def run(client: Client, what: str, path: Path | str, root: Path) -> None:
    client.run("CREATE TABLE IF NOT EXISTS t (n int)")
    client.run(STATEMENTS[what].format(path=path, root=root))


@pytest.mark.parametrize("what", [what for what in STATEMENTS if what != "a schema"])
def test_nothing_is_outside(server: Server, root: Path, outside: Path, what: str) -> None:
    (root / "link").symlink_to(outside)
    for path in (outside, f"{root}/../outside", root / "link", "/etc"):
        with pytest.raises(SqlError) as caught:
            run(server.client(), what, path, root)
        assert caught.value.sqlstate == "42501", path
        assert "is outside of the directories for files of sources and sinks" in caught.value.message
        assert caught.value.hint == f"The server allows files below {root}."
    assert sorted(path.name for path in outside.iterdir()) == ["a.csv", "a.parquet"]


def test_without_roots_there_are_no_files(server: Server, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT_NAME)
    with pytest.raises(SqlError) as caught:
        run(server.client(), "a source", root, root)
    assert caught.value.hint == "The server allows none: see --file-roots."


def test_a_file_that_is_a_link_out_is_not_read(server: Server, root: Path, outside: Path) -> None:
    client = server.client()
    pq.write_table(pa.table({"n": pa.array([7], pa.int64())}), root / "b.parquet")
    (root / "a.parquet").symlink_to(outside / "a.parquet")
    run(client, "a source", root, root)
    client.run("CREATE MATERIALIZED VIEW v AS SELECT n FROM s")
    assert client.run("SELECT n FROM v") == [(7,)]


def test_a_directory_that_becomes_a_link_out(server: Server, root: Path, outside: Path) -> None:
    """What was allowed when the sink was made is looked at again when it writes."""
    client = server.client()
    (root / "out").mkdir()
    run(client, "a sink", root / "out", root)
    client.run("INSERT INTO t VALUES (1)")
    client.run("WAIT SINK s")
    (root / "out").rename(root / "former")
    (root / "out").symlink_to(outside)
    client.run("INSERT INTO t VALUES (2)")
    client.run("FLUSH")
    end = time.monotonic() + 20
    while not any(status.failure for _, status in server.database.sinks.status()):
        assert time.monotonic() < end, "the sink has not told that it cannot write"
        time.sleep(0.05)
    assert sorted(path.name for path in outside.iterdir()) == ["a.csv", "a.parquet"]


def test_roots_may_be_links_themselves(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "alias").symlink_to(root)
    monkeypatch.setenv(ENVIRONMENT_NAME, os.pathsep.join(("/nowhere", str(tmp_path / "alias"))))
    assert allowed(str(root / "x")) == root / "x"
    assert allowed(str(tmp_path / "alias" / "y")) == root / "y"
    for path in (f"{root}x", str(tmp_path), f"{root}/../x", "relative"):
        with pytest.raises(SqlError):
            allowed(path)


@pytest.mark.parametrize("what", STATEMENTS)
def test_files_are_for_superusers_and_members(server: Server, root: Path, what: str) -> None:
    client = server.client()
    client.run("CREATE TABLE t (n int)")
    client.run("CREATE USER alice; GRANT SELECT ON t TO alice; GRANT CREATE ON SCHEMA public TO alice")
    role = "pg_write_server_files" if what == "a sink" else "pg_read_server_files"
    client.run("SET ROLE alice")
    with pytest.raises(SqlError) as caught:
        run(client, what, root, root)
    assert caught.value.sqlstate == "42501"
    assert caught.value.message.startswith(f"must be superuser or have privileges of the {role} role to")
    client.run("RESET ROLE")


def test_functions_in_python_are_for_superusers(server: Server) -> None:
    client = server.client()
    client.run("CREATE USER alice; GRANT CREATE ON SCHEMA public TO alice")
    client.run("SET ROLE alice")
    with pytest.raises(SqlError) as caught:
        client.run("CREATE FUNCTION f(a INT) RETURNS INT LANGUAGE python AS $$def f(a): return a$$")
    assert (caught.value.sqlstate, caught.value.message) == ("42501", "permission denied for language python")
    client.run("CREATE FUNCTION g(a INT) RETURNS INT LANGUAGE sql AS $$SELECT $1 + 1$$")
    with pytest.raises(SqlError, match="pg_write_server_files"):
        client.run("BACKUP TO '/tmp/alice'")
