"""CREATE FUNCTION in SQL and Python: calls, views, errors, dependencies, and after a restart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from risingpy.errors import (
    DependentObjectsStillExist,
    ExternalRoutineError,
    FeatureNotSupported,
    InvalidFunctionDefinition,
    SqlError,
    SyntaxError_,
    UndefinedFunction,
)
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.functions.python import worker_process
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner
from tests.frontend.session.conftest import Client

_LABEL = """CREATE FUNCTION label(n INT, s VARCHAR) RETURNS VARCHAR LANGUAGE python IMMUTABLE AS $$
def label(n, s):
    if n == 13:
        raise ValueError("unlucky")
    return None if n is None else f"{s}:{n}"
$$"""


@pytest.fixture
def client(connect: Callable[[], Client]) -> Client:
    client = connect()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR)")
    client.run("INSERT INTO t VALUES (1, 5, 'x'), (2, NULL, 'y'), (3, 7, NULL)")
    return client


def test_a_python_function_in_a_query(client: Client) -> None:
    client.run(_LABEL)
    assert client.run("SELECT label(n, s) FROM t ORDER BY id") == [("x:5",), (None,), ("None:7",)]
    assert client.run("SELECT label(1, 'a')") == [("a:1",)]
    assert client.run("SELECT public.label(1, 'a')") == [("a:1",)]


def test_strict_functions_do_not_see_nulls(client: Client) -> None:
    client.run(_LABEL.replace("IMMUTABLE", "IMMUTABLE STRICT"))
    assert client.run("SELECT label(n, s) FROM t ORDER BY id") == [("x:5",), (None,), (None,)]


def test_a_function_of_batches(client: Client) -> None:
    client.run("""CREATE FUNCTION plus(a INT, b INT) RETURNS BIGINT LANGUAGE python IMMUTABLE WITH (batch = true) AS $$
import pyarrow.compute as pc
def plus(a, b):
    return pc.add(a, b)
$$""")
    assert client.run("SELECT plus(n, id) FROM t ORDER BY id") == [(6,), (None,), (10,)]


def test_numeric_and_other_results(client: Client) -> None:
    client.run("CREATE FUNCTION half(n NUMERIC) RETURNS NUMERIC LANGUAGE python AS 'def half(n): return n / 2'")
    client.run("CREATE FUNCTION small(n INT) RETURNS SMALLINT LANGUAGE python AS 'def small(n): return n'")
    client.run("CREATE FUNCTION answer() RETURNS INT LANGUAGE python AS 'def answer(): return 42'")
    assert [str(row[0].normalize()) for row in client.run("SELECT half(3.5)")] == ["1.75"]  # type: ignore[attr-defined]
    assert client.run("SELECT small(3), answer()") == [(3, 42)]


def test_an_error_names_function_line_and_row(client: Client) -> None:
    client.run(_LABEL)
    with pytest.raises(ExternalRoutineError) as raised:
        client.run("SELECT label(13, 's')")
    assert raised.value.message == "function label, line 4, called with (13, 's'): ValueError: unlucky"


def test_a_view_counts_what_fails(client: Client) -> None:
    client.run(_LABEL)
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id, label(n, s) AS l FROM t")
    client.run("INSERT INTO t VALUES (4, 13, 'z'), (5, 1, 'w')")
    assert client.run("SELECT l FROM v ORDER BY id") == [("x:5",), (None,), ("None:7",), (None,), ("w:1",)]


def test_a_view_takes_immutable_functions_only(client: Client) -> None:
    client.run(_LABEL.replace("IMMUTABLE ", ""))
    assert client.run("SELECT label(1, 'a')") == [("a:1",)]
    with pytest.raises(FeatureNotSupported, match="not IMMUTABLE"):
        client.run("CREATE MATERIALIZED VIEW v AS SELECT id, label(n, s) AS l FROM t")


def test_dropping_what_a_view_needs(client: Client) -> None:
    client.run("CREATE FUNCTION inc(n INT) RETURNS INT LANGUAGE sql AS 'SELECT n + 1'")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id, inc(n) AS m FROM t")
    with pytest.raises(DependentObjectsStillExist, match="cannot drop function inc"):
        client.run("DROP FUNCTION inc")
    client.run("DROP FUNCTION inc CASCADE")
    assert client.run("SHOW MATERIALIZED VIEWS") == []
    with pytest.raises(UndefinedFunction):
        client.run("SELECT inc(1)")


def test_replacing_leaves_views_as_they_were(client: Client) -> None:
    client.run("CREATE FUNCTION inc(n INT) RETURNS INT LANGUAGE sql AS 'SELECT n + 1'")
    client.run("CREATE MATERIALIZED VIEW v AS SELECT inc(n) AS m FROM t WHERE id = 1")
    client.run("CREATE OR REPLACE FUNCTION inc(n INT) RETURNS INT LANGUAGE sql AS 'SELECT n + 100'")
    assert client.run("SELECT inc(1)") == [(101,)]
    assert client.run("SELECT m FROM v") == [(6,)]
    with pytest.raises(SqlError, match="cannot change return type"):
        client.run("CREATE OR REPLACE FUNCTION inc(n INT) RETURNS TEXT LANGUAGE sql AS 'SELECT 1::text'")


def test_overloads_and_built_in_names(client: Client) -> None:
    client.run("CREATE FUNCTION f(n INT) RETURNS TEXT LANGUAGE sql AS 'SELECT ''int'''")
    client.run("CREATE FUNCTION f(s VARCHAR) RETURNS TEXT LANGUAGE sql AS 'SELECT ''text'''")
    assert client.run("SELECT f(1), f('a')") == [("int", "text")]
    with pytest.raises(SqlError, match="is not unique"):
        client.run("DROP FUNCTION f")
    client.run("DROP FUNCTION f(int), f(varchar)")
    client.run("CREATE FUNCTION upper(n INT) RETURNS INT LANGUAGE sql AS 'SELECT n'")
    assert client.run("SELECT upper('a'), upper(3)") == [("A", 3)]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        ("CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE python AS 'def g(n): return n'", InvalidFunctionDefinition),
        ("CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE python AS 'def f(n) return n'", InvalidFunctionDefinition),
        ("CREATE FUNCTION f(n INT, n INT) RETURNS INT LANGUAGE sql AS 'SELECT 1'", InvalidFunctionDefinition),
        ("CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE sql AS 'SELECT 1; SELECT 2'", FeatureNotSupported),
        ("CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE sql AS 'DELETE FROM t RETURNING id'", FeatureNotSupported),
        ("CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE javascript AS 'x'", FeatureNotSupported),
        ("CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE wasm AS 'x'", FeatureNotSupported),
        ("CREATE FUNCTION f(VARIADIC n INT[]) RETURNS INT LANGUAGE python AS 'x'", FeatureNotSupported),
        ("CREATE FUNCTION f(n anyelement) RETURNS INT LANGUAGE python AS 'x'", FeatureNotSupported),
        ("CREATE FUNCTION f(OUT n INT) RETURNS INT LANGUAGE python AS 'f = print'", FeatureNotSupported),
        ("CREATE PROCEDURE f() LANGUAGE python AS 'x'", SyntaxError_),
        ("DO $$ BEGIN END $$", FeatureNotSupported),
        ("CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE java AS 'x'", FeatureNotSupported),
        ("CREATE FUNCTION f(n INT) RETURNS TABLE (a INT) LANGUAGE sql AS 'SELECT 1, 2'", InvalidFunctionDefinition),
        ("CREATE FUNCTION f(n INT) RETURNS SETOF INT LANGUAGE sql AS 'SELECT now()'", InvalidFunctionDefinition),
    ],
)
def test_refused(client: Client, sql: str, error: type[SqlError]) -> None:
    with pytest.raises(error):
        client.run(sql)


def test_a_function_that_does_not_end(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "TIME_LIMIT_SECONDS", 0.3)
    client.run("CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE python AS $$\ndef f(n):\n    while True: pass\n$$")
    with pytest.raises(ExternalRoutineError, match="took more than"):
        client.run("SELECT f(1)")


def test_lists(client: Client) -> None:
    client.run(_LABEL)
    shown = ("label", "integer, character varying", "character varying", "python", None)
    assert client.run("SHOW FUNCTIONS") == [shown]
    assert client.run("SELECT proname, pronargs FROM pg_catalog.pg_proc WHERE proname = 'label'") == [("label", 2)]


def test_after_a_restart(tmp_path: Path) -> None:
    view = "CREATE MATERIALIZED VIEW v AS SELECT n, label(n, 's') FROM t"
    first: list[str] = ["CREATE TABLE t (n INT PRIMARY KEY)", _LABEL, view]
    for sql, wanted in ((first, []), (["INSERT INTO t VALUES (2)"], [(2, "s:2")])):
        database = Database(tmp_path / "data", parallelism=2)
        database.start(InProcessRunner(database.data_dir))
        client = Client(open_session(database, StartupParameters("root", "dev", {}, process_id=7)))
        for statement in sql:
            client.run(statement)
        assert client.run("SELECT label(2, 'b')") == [("b:2",)]
        assert client.run("SELECT * FROM v") == wanted
        client.session.close()
        database.close()
