"""Batch queries (`cases_of_batch.sql`, one a line): names, types, rows as PostgreSQL's, with the rules and without."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_UP, Context, Decimal
from pathlib import Path

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.types import TypeKind
from tests.frontend.binder.bench import bind, run
from tests.frontend.binder.conftest import postgres, postgres_oracle

__all__ = ["postgres", "postgres_oracle"]

CASES = (Path(__file__).parent / "cases_of_batch.sql").read_text().splitlines()

_TEXTS = (25, 705, 19)  # text, unknown and name are all our varchar
_NUMERIC, _DOUBLE, _REAL = 1700, 701, 700

Row = tuple[str | None, ...]


def shown(rows: list[Row], oids: list[int]) -> list[Row]:
    """Rows with what may differ made equal: zeros at the end of decimals, digits beyond what a float can tell."""
    return [tuple(_shown(value, oid) for value, oid in zip(row, oids, strict=True)) for row in rows]


def _shown(value: str | None, oid: int) -> str | None:
    if value is None:
        return None
    if oid == _NUMERIC and "." in value:
        # Our quotients have more digits.
        rounded = f"{Decimal(value).quantize(Decimal('1e-15'), ROUND_HALF_UP, Context(prec=100)):f}"
        return rounded.rstrip("0").rstrip(".")
    if oid in (_DOUBLE, _REAL):
        return f"{float(value):.6g}"
    return value


def in_postgres(connection: psycopg.Connection[tuple[object, ...]], sql: str) -> tuple[list[str], list[int], list[Row]]:
    result = connection.pgconn.exec_(sql.encode())
    assert result.status == psycopg.pq.ExecStatus.TUPLES_OK, result.error_message.decode()
    names = [(result.fname(i) or b"").decode() for i in range(result.nfields)]
    oids = [1043 if result.ftype(i) in _TEXTS else result.ftype(i) for i in range(result.nfields)]
    rows = [
        tuple(None if (v := result.get_value(r, c)) is None else v.decode() for c in range(result.nfields))
        for r in range(result.ntuples)
    ]
    return names, oids, rows


@pytest.mark.parametrize("sql", CASES)
def test_as_postgres(postgres: psycopg.Connection[tuple[object, ...]], sql: str) -> None:
    query = bind(sql)
    names, oids, rows = in_postgres(postgres, sql)
    assert [f.name for f in query.fields] == names
    assert [f.type.oid for f in query.fields] == oids
    ordered = re.search(r"order by (?!.*\))", sql) is not None
    expected = shown(rows, oids)
    for rules in (False, True):
        got = shown(run(query.plan, rules=rules), oids)
        if not ordered:
            got, expected = sorted(got, key=repr), sorted(expected, key=repr)
        assert got == expected, f"rules={rules}"


@pytest.mark.parametrize(
    ("sql", "sqlstate"),
    [
        ("select 1 / (a - 1) from t", "22012"),
        ("select 1 % (a - 1) from t", "22012"),
        ("select 1.5 / (a - 1) from t", "22012"),
        ("select a + 2147483647 from t", "22003"),
        ("select (b * 1000000000000000000) from t", "22003"),
        ("select d::int from t", "22P02"),
        ("select (b * 100000)::smallint from t", "22003"),
        ("select sqrt(e) from t", "2201F"),
        ("select c::numeric(2,1) * 1000 from t where c > 0 union all select 99999::numeric(3,1)", "22003"),
    ],
)
def test_fails_as_postgres(postgres: psycopg.Connection[tuple[object, ...]], sql: str, sqlstate: str) -> None:
    result = postgres.pgconn.exec_(sql.encode())
    assert (result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"").decode() == sqlstate
    for rules in (False, True):
        with pytest.raises(SqlError) as raised:
            run(bind(sql).plan, rules=rules)
        assert raised.value.sqlstate == sqlstate


def test_values_keep_numeric_types() -> None:
    (field,) = bind("values (1), (2.5)").fields
    assert field.type.kind is TypeKind.NUMERIC
