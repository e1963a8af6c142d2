"""CREATE, ALTER and DROP of secrets and connections, and who uses them. No value is ever shown or stored in clear."""

from __future__ import annotations

import logging
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.statements.connectors import given_options
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from risingpy.storage.engine.meta_store import MetaStore
from tests.frontend.session.conftest import Client

VALUE = "hunter2-äöü-' -- ;"
LITERAL = "'" + VALUE.replace("'", "''") + "'"


def refused(client: Client, sql: str) -> SqlError:
    with pytest.raises(SqlError) as caught:
        client.run(sql)
    return caught.value


def files_with(directory: Path, text: str) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def parquet(path: Path, *numbers: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), path)
    return path


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def fed_by(path: Path, secret: str = "place") -> str:
    return f"CREATE SECRET {secret} WITH (backend = 'meta') AS '{path}'"


SOURCE = "CREATE SOURCE s (n bigint) WITH (connector = 'file', path = SECRET place, format = 'parquet')"


def test_a_secret_has_a_name_and_no_value(client: Client) -> None:
    client.run(f"CREATE SECRET pw WITH (backend = 'meta') AS {LITERAL}")
    assert client.tag == "CREATE SECRET"
    assert client.run("SHOW SECRETS") == [("pw",)]
    [(_, schema, name, owner, acl)] = client.run("SELECT * FROM rw_catalog.rw_secrets")
    assert (schema, name, owner, acl) == (2200, "pw", 10, None)
    client.run("DROP SECRET pw")
    assert client.tag == "DROP SECRET"
    assert client.run("SHOW SECRETS") == []


def test_mistakes(client: Client) -> None:
    client.run("CREATE SECRET pw WITH (backend = 'meta') AS 'x1'")
    error = refused(client, "CREATE SECRET pw WITH (backend = 'meta') AS 'x2'")
    assert (error.sqlstate, error.message) == ("42710", 'secret "pw" already exists')
    client.run("CREATE SECRET IF NOT EXISTS pw WITH (backend = 'meta') AS 'x2'")
    assert client.notices == ['secret "pw" already exists, skipping']
    for sql, state, message in (
        ("CREATE SECRET q WITH (backend = 'fake') AS 'x'", "22023", 'secret backend "fake" is not supported'),
        ("CREATE SECRET q WITH (backend = 'hashicorp_vault') AS 'x'", "0A000", "hashicorp_vault is not supported"),
        ("CREATE SECRET q WITH (a = 'fake') AS 'x'", "42601", 'unknown option "a" of a secret'),
        ("CREATE SECRET q AS 'x'", "42601", "syntax error"),
        ("CREATE SECRET q WITH (backend = 'meta') AS ''", "22023", "a secret cannot be empty"),
        ("CREATE SECRET nosuch.q WITH (backend = 'meta') AS 'x'", "3F000", 'schema "nosuch" does not exist'),
        ("ALTER SECRET q AS 'x'", "42704", 'secret "q" does not exist'),
        ("DROP SECRET q", "42704", 'secret "q" does not exist'),
        ("CREATE SOURCE s (n int) WITH (connector = 'datagen', x = SECRET q)", "42704", 'secret "q" does not exist'),
        ("CREATE SOURCE s (n int) WITH (connector = 'datagen', connection = q)", "42704", 'connection "q" does not'),
        ("CREATE TABLE t (id int) WITH (fillfactor = SECRET pw)", "22023", "fillfactor cannot be a reference"),
    ):
        error = refused(client, sql)
        assert message in error.message, sql
        assert error.sqlstate == state, sql
    client.run("DROP SECRET IF EXISTS q")
    assert client.notices[-1] == 'secret "q" does not exist, skipping'


def test_an_option_takes_the_value_of_a_secret(client: Client, tmp_path: Path) -> None:
    client.run(fed_by(parquet(tmp_path / "hidden-place" / "a.parquet", 1, 2)))
    client.run(SOURCE)
    client.run("CREATE MATERIALIZED VIEW v AS SELECT sum(n) AS total FROM s")
    assert client.run("SELECT total FROM v") == [(3,)]
    [(_, definition)] = client.run("SHOW CREATE SOURCE s")
    assert definition == SOURCE
    assert "hidden-place" not in str(client.run("SELECT * FROM rw_catalog.rw_sources"))


def test_alter_secret_reaches_what_runs(client: Client, tmp_path: Path) -> None:
    first, second = parquet(tmp_path / "one" / "a.parquet", 1), parquet(tmp_path / "two" / "b.parquet", 10)
    client.run(fed_by(first))
    client.run(f"CREATE TABLE t (n bigint) {SOURCE.split('(n bigint)')[1].replace('s (n', '(n')}")
    client.run("FLUSH")
    assert client.run("SELECT n FROM t") == [(1,)]
    client.run(f"ALTER SECRET place AS '{second}'")
    assert client.tag == "ALTER SECRET"
    until(lambda: sorted(client.run("SELECT n FROM t")) == [(1,), (10,)])


def test_alter_secret_reaches_a_running_sink(client: Client, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    client.run(fed_by(one))
    client.run("CREATE TABLE t (n int)")
    client.run(
        "CREATE SINK k FROM t WITH (connector = 'fs', fs.path = SECRET place, type = 'append-only',"
        " force_append_only = 'true') FORMAT PLAIN ENCODE JSON"
    )
    client.run("INSERT INTO t VALUES (1)")
    client.run("WAIT SINK k")
    client.run(f"ALTER SECRET place AS '{two}'")
    client.run("INSERT INTO t VALUES (2)")
    client.run("WAIT SINK k")
    assert len(list(one.iterdir())) == len(list(two.iterdir())) == 1
    assert '"n":2' in next(two.iterdir()).read_text()
    client.run(f"ALTER SINK k SET fs.path = '{one}'")
    client.run("INSERT INTO t VALUES (3)")
    client.run("WAIT SINK k")
    assert len(list(one.iterdir())) == 2
    client.run("DROP SECRET place")  # nobody uses it any more
    client.run("CREATE SECRET back WITH (backend = 'meta') AS '" + str(two) + "'")
    client.run("ALTER SINK k SET fs.path = SECRET back")
    client.run("INSERT INTO t VALUES (4)")
    client.run("WAIT SINK k")
    assert len(list(two.iterdir())) == 2
    assert "fs.path = SECRET back" in str(client.run("SHOW CREATE SINK k"))
    assert refused(client, "DROP SECRET back").sqlstate == "2BP01"


def test_options_after_encode_take_secrets(client: Client, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.csv").write_text("1;x\n2;y\n")
    client.run("CREATE SECRET d WITH (backend = 'meta') AS ';'")
    client.run(
        f"CREATE TABLE t (n int, x text) WITH (connector = 'posix_fs', posix_fs.root = '{tmp_path / 'files'}')"
        " FORMAT PLAIN ENCODE CSV (without_header = 'true', delimiter = SECRET d)"
    )
    until(lambda: client.run("SELECT n, x FROM t ORDER BY n") == [(1, "x"), (2, "y")])


def test_what_a_secret_feeds_holds_it(client: Client, tmp_path: Path) -> None:
    client.run(fed_by(parquet(tmp_path / "x.parquet", 1)))
    client.run(SOURCE)
    client.run("CREATE MATERIALIZED VIEW v AS SELECT n FROM s")
    error = refused(client, "DROP SECRET place")
    assert (error.sqlstate, error.message, error.detail) == (
        "2BP01",
        "cannot drop secret place because other objects depend on it",
        "source s depends on secret place",
    )
    client.run("DROP SECRET place CASCADE")
    assert client.notices[-2:] == ["drop cascades to materialized view v", "drop cascades to source s"]
    assert client.run("SHOW SOURCES") == []


def test_a_schema_takes_its_secrets_along(client: Client) -> None:
    client.run("CREATE SCHEMA a")
    client.run("CREATE SECRET a.pw WITH (backend = 'meta') AS 'x'")
    client.run("CREATE CONNECTION a.c WITH (type = 'iceberg', s3.secret.key = SECRET a.pw)")
    assert client.run("SHOW SECRETS FROM a") == [("pw",)]
    assert client.run("SHOW SECRETS") == []
    error = refused(client, "DROP SCHEMA a")
    assert error.detail == "connection a.c depends on schema a\nsecret a.pw depends on schema a"
    client.run("DROP SCHEMA a CASCADE")
    assert client.notices[-1] == "drop cascades to 2 other objects"
    assert client.run("SELECT name FROM rw_catalog.rw_secrets") == []


def test_a_connection_shows_no_password(client: Client) -> None:
    client.run("CREATE SECRET pw WITH (backend = 'meta') AS 'hunter2'")
    client.run(
        "CREATE CONNECTION c WITH (type = 'iceberg', warehouse.path = '/w', s3.access.key = 'AKIA9876',"
        " s3.secret.key = SECRET pw)"
    )
    assert client.tag == "CREATE CONNECTION"
    shown = '{"warehouse.path": "/w", "s3.access.key": "***", "s3.secret.key": "SECRET pw"}'
    assert client.run("SHOW CONNECTIONS") == [("c", "iceberg", shown)]
    [row] = client.run("SELECT name, type_, connection_params FROM rw_catalog.rw_connections")
    assert row == ("c", "ICEBERG", shown)
    assert refused(client, "DROP SECRET pw").detail == "connection c depends on secret pw"
    client.run("ALTER CONNECTION c CONNECTOR WITH (s3.secret.key = 'other-key')")
    client.run("DROP SECRET pw")
    client.run("DROP CONNECTION c")
    assert client.tag == "DROP CONNECTION"


@pytest.mark.parametrize(
    "sql, message",
    [
        ("CREATE CONNECTION c WITH (a = 'b')", 'unknown type "" of a connection'),
        ("CREATE CONNECTION c WITH (type = 'elastic')", 'unknown type "elastic" of a connection'),
        ("CREATE CONNECTION c WITH (type = 'iceberg', topic = 'x')", 'unknown option "topic" of a connection'),
        ("CREATE CONNECTION c WITH (type = 'schema_registry')", "needs the option schema.registry"),
        ("CREATE CONNECTION c WITH (type = 'iceberg', type = 'iceberg')", 'option "type" specified more than once'),
        ("ALTER CONNECTION c CONNECTOR WITH (type = 'kafka')", "the type of a connection cannot be changed"),
        ("ALTER CONNECTION nosuch CONNECTOR WITH (a = 'b')", 'connection "nosuch" does not exist'),
    ],
)
def test_mistakes_with_connections(client: Client, sql: str, message: str) -> None:
    assert message in refused(client, sql).message


def test_a_connection_is_for_its_connector(client: Client) -> None:
    client.run("CREATE CONNECTION c WITH (type = 'iceberg', warehouse.path = '/w')")
    error = refused(client, "CREATE SOURCE s (n int) WITH (connector = 'datagen', connection = c)")
    assert error.message == 'connection "c" of type iceberg does not fit connector "datagen"'
    assert error.position == 67
    client.run("CREATE TABLE t (id int PRIMARY KEY)")
    error = refused(
        client,
        "CREATE SINK k FROM t WITH (connector = 'iceberg', connection = c, warehouse.path = '/x', type = 'upsert')",
    )
    assert error.message.startswith('option "warehouse.path" is given twice')


def test_secrets_are_for_their_owners(client: Client) -> None:
    """Whoever may name a secret may send it anywhere."""
    client.run("CREATE SECRET pw WITH (backend = 'meta') AS 'hunter2'")
    client.run("CREATE CONNECTION c WITH (type = 'iceberg', warehouse.path = 's3://w')")
    client.run("CREATE USER alice")
    client.run("GRANT CREATE ON SCHEMA public TO alice; SET ROLE alice")
    for sql in (
        "CREATE SOURCE s (n int) WITH (connector = 'datagen', fields.n.start = SECRET pw)",
        "CREATE TABLE w (d jsonb) WITH (connector = 'webhook') VALIDATE SECRET pw AS true",
        "CREATE CONNECTION d WITH (type = 'iceberg', s3.secret.key = SECRET pw)",
        "ALTER SECRET pw AS 'mine'",
    ):
        error = refused(client, sql)
        assert (error.sqlstate, error.message) == ("42501", "permission denied for secret pw"), sql
    assert refused(client, "ALTER CONNECTION c CONNECTOR WITH (s3.region = 'x')").message == (
        "permission denied for connection c"
    )
    for sql, what in (
        ("DROP SECRET pw", "secret pw"),
        ("DROP SECRET pw CASCADE", "secret pw"),
        ("DROP CONNECTION c", "connection c"),
    ):
        assert refused(client, sql).message == f"must be owner of {what}"
    client.run("RESET ROLE; GRANT USAGE ON SECRET pw TO alice; SET ROLE alice")
    client.run("CREATE CONNECTION d WITH (type = 'iceberg', s3.secret.key = SECRET pw); DROP CONNECTION d")
    assert refused(client, "ALTER SECRET pw AS 'mine'").message == "must be owner of secret pw"
    client.run("GRANT USAGE ON SECRET pw TO PUBLIC")
    assert client.notices[-1] == 'no privileges were granted for "pw"'
    client.run("CREATE SECRET mine WITH (backend = 'meta') AS 'x1'; ALTER SECRET mine AS 'x2'; DROP SECRET mine")
    client.run("RESET ROLE")
    client.run("DROP SECRET pw; DROP CONNECTION c")


# Nothing is in clear


def test_no_file_has_a_value(database: Database, client: Client, tmp_path: Path) -> None:
    """Neither a secret's, nor a password's that stands in a statement. A backup, too, has them sealed."""
    client.run(f"CREATE SECRET pw WITH (backend = 'meta') AS {LITERAL}")
    client.run("CREATE TABLE t (n int)")
    given = "connector = 'blackhole', type = 'append-only', force_append_only = 'true'"
    refused(client, f"CREATE SINK k FROM t WITH ({given}, password = 'unlikely-word')")
    client.run("CREATE TABLE w (d jsonb) WITH (connector = 'webhook') VALIDATE SECRET pw AS headers->>'x' = pw")
    client.run(
        "CREATE CONNECTION c WITH (type = 'iceberg', s3.secret.key = 'unlikely-word', catalog.token = SECRET pw)"
    )
    client.run("INSERT INTO t VALUES (1)")
    client.run("FLUSH")
    client.run(f"BACKUP TO '{tmp_path / 'backup'}'")
    assert files_with(tmp_path, VALUE) == files_with(tmp_path, "hunter2") == files_with(tmp_path, "unlikely-word") == []
    for directory in (tmp_path / "backup", tmp_path / "data"):
        assert stat.S_IMODE(directory.stat().st_mode) == 0o700


def test_no_text_has_a_value(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    client.run("SET log_min_duration_statement = 0")
    client.run(f"CREATE SECRET pw WITH (backend = 'meta') AS {LITERAL}")
    client.run(f"ALTER SECRET pw AS {LITERAL}")
    client.run("CREATE CONNECTION c WITH (type = 'iceberg', s3.secret.key = 'hunter2')")
    for wrong in (
        f"CREATE SECRET pw WITH (backend = 'meta') AS {LITERAL}",
        f"CREATE SECRET q WITH (backend = 'meta') {LITERAL}",
        f"ALTER SECRET pw WITH (backend = 'meta') {LITERAL}",
        f"ALTER SECRET pw AS {LITERAL} AND MORE",
        "CREATE SOURCE s (n int) WITH (connector = SECRET pw)",
        "CREATE SOURCE s (n int) WITH (connector = 'datagen', fields.n.kind = SECRET pw)",
        "CREATE SOURCE s (n bigint) WITH (connector = 'file', format = SECRET pw, path = 'x')",
    ):
        assert "hunter2" not in str(refused(client, wrong).told), wrong
    assert "hunter2" not in str(client.run("SELECT * FROM pg_stat_activity"))
    assert "hunter2" not in caplog.text
    assert "CREATE SECRET pw WITH (backend = 'meta') AS '***'" in caplog.text


def test_a_text_is_hidden_before_it_is_parsed(client: Client) -> None:
    record = client.session.context.record
    for sql in ("ALTER SECRET pw AS 'hunter2'", "ALTER/**/SECRET pw AS $$hunter2$$", "CREATE SECRET x 'hunter2"):
        with pytest.raises(SqlError):
            client.session.split(f"{sql} '")
        assert "hunter2" not in record.activity().query


# Earlier versions, and keys that are gone


@contextmanager
def opened(data: Path, key_file: Path | None = None) -> Iterator[tuple[Database, Client]]:
    database = Database(data, parallelism=2, key_file=key_file)
    database.start(InProcessRunner(database.data_dir))
    client = Client(open_session(database, StartupParameters("root", "dev", {}, process_id=7)))
    try:
        yield database, client
    finally:
        client.session.close()
        database.close()


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data directory in which a sink has an option in clear: the directory `place`, which counts as a password."""
    monkeypatch.setattr("risingpy.connectors.secret_options._NAMES", frozenset({"fs.path"}))
    with monkeypatch.context() as patched, opened(tmp_path / "data") as (_, client):
        patched.setattr(given_options, "sealed", lambda vault, stored: stored)
        client.run("CREATE TABLE t (n int)")
        client.run(
            f"CREATE SINK k FROM t WITH (connector = 'fs', fs.path = '{tmp_path / 'place'}', type = 'append-only',"
            " force_append_only = 'true') FORMAT PLAIN ENCODE JSON"
        )
        client.run("INSERT INTO t VALUES (1)")
        client.run("WAIT SINK k")
    return tmp_path / "data"


def test_passwords_of_earlier_versions_are_sealed(earlier: Path, tmp_path: Path) -> None:
    """Afterwards no file has them, and what used them goes on."""
    place = tmp_path / "place"
    assert files_with(earlier, str(place)) == [earlier / "meta" / "data.mdb"]
    graph = earlier / "run" / "graph-1000"
    graph.write_text(str(place))
    with opened(earlier) as (_, client):
        assert files_with(earlier, str(place)) == []
        client.run("INSERT INTO t VALUES (2)")
        client.run("WAIT SINK k")
        assert len(list(place.iterdir())) == 2
        assert "fs.path = '***'" in str(client.run("SHOW CREATE SINK k")).replace("\\", "")
    assert files_with(earlier, str(place)) == []
    assert not (earlier / "sealing").exists()


def test_sealing_that_was_interrupted_is_finished(earlier: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = earlier.with_name("place")
    with monkeypatch.context() as dying, pytest.raises(ZeroDivisionError):
        dying.setattr(MetaStore, "rewrite", lambda self: 1 // 0)
        Database(earlier, parallelism=2)
    assert files_with(earlier, str(place))
    with opened(earlier) as (_, client):
        client.run("INSERT INTO t VALUES (2)")
        client.run("WAIT SINK k")
        assert len(list(place.iterdir())) == 2
    assert files_with(earlier, str(place)) == []


def test_without_the_key_the_server_does_not_start(tmp_path: Path) -> None:
    data, key = tmp_path / "data", tmp_path / "data.key"
    with opened(data) as (_, client):
        client.run(fed_by(parquet(tmp_path / "a" / "a.parquet", 1)))
        client.run(SOURCE)
        client.run("CREATE MATERIALIZED VIEW v AS SELECT n FROM s")
    kept = key.rename(tmp_path / "kept.key")
    with pytest.raises(SqlError, match="their key is not there") as caught:
        Database(data, parallelism=2)
    assert "--secret-key-file" in str(caught.value.hint)
    with opened(data, kept) as (_, client):
        assert client.run("SELECT n FROM v") == [(1,)]
    key.write_text("ab" * 32)
    key.chmod(0o600)
    with opened(data) as (database, client):  # an operator who has lost the key sets the secrets again
        until(lambda: any("another key" in str(lag.failure) for lag in database.introspection.source_lags()))
        assert client.run("SELECT n FROM v") == [(1,)]
        client.run(f"ALTER SECRET place AS '{parquet(tmp_path / 'b' / 'b.parquet', 2)}'")
        until(lambda: client.run("SELECT n FROM v ORDER BY n") == [(1,), (2,)])


def test_a_database_without_secrets_makes_no_key(client: Client, tmp_path: Path) -> None:
    client.run("CREATE TABLE t (n int)")
    assert not (tmp_path / "data.key").exists()
