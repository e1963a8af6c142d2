"""`risingpy.connect("postgresql://…")`: what a connection adds to what test_embedded.py says of both."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

import risingpy
from risingpy.client.interface import OpenDatabase
from risingpy.errors import QueryCanceled, SqlError
from risingpy.server_process import HOST, ServerProcess

_MANY_FILES = 1100  # more than select() knows


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("server") / "data", engine="inprocess")
    yield process
    process.stop()


@pytest.fixture
def db(server: ServerProcess) -> Iterator[OpenDatabase]:
    with risingpy.connect(_url(server)) as database:
        database.sql("CREATE SCHEMA s; SET search_path = s")
        yield database
        database.sql("DROP SCHEMA s CASCADE")


def _url(server: ServerProcess, user: str = "root") -> str:
    return f"postgresql://{user}@{HOST}:{server.port}/dev"


def test_arrays_have_the_depth_that_they_show(db: OpenDatabase) -> None:
    found = db.sql("SELECT ARRAY[[1, 2], [3, NULL]], ARRAY['{', NULL, '\\'], NULL::int[], '{}'::int[]")
    assert found.fetchone() == ([[1, 2], [3, None]], ["{", None, "\\"], None, [])
    assert found.types == ["integer[][]", "character varying[]", "integer[]", "integer[]"]
    assert found.arrow().column(0).type == pa.list_(pa.list_(pa.int32()))


def test_what_the_protocol_does_not_tell_comes_as_text(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (s STRUCT<a INT, b VARCHAR>, n NUMERIC(10, 2), e VARCHAR(5))")
    db.sql("INSERT INTO t VALUES (ROW(1, 'x y'), 1.5, 'abc')")
    found = db.sql("SELECT s, n, e, MAP {'k': 1} AS m FROM t")
    assert found.fetchone() == ('(1,"x y")', Decimal("1.50"), "abc", "{k:1}")
    assert found.arrow().column("n").type == pa.decimal128(10, 2)
    assert db.sql("SELECT 't'::regclass").fetchone() == ("t",)
    assert len(db.sql("SELECT FROM t")) in (0, 1), "a row without a column"


NESTED = pa.table(
    {
        "l": [[1, None], None, []],
        "s": [{"a": 1, "b": 'x,"\t'}, None, {"a": None, "b": ""}],
        "j": [[{"k": 1.5}], None, []],
        "v": ["a\tb\\\nc", "\\N", ""],
        "b": [b"\x00\\\n", None, b""],
        "w": pa.array([None, "x", "y"]).dictionary_encode(),
    }
)


def test_every_value_arrives_as_it_was(db: OpenDatabase, tmp_path: Path) -> None:
    """The same rows into a server and into a directory are the same in both."""
    create = "CREATE TABLE t (l INT[], s STRUCT<a INT, b VARCHAR>, j JSONB, v VARCHAR, b BYTEA, w VARCHAR)"
    read = "SELECT l, (s).a, (s).b, j::varchar, v, b, w, s IS NULL FROM t"
    with risingpy.connect(tmp_path / "data", parallelism=1) as directory:
        for each in (db, directory):
            each.sql(create)
            assert each.insert("t", NESTED) == 3
        of_both = [sorted(map(repr, each.sql(read))) for each in (db, directory)]
    assert of_both[0] == of_both[1]
    assert "'a\\tb\\\\\\nc'" in of_both[0][0] + of_both[0][1] + of_both[0][2]


def test_what_cannot_be_sent_is_an_error_and_the_session_goes_on(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (v TEXT)")
    wrong: list[tuple[str, list[object]]] = [("SELECT 1\0", []), ("SELECT $1::text", ["a\0"])]
    for text, parameters in wrong:
        with pytest.raises(SqlError) as error:
            db.sql(text, parameters)
        assert error.value.sqlstate == "22021"
    for text in ("COPY t FROM STDIN", "COPY (SELECT * FROM generate_series(1, 300000)) TO STDOUT"):
        with pytest.raises(SqlError) as error:
            db.sql(text)
        assert error.value.sqlstate == "0A000"
        assert db.sql("SELECT 1").fetchone() == (1,)
    with pytest.raises(SqlError):
        db.insert("t (v) TO STDOUT --", [{"v": "x"}])
    with pytest.raises(SqlError):
        db.insert("t", iter([1]))  # type: ignore[arg-type]
    assert db.sql("SELECT count(*) FROM t").fetchone() == (0,)


def test_a_failed_transaction_is_told_and_rolled_back(db: OpenDatabase) -> None:
    db.sql("CREATE TABLE t (k INT)")
    session = db.session()
    session.sql("BEGIN")
    session.sql("INSERT INTO s.t VALUES (1)")
    with pytest.raises(SqlError):
        session.sql("SELECT 1 / 0")
    assert session.in_transaction
    with pytest.raises(SqlError) as error:
        session.sql("SELECT 1")
    assert error.value.sqlstate == "25P02"
    session.close()
    assert db.sql("SELECT count(*) FROM t").fetchone() == (0,)


def test_rights_are_the_users(db: OpenDatabase, server: ServerProcess) -> None:
    db.sql(
        "CREATE TABLE t (v INT[]); CREATE USER writer; GRANT USAGE ON SCHEMA s TO writer; GRANT INSERT ON t TO writer"
    )
    try:
        with risingpy.connect(_url(server, "writer")) as other:
            assert other.insert("s.t", [{"v": "{1}"}]) == 1
            with pytest.raises(SqlError) as error:
                other.sql("SELECT * FROM s.t")
            assert error.value.sqlstate == "42501"
    finally:
        db.sql("DROP OWNED BY writer; DROP USER writer")


def test_a_target_that_cannot_be_reached_says_why(server: ServerProcess) -> None:
    nowhere = f"postgresql://root@{HOST}:1/dev"
    for target, reason in ((nowhere, "refused"), (_url(server, "nobody"), "nobody"), (_url(server) + "x", "devx")):
        with pytest.raises(SqlError, match=reason) as error:
            risingpy.connect(target)
        assert (error.value.sqlstate, error.value.hint) == ("08001", None)
    with pytest.raises(SqlError, match="parallelism is for a database in a directory"):
        risingpy.connect(_url(server), parallelism=2)


def test_a_server_that_goes_away_ends_what_waits(tmp_path: Path) -> None:
    process = ServerProcess(tmp_path / "data", engine="inprocess")
    try:
        database = risingpy.connect(_url(process))
        database.sql("CREATE TABLE t (k INT)")
        changes = database.subscribe("t")
        live = database.watch("t")
        killing = threading.Timer(0.2, process.kill)
        killing.start()
        with pytest.raises(SqlError) as error:
            next(changes)
        killing.join()
        assert error.value.sqlstate in ("08006", "57P01")
        assert live.wait(30) is None
        with pytest.raises(SqlError) as error:
            database.sql("SELECT 1")
        assert error.value.sqlstate == "08006"
        assert live.error is not None and "<pre>" in live._repr_html_()
        for each in (changes, live, database, database):
            each.close()
        with pytest.raises(SqlError, match="closed"):
            database.sql("SELECT 1")
    finally:
        process.kill()


def test_a_stream_in_a_process_with_very_many_files(server: ServerProcess) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < _MANY_FILES + 512:
        pytest.skip(f"a process may have {hard} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, _MANY_FILES + 512), hard))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(_MANY_FILES)]
    try:
        with risingpy.connect(_url(server)) as database:
            database.sql("CREATE TABLE many_files (k INT)")
            with database.subscribe("many_files") as changes:
                threading.Timer(0.2, lambda: database.sql("INSERT INTO many_files VALUES (1)")).start()
                assert next(changes).row == {"k": 1}
            database.sql("DROP TABLE many_files")
    finally:
        for each in files:
            os.close(each)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_password_is_not_shown(server: ServerProcess) -> None:
    with risingpy.connect(f"postgresql://root:hush@{HOST}:{server.port}/dev") as database:
        assert repr(database) == f"<risingpy database at {HOST}:{server.port}/dev>"


def test_cancelled_from_another_thread_it_is_a_cancelled_query(db: OpenDatabase) -> None:
    session = db.session()
    stop = threading.Event()

    def cancel_until_it_ends() -> None:
        while not stop.wait(0.05):
            session.cancel()

    canceller = threading.Thread(target=cancel_until_it_ends)
    canceller.start()
    try:
        with pytest.raises(QueryCanceled):
            session.sql(
                "SELECT count(*) FROM generate_series(1, 100000) a, generate_series(1, 1000000) b WHERE a = b * 2"
            )
    finally:
        stop.set()
        canceller.join()
    assert session.sql("SELECT 1").fetchone() == (1,)
