"""Parameters take their types from what stands around them."""

from __future__ import annotations

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.types import BIGINT, UNKNOWN, SqlType
from tests.frontend.binder.bench import bind, run

CASES = [
    "select $1::int",
    "select * from t where a = $1 and d = $2",
    "select * from t where b between $1 and $2 limit $3 offset $4",
    "select a + $1, c * $2, e / $3 from t",
    "select lower($1), length($2) from t",
    "select $1 || d from t",
    "select case when $1 then $2 else b end from t",
    "select coalesce($1, a), a in ($2, $3) from t",
    "select d like $1, $2 is null, not $3 from t where at_ > $4",
    "select * from u where at > $1 and at < $2::timestamp + interval '1 day'",
    "select $1 union all select a from t",
    "select $2::bigint, $1::text",
    "values ($1, 1), (2, $2)",
    "select round($1, 2), abs($2::numeric)",
    "select extract(year from $1::date), date_trunc('day', at) = $2 from u",
    "select $1",
    "select a from t order by a limit $1",
]


@pytest.mark.parametrize("sql", [case for case in CASES if "at_" not in case])
def test_types_as_postgres(postgres: psycopg.Connection[tuple[object, ...]], sql: str) -> None:
    postgres.pgconn.prepare(b"s", sql.encode())
    described = postgres.pgconn.describe_prepared(b"s")
    expected = [1043 if (oid := described.param_type(i)) == 25 else oid for i in range(described.nparams)]
    postgres.execute("deallocate s")
    assert [t.oid for t in bind(sql).parameter_types] == expected


def test_declared_types_rule() -> None:
    assert bind("select $1", (BIGINT,)).fields[0].type == BIGINT
    assert bind("select * from t where a = $1", (BIGINT,)).parameter_types == (BIGINT,)
    assert bind("select * from t where b = $1", (UNKNOWN,)).parameter_types == (BIGINT,)


@pytest.mark.parametrize(
    ("sql", "types", "sqlstate", "message"),
    [
        ("select $2::int", (), "42P18", "could not determine data type of parameter $1"),
        ("select a from t where a = $1 and d = $1", (), "42883", None),
        ("select lower($1)", (BIGINT,), "42883", "function lower(bigint) does not exist"),
    ],
)
def test_errors(sql: str, types: tuple[SqlType, ...], sqlstate: str, message: str | None) -> None:
    with pytest.raises(SqlError) as raised:
        bind(sql, types)
    assert raised.value.sqlstate == sqlstate
    assert message is None or raised.value.message == message


def test_long_chains_stay_shallow() -> None:
    plan = bind("select a from t where " + " or ".join(f"a = {i}" for i in range(3000))).plan
    assert run(plan) == [("1",), ("2",), ("2",), ("3",)]


def test_too_deep_is_an_error_not_a_crash() -> None:
    with pytest.raises(SqlError) as raised:
        bind("select " + " + ".join(["1"] * 5000))
    assert raised.value.sqlstate == "54001"
