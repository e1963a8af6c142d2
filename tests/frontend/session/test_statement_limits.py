"""Limits of statements: memory, and numbers whose digits no type has."""

from __future__ import annotations

import threading
import time

import pytest

from risingpy import statement_limits
from risingpy.errors import NumericValueOutOfRange, OutOfMemory, SqlError
from risingpy.executors.epoch import job_watch
from risingpy.frontend.wire.responder import as_sql_error
from tests.frontend.session.conftest import Client

_TOO_LARGE = (
    "SELECT length(repeat('x', 900000000))",
    "SELECT length(lpad('x', 900000000, 'yz'))",
    "SELECT length(rpad('x', 900000000))",
    "SELECT max(length(repeat('x', 1000000 + i))) FROM generate_series(1, 2000) AS i",
    "SELECT length(replace(repeat('a', 100000), 'a', repeat('b', 20000)))",
    "SELECT array_fill(1, array[100000000])",
    "SELECT length(string_agg(i || repeat('y', 100), ',')) FROM generate_series(1, 2000000) AS i",
    "SELECT array_agg(i) FROM generate_series(1, 100000000) AS i",
    "SELECT count(*) FROM generate_series(1.0, 100000000.0) AS i",
    "SELECT count(*) FROM generate_series('2000-01-01'::timestamptz, '9000-01-01', '1 hour'::interval + '1 min') AS i",
    "WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT count(*) FROM r",
    "INSERT INTO t SELECT i, repeat('x', 1000) FROM generate_series(1, 1000000) AS i",
    "SELECT repeat('x', 5000000) || i FROM generate_series(1, 10000) AS i",
)


@pytest.mark.parametrize("query", _TOO_LARGE)
def test_past_its_memory_a_statement_ends_alone(client: Client, query: str) -> None:
    client.run("CREATE TABLE t (i INT PRIMARY KEY, s VARCHAR)")
    client.run("SET statement_memory = '64MB'")
    with pytest.raises(OutOfMemory) as error:
        client.run(query)
    assert error.value.sqlstate == "53200"
    assert error.value.hint is not None
    client.run("INSERT INTO t VALUES (1, 'a')")
    assert client.run("SELECT * FROM t") == [(1, "a")]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT array_agg(a.attname || b.attname) FROM pg_attribute a, pg_attribute b, pg_attribute c",
        "SELECT string_agg(a.attname || b.attname, ',') FROM pg_attribute a, pg_attribute b, pg_attribute c",
    ],
)
def test_queries_of_the_catalog_have_the_limit_of_their_statement(client: Client, query: str) -> None:
    client.run("SET statement_memory = '64MB'")
    with pytest.raises(OutOfMemory):
        client.run(query)
    client.run("SET statement_memory = '128MB'")
    assert client.run("SELECT count(*) FROM pg_namespace WHERE nspname = 'public'") == [(1,)]


@pytest.mark.parametrize("text", ["INTERRUPT Error", "Out of Memory Error: x", "MemoryError"])
def test_what_a_value_says_is_no_cancel_and_no_lack_of_memory(client: Client, text: str) -> None:
    for i in range(2):  # the second time in a later batch, whose errors come through Arrow
        with pytest.raises(SqlError) as error:
            client.run(
                "SELECT CASE WHEN g = $1 THEN $2 ELSE g::varchar END::int FROM generate_series(1, 100000) AS g",
                i * 99_999 + 1, text,
            )  # fmt: skip
        assert error.value.sqlstate == "22P02"
    for _ in range(2):
        assert client.run("SELECT 1") == [(1,)]


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ("SELECT count(*) FROM generate_series(1, 100000000)", 100000000),
        ("SELECT count(*) FROM generate_series(1, 30) AS a, generate_series(1, a * 100000) AS b", 46500000),
        ("SELECT x FROM generate_series(1, 9223372036854775807) AS s(x) LIMIT 1", 1),
        ("SELECT max(x) FROM (SELECT x FROM generate_series(1, 5000000) AS s(x) ORDER BY -x LIMIT 4000000) AS t",
         5000000),
        ("SELECT count(*) FROM (SELECT DISTINCT x % 3000000 FROM generate_series(1, 6000000) AS s(x)) AS t", 3000000),
    ],
)  # fmt: skip
def test_what_streams_or_spills_needs_little_memory(client: Client, query: str, answer: int) -> None:
    client.run("SET statement_memory = '192MB'")  # DuckDB 2.0.1 does not spill the DISTINCT within 128 MB
    assert client.run(query) == [(answer,)]


@pytest.mark.parametrize(
    "expression",
    [
        "length(regexp_replace(s, 'x', 'yyyyyyyyyy', 'g'))",
        "regexp_count(s, 'x')",
        "length(regexp_substr(s, '(x|y)+'))",
        "array_length(regexp_split_to_array(s, 'x'), 1)",
        "length((s::jsonb::text)::jsonb::text)",
    ],
)
def test_functions_of_long_texts_can_be_ended(client: Client, expression: str) -> None:
    """One vector of 2,048 rows has hundreds of megabytes, and DuckDB looks up only after it.

    Without the limit, the patterns need 16 to 90 s of a core; with it, about one second, two on a busy machine.
    """
    client.run("SET statement_memory = '1GB'; SET statement_timeout = '300ms'")
    rows = "SELECT '\"' || repeat('x', 200000 + i) || '\"' AS s FROM generate_series(1, 1500) AS i"
    began = time.process_time()
    with pytest.raises(SqlError) as error:
        client.run(f"SELECT max({expression}) FROM ({rows}) AS t")
    assert error.value.sqlstate in ("57014", "53200")
    assert time.process_time() - began < 5.0


def test_rows_that_one_epoch_could_not_take_are_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("risingpy.frontend.written_rows.share_of_memory", lambda share: 100 * 512)
    client.run("CREATE TABLE t (i INT)")
    client.run("INSERT INTO t SELECT i FROM generate_series(1, 100) AS i")
    with pytest.raises(OutOfMemory):
        client.run("INSERT INTO t SELECT i FROM generate_series(1, 1000) AS i")
    client.run("BEGIN")
    with pytest.raises(OutOfMemory):
        for _ in range(10):
            client.run("INSERT INTO t SELECT i FROM generate_series(1, 100) AS i")
    client.run("ROLLBACK")
    assert client.run("SELECT count(*) FROM t") == [(100,)]


def fan_out(client: Client, monkeypatch: pytest.MonkeyPatch, view: str) -> list[bool]:
    """Has a view meet one row that gives too many for an epoch that all share; says whether the view has stopped."""
    monkeypatch.setattr(statement_limits, "share_of_memory", lambda share: 1 << 20)
    monkeypatch.setattr(job_watch, "server_memory", lambda: 32 << 20)  # 1 MiB for an operator
    client.run("CREATE TABLE t (i INT PRIMARY KEY, n BIGINT, k INT)")
    client.run("CREATE TABLE u (i INT PRIMARY KEY, k INT)")
    client.run("INSERT INTO u SELECT i, 1 FROM generate_series(1, 20000) AS i")
    client.run(f"CREATE MATERIALIZED VIEW large AS {view}")
    client.run("CREATE MATERIALIZED VIEW other AS SELECT count(*) AS n FROM t")
    client.run("INSERT INTO t VALUES (1, 3, 1)")
    client.run("SELECT count(*) FROM large")
    client.run("INSERT INTO t VALUES (2, 1000000000000, 1)")
    assert client.run("SELECT n FROM other") == [(2,)]
    client.run("SELECT count(*) FROM large")  # waits for it, at whatever pace
    relations = client.session.context.database.reads.catalog.relations.values()
    return [relation.has_stopped for relation in relations if relation.name == "large"]


def test_a_fan_out_that_is_too_large_stops_its_view_alone(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert fan_out(client, monkeypatch, "SELECT i, x FROM t, generate_series(1, n) AS x") == [True]
    assert client.run("SELECT count(*) FROM large") == [(3,)]


def test_a_fan_out_that_is_too_large_for_others_goes_on_alone(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    view = "SELECT t.i, u.i AS j FROM t JOIN u ON t.n > 1000 AND t.k = u.k"
    assert fan_out(client, monkeypatch, view) == [False]
    assert client.run("SELECT count(*) FROM large") == [(20000,)]


_DIGITS = "9" * 5000
_NUMBERS = (
    "SELECT {}", "SELECT -{}", "SELECT 1e{}", "SELECT '{}'::numeric", "SELECT '{}'::int", "SELECT '{}'::float8",
    "SELECT '{}'::rw_int256", "SELECT interval '{} days'", "SELECT interval '{}:00'", "SELECT '{}-01-01'::date",
    "SELECT '{}:00'::time", "SELECT (array[1])[{}]", "SELECT 1 LIMIT {}", "SELECT 1 OFFSET {}", "SELECT 1 ORDER BY {}",
    "SELECT 'a'::varchar({})", "SELECT 1::numeric({})", "SELECT '[{}:{}]={{1}}'::int[]", "SELECT '[1]'::jsonb -> {}",
    "SELECT ('[{}]'::jsonb -> 0)::numeric", "SELECT 'a' ~ 'a{{{}}}'", "SELECT 'a' ~ '(a)\\{}'",
    "SELECT format('%{}s', 'a')", "SELECT to_date('{}', 'YYYY')", "SELECT to_char({}, '999')", "SELECT chr({})",
    "SELECT * FROM generate_series(1, {})", "SELECT ${}", "SET statement_timeout TO {}", "INSERT INTO t VALUES ({})",
    "SELECT sum(1) OVER (ROWS {} PRECEDING)", "CREATE TABLE u (i INT GENERATED ALWAYS AS IDENTITY (START {}))",
)  # fmt: skip


@pytest.mark.parametrize("text", _NUMBERS)
def test_a_number_of_thousands_of_digits_is_out_of_range(client: Client, text: str) -> None:
    client.run("CREATE TABLE t (i INT)")
    with pytest.raises(Exception) as error:
        client.run(text.format(_DIGITS, _DIGITS))
    assert isinstance(as_sql_error(error.value), NumericValueOutOfRange | SqlError)
    assert as_sql_error(error.value).sqlstate == "22003"


def test_a_cancel_is_seen_within_a_series(client: Client) -> None:
    client.run("SET statement_timeout = '300ms'")
    began = time.monotonic()
    with pytest.raises(SqlError, match="statement timeout"):
        client.run("SELECT count(*) FROM generate_series(1, 9000000) AS a, generate_series(1, 9000) AS b WHERE a = -b")
    assert time.monotonic() - began < 5


def test_only_the_query_engine_counts_as_outside_of_the_interpreter(client: Client) -> None:
    """A thread may have a lower priority while DuckDB computes, and not while others wait for its lock."""
    seen: list[bool] = []

    def heavy() -> None:
        client.run("SELECT count(*) FROM generate_series(1, 3000000) AS s(x) WHERE x % 7 = 3")

    assert not client.session.is_in_engine()
    working = threading.Thread(target=heavy)
    working.start()
    while working.is_alive():
        seen.append(client.session.is_in_engine())
        time.sleep(0.001)
    assert any(seen)
    assert not client.session.is_in_engine()
    prepared = threading.Thread(
        target=lambda: client.session.prepare(
            client.session.split(f"SELECT * FROM (VALUES {', '.join(f'({n})' for n in range(3000))}) t")[0], ()
        )
    )
    prepared.start()
    while prepared.is_alive():
        assert not client.session.is_in_engine()
        time.sleep(0.001)
