"""CREATE FUNCTION … RETURNS TABLE and CREATE AGGREGATE in Python: in FROM, select lists and views, limits, lists."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal, localcontext

import pytest

from risingpy.errors import (
    DependentObjectsStillExist,
    ExternalRoutineError,
    ExternalRoutineLimitExceeded,
    FeatureNotSupported,
    InvalidFunctionDefinition,
    SqlError,
    UndefinedFunction,
)
from risingpy.functions.python import worker_process
from tests.frontend.session.conftest import Client

_WORDS = """CREATE FUNCTION words(s VARCHAR, least INT) RETURNS TABLE (word VARCHAR, size INT)
LANGUAGE python IMMUTABLE AS $$
def words(s, least):
    for word in (s or "").split():
        if len(word) >= least:
            yield word, len(word)
$$"""
_UPTO = """CREATE FUNCTION upto(n INT) RETURNS SETOF INT LANGUAGE python IMMUTABLE STRICT AS $$
def upto(n):
    return list(range(n))
$$"""
_WEIGHTED = """CREATE AGGREGATE weighted(v INT, w INT) RETURNS DOUBLE PRECISION LANGUAGE python AS $$
def create_state():
    return 0, 0

def accumulate(state, v, w):
    if v is None or w is None:
        return state
    return state[0] + v * w, state[1] + w
{retract}
def finish(state):
    return state[0] / state[1] if state[1] else None
$$"""
_RETRACT = """
def retract(state, v, w):
    if v is None or w is None:
        return state
    return state[0] - v * w, state[1] - w
"""
_JOINED = """CREATE AGGREGATE joined(s VARCHAR) RETURNS VARCHAR LANGUAGE python AS $$
class joined:
    def create_state(self):
        return []

    def accumulate(self, state, s):
        if s == "bad":
            raise ValueError("no")
        return [*state, s or "-"]

    def finish(self, state):
        return "".join(state)
$$"""


@pytest.fixture
def client(connect: Callable[[], Client]) -> Client:
    client = connect()
    client.run("CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR)")
    client.run("INSERT INTO t VALUES (1, 2, 'a bc'), (2, NULL, 'x'), (3, 1, NULL)")
    return client


def _both(client: Client, query: str, name: str = "v") -> list[tuple[object, ...]]:
    """The answer of SELECT, which a view made now must give too."""
    client.run(f"CREATE MATERIALIZED VIEW {name} AS {query}")
    answer = client.run(query)
    assert sorted(client.run(f"SELECT * FROM {name}"), key=repr) == sorted(answer, key=repr)
    return answer


def test_table_functions_in_from(client: Client) -> None:
    client.run(_WORDS)
    client.run(_UPTO)
    assert client.run("SELECT * FROM words('a bc def', 2)") == [("bc", 2), ("def", 3)]
    assert client.run("SELECT w, size FROM words('a bc', 1) WITH ORDINALITY AS x(w, size, k) WHERE k = 2") == [
        ("bc", 2)
    ]
    assert client.run("SELECT sum(upto) FROM upto(5)") == [(10,)]
    assert client.run("SELECT i FROM upto(2) AS i") == [(0,), (1,)]
    query = "SELECT id, word, size FROM t, words(s, 1)"
    assert sorted(_both(client, query)) == [(1, "a", 1), (1, "bc", 2), (2, "x", 1)]
    left = "SELECT id, word FROM t LEFT JOIN words(s, 2) ON true"
    assert sorted(_both(client, left, "w"), key=repr) == [(1, "bc"), (2, None), (3, None)]
    client.run("UPDATE t SET s = 'new words' WHERE id = 3; DELETE FROM t WHERE id = 1")
    assert sorted(client.run("SELECT * FROM v")) == [(2, "x", 1), (3, "new", 3), (3, "words", 5)]


def test_table_functions_in_the_select_list(client: Client) -> None:
    client.run(_UPTO)
    client.run(_WORDS)
    assert sorted(_both(client, "SELECT id, upto(n) AS k, generate_series(1, 1) AS g FROM t"), key=repr) == [
        (1, 0, 1),
        (1, 1, None),
        (2, None, 1),
        (3, 0, 1),
    ]
    assert client.run("SELECT (words('ab c', 1)).size") == [(2,), (1,)]
    with pytest.raises(FeatureNotSupported):
        client.run("SELECT 1 WHERE upto(1) = 0")


def test_rows_of_many_types(client: Client) -> None:
    client.run("""CREATE FUNCTION kinds(j JSONB)
RETURNS TABLE (key VARCHAR, value JSONB, price NUMERIC, tags INT[], at DATE) LANGUAGE python IMMUTABLE AS $$
import datetime
def kinds(j):
    for key, value in j.items():
        yield {"key": key, "value": value, "price": 1.25, "tags": [1, None], "at": datetime.date(2024, 2, 29)}
$$""")
    rows = client.run(
        """SELECT key, value, price::text, tags::text, at::text FROM kinds('{"a": {"b": [1]}, "c": null}')"""
    )
    assert rows == [
        ("a", '{"b": [1]}', "1.25", "{1,NULL}", "2024-02-29"),
        ("c", None, "1.25", "{1,NULL}", "2024-02-29"),
    ]


def test_wrong_rows(client: Client) -> None:
    client.run(
        "CREATE FUNCTION f(n INT) RETURNS TABLE (a INT, b INT) LANGUAGE python AS $$\ndef f(n):\n    yield n,\n$$"
    )
    with pytest.raises(ExternalRoutineError, match=r"called with \(1\) gave a value .*: a row has 2 columns, not 1"):
        client.run("SELECT * FROM f(1)")
    client.run(
        "CREATE FUNCTION g(n INT) RETURNS SETOF INT LANGUAGE python AS $$\ndef g(n):\n    yield n\n    yield 1 // n\n$$"
    )
    with pytest.raises(ExternalRoutineError, match=r"function g, line 4, called with \(0\): ZeroDivisionError"):
        client.run("SELECT * FROM g(0)")
    with pytest.raises(FeatureNotSupported, match="not IMMUTABLE"):
        client.run("CREATE MATERIALIZED VIEW v AS SELECT g(n) FROM t")


@pytest.mark.parametrize("retract", [_RETRACT, ""])
@pytest.mark.parametrize("call", ["weighted(v, w)", "weighted(DISTINCT v, w)", "weighted(v, w) FILTER (WHERE v > 3)"])
def test_an_aggregate_through_a_history(client: Client, retract: str, call: str) -> None:
    client.run(_WEIGHTED.replace("{retract}", retract))
    client.run("CREATE TABLE u (id INT PRIMARY KEY, g INT, v INT, w INT)")
    grouped, single = f"SELECT g, {call} AS r, count(*) AS n FROM u GROUP BY g", f"SELECT {call} AS r FROM u"
    client.run(f"CREATE MATERIALIZED VIEW grouped AS {grouped}")
    client.run(f"CREATE MATERIALIZED VIEW single AS {single}")
    assert client.run("SELECT * FROM single") == client.run(single) == [(None,)]
    choose = random.Random(5)
    for epoch in range(6):
        rows = [(epoch * 20 + k, choose.randint(0, 3), choose.randint(1, 9), choose.randint(1, 3)) for k in range(20)]
        client.run(f"INSERT INTO u VALUES {', '.join(map(str, rows))}, ({1000 + epoch}, 1, NULL, 2)")
        client.run(f"DELETE FROM u WHERE v = {choose.randint(1, 9)}")
        client.run(f"UPDATE u SET g = {choose.randint(0, 3)} WHERE v = {choose.randint(1, 9)}")
        for view, query in (("grouped", grouped), ("single", single)):
            assert sorted(client.run(f"SELECT * FROM {view}"), key=repr) == sorted(client.run(query), key=repr)
    client.run("DELETE FROM u")
    assert client.run("SELECT * FROM grouped") == []
    assert client.run("SELECT * FROM single") == [(None,)]


def test_which_state_an_aggregate_has(client: Client) -> None:
    client.run(_WEIGHTED.replace("{retract}", _RETRACT))
    client.run(_JOINED)
    with_retract = "\n".join(
        str(r[0]) for r in client.run("EXPLAIN (VERBOSE) CREATE MATERIALIZED VIEW v AS SELECT weighted(n, id) FROM t")
    )
    assert "weighted(" in with_retract and "state_0" in with_retract
    assert sorted(_both(client, "SELECT joined(s ORDER BY id DESC) AS j FROM t")) == [("-xa bc",)]


def test_a_row_that_fails(client: Client) -> None:
    client.run(_JOINED)
    client.run(
        _WEIGHTED.replace("{retract}", _RETRACT).replace(
            "return state[0] + v", "v = v // (v - 7) * (v - 7)\n    return state[0] + v"
        )
    )
    client.run("CREATE MATERIALIZED VIEW j AS SELECT joined(s ORDER BY id) AS j FROM t")
    client.run("CREATE MATERIALIZED VIEW w AS SELECT weighted(n, 1) AS w FROM t")
    before = client.run("SELECT * FROM w")
    client.run("INSERT INTO t VALUES (4, 7, 'bad')")
    with pytest.raises(ExternalRoutineError, match=r"function joined, line 8, called with \('bad'\): ValueError: no"):
        client.run("SELECT joined(s) FROM t")
    assert client.run("SELECT * FROM j") == [(None,)]
    assert client.run("SELECT * FROM w") == [(None,)]
    client.run("DELETE FROM t WHERE id = 4")
    assert client.run("SELECT * FROM j") == [("a bcx-",)]
    assert client.run("SELECT * FROM w") == before


def test_grouping_sets_and_nothing(client: Client) -> None:
    client.run(_JOINED)
    query = "SELECT n, joined(s ORDER BY id) AS j FROM t GROUP BY ROLLUP (n)"
    assert sorted(_both(client, query), key=repr) == [(1, "-"), (2, "a bc"), (None, "a bcx-"), (None, "x")]
    assert client.run("SELECT joined(s) FROM t WHERE false") == [("",)]


def test_limits(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "TIME_LIMIT_SECONDS", 0.3)
    for name, body in {
        "ever": "    while True:\n        yield n",
        "eats": "    texts = []\n    while True:\n        texts.append(str(len(texts)) * 100000)",
        "dies": "    import os\n    os._exit(1)",
    }.items():
        client.run(f"CREATE FUNCTION {name}(n INT) RETURNS SETOF INT LANGUAGE python AS $$\ndef {name}(n):\n{body}\n$$")
    with pytest.raises(
        ExternalRoutineLimitExceeded, match=r"function ever, line \d, called with \(1\): took more than 0.3"
    ):
        client.run("SELECT * FROM ever(1)")
    with pytest.raises(ExternalRoutineLimitExceeded, match="function dies ended its process"):
        client.run("SELECT * FROM dies(1)")
    monkeypatch.setattr(worker_process, "TIME_LIMIT_SECONDS", 30.0)
    with pytest.raises(ExternalRoutineLimitExceeded, match=r"function eats, line 5, called with \(1\): out of memory"):
        client.run("SELECT * FROM eats(1)")
    assert client.run("SELECT 1") == [(1,)]


def test_a_view_whose_function_does_not_end_stops(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_process, "TIME_LIMIT_SECONDS", 2.0)
    client.run(
        "CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE python IMMUTABLE AS "
        "$$\ndef f(n):\n    while n == 99: pass\n    return n\n$$"
    )
    client.run("CREATE MATERIALIZED VIEW v AS SELECT id, f(n) AS f FROM t")
    client.run("INSERT INTO t VALUES (9, 99, 'z')")
    assert client.run("SELECT count(*) FROM t") == [(4,)]
    assert client.run("SELECT count(*) FROM v") == [(3,)]  # its last answer; the log says why it stopped
    client.run("INSERT INTO t VALUES (10, 1, 'y')")
    assert client.run("SELECT count(*) FROM v") == [(3,)]


@pytest.mark.parametrize(
    ("sql", "error"),
    [
        (
            "CREATE AGGREGATE f(n INT) RETURNS INT LANGUAGE python AS 'def create_state(): pass'",
            InvalidFunctionDefinition,
        ),
        ("CREATE AGGREGATE f(n INT) RETURNS INT LANGUAGE sql AS 'SELECT 1'", SqlError),
        ("CREATE AGGREGATE f() RETURNS INT LANGUAGE python AS 'x'", FeatureNotSupported),
        ("CREATE FUNCTION f(n INT) RETURNS INT LANGUAGE python AS 'def f(): return 1'", InvalidFunctionDefinition),
        (
            "CREATE FUNCTION f(n INT) RETURNS TABLE (m INT, m INT) LANGUAGE python AS 'def f(n): return []'",
            InvalidFunctionDefinition,
        ),
        ("DROP AGGREGATE nothing", UndefinedFunction),
    ],
)
def test_refused(client: Client, sql: str, error: type[SqlError]) -> None:
    with pytest.raises(error):
        client.run(sql)


def test_a_column_of_the_result_may_be_named_as_an_argument(client: Client) -> None:
    """PostgreSQL keeps names of arguments and of results apart, and leaves it to the language to complain."""
    client.run("CREATE FUNCTION f(n INT) RETURNS TABLE (n INT) LANGUAGE python AS 'def f(n): return [n + 1, n + 2]'")
    assert client.run("SELECT f.n, t.id FROM t, f(t.id) ORDER BY 2, 1 LIMIT 2") == [(2, 1), (3, 1)]


def test_dropping_and_listing(client: Client) -> None:
    client.run(_JOINED)
    client.run(_WORDS)
    client.run("CREATE MATERIALIZED VIEW v AS SELECT joined(s ORDER BY id) AS j FROM t")
    client.run("CREATE MATERIALIZED VIEW w AS SELECT word FROM t, words(s, 1)")
    kinds = "SELECT proname, prokind, proretset FROM pg_proc WHERE proname IN ('joined', 'words') ORDER BY proname"
    assert client.run(kinds) == [("joined", "a", False), ("words", "f", True)]
    assert [row[:4] for row in client.run("SHOW FUNCTIONS")] == [
        ("joined", "character varying", "character varying", "python"),
        ("words", "character varying, integer", "TABLE(word character varying, size integer)", "python"),
    ]
    for sql in ("DROP AGGREGATE joined", "DROP FUNCTION words"):
        with pytest.raises(DependentObjectsStillExist, match="cannot drop"):
            client.run(sql)
    with pytest.raises(SqlError, match="is an aggregate function"):
        client.run("DROP FUNCTION joined")
    with pytest.raises(SqlError, match="is not an aggregate"):
        client.run("DROP AGGREGATE words")
    with pytest.raises(FeatureNotSupported, match="over a window"):
        client.run("SELECT joined(s) OVER () FROM t")
    client.run("DROP AGGREGATE joined(varchar) CASCADE; DROP FUNCTION words CASCADE")
    assert client.run("SHOW MATERIALIZED VIEWS") == []


def test_wide_numerics_and_large_integers_go_whole(client: Client) -> None:
    long = Decimal("123456789012345678901234567890.00000000000000000005")
    client.run("CREATE TABLE wide (id INT PRIMARY KEY, n NUMERIC, b rw_int256)")
    client.run(f"INSERT INTO wide VALUES (1, {long}, '{2**200}'), (2, NULL, NULL), (3, -1.50, -7)")
    client.run("""CREATE FUNCTION twice(n NUMERIC) RETURNS NUMERIC LANGUAGE python IMMUTABLE AS $$
def twice(n):
    return n and n * 2
$$""")
    client.run("""CREATE FUNCTION parts(n NUMERIC) RETURNS TABLE (part NUMERIC, size INT)
LANGUAGE python IMMUTABLE AS $$
def parts(n):
    return [] if n is None else [(n, 1), (n / 4, 2)]
$$""")
    client.run("""CREATE FUNCTION next(b rw_int256) RETURNS rw_int256 LANGUAGE python IMMUTABLE AS $$
def next(b):
    return None if b is None else b + 1
$$""")
    client.run("""CREATE AGGREGATE total(n NUMERIC) RETURNS NUMERIC LANGUAGE python AS $$
def create_state():
    return 0

def accumulate(state, n):
    return state + (n or 0)

def retract(state, n):
    return state - (n or 0)

def finish(state):
    return state
$$""")
    with localcontext(prec=100):
        assert _both(client, "SELECT id, twice(n) AS n FROM wide ORDER BY id", "doubled") == [
            (1, 2 * long), (2, None), (3, Decimal(-3)),
        ]  # fmt: skip
        rows = _both(client, "SELECT id, part FROM wide, parts(n) ORDER BY id, size", "quarters")
        assert rows == [(1, long), (1, long / 4), (3, Decimal("-1.5")), (3, Decimal("-0.375"))]
        assert _both(client, "SELECT total(n) AS n FROM wide", "all_of_them") == [(long - Decimal("1.5"),)]
    assert _both(client, "SELECT next(b)::varchar AS b FROM wide WHERE id = 1", "following") == [(str(2**200 + 1),)]
    client.run("DELETE FROM wide WHERE id = 1")
    assert client.run("SELECT * FROM all_of_them") == [(Decimal("-1.5"),)]


def test_a_result_with_too_many_digits_names_its_row(client: Client) -> None:
    client.run("CREATE FUNCTION huge(n INT) RETURNS NUMERIC LANGUAGE python AS $$def huge(n): return 10**46$$")
    with pytest.raises(SqlError, match=r"huge, called with \(1\) gave a value that is no numeric"):
        client.run("SELECT huge(1)")
