"""INSERT … VALUES of many rows of parameters: one token, with the same meaning as the rows one by one."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.frontend.parser import parse
from risingpy.frontend.parser.dialect import MORE_ROWS
from risingpy.frontend.parser.tokenize import tokenize
from risingpy.frontend.wire import WireServer

ROWS = 40
INT2, INT4, INT8, TEXT = 21, 23, 20, 25


def rows_text(row: str, width: int, rows: int = ROWS) -> str:
    """Rows like `row`, in which % stands for the next parameter's number."""
    pieces = (row * rows).split("%")
    numbered = "".join(f"{piece}${number}" for number, piece in enumerate(pieces[:-1], 1)) + pieces[-1]
    assert len(pieces) == rows * width + 1
    return numbered.rstrip(", \n")


def as_one(sql: str) -> bool:
    """Whether the rows after the first are one token."""
    return any(token.text.lstrip().startswith(",") and len(token.text) > 1 for token in tokenize(sql))


@pytest.fixture
def table(client: Any) -> Any:
    client.run("CREATE TABLE t (id bigint PRIMARY KEY, n int, s varchar)")
    return client


@pytest.mark.parametrize(
    "row",
    ["(%, %, %), ", "(%,%,%),", "( %::bigint , % :: INTEGER,%::character varying(20)),\n", "(%::numeric(10, 2),%,%),"],
)
def test_all_rows_come(table: Any, row: str) -> None:
    sql = "INSERT INTO t VALUES " + rows_text(row, 3)
    assert as_one(sql)
    values: list[object] = [value for i in range(ROWS) for value in (i, i * 2, f"x{i}")]
    if "numeric" in row:
        values[::3] = [Decimal(f"{i}.00") for i in range(ROWS)]
    table.run(sql, *values)
    assert table.tag == f"INSERT 0 {ROWS}"
    assert sorted(table.run("SELECT * FROM t")) == [(i, i * 2, f"x{i}") for i in range(ROWS)]


def test_rows_may_have_parameters_of_other_types_than_the_first(table: Any) -> None:
    """As psycopg declares them: int2 for small numbers, then int4, text as unknown."""
    sql = "INSERT INTO t VALUES " + rows_text("(%, %, %), ", 3)
    kinds = [((INT2 if i < 20 else INT8), (INT4 if i % 2 else INT2), (0, TEXT)[i % 2]) for i in range(ROWS)]
    oids = [oid for kind in kinds for oid in kind]
    table.run(sql, *[v for i in range(ROWS) for v in (i, None if i % 3 else i, f"x{i}")], oids=tuple(oids))
    assert sorted(table.run("SELECT * FROM t")) == [(i, None if i % 3 else i, f"x{i}") for i in range(ROWS)]


def test_numbers_may_come_again_and_in_any_order(table: Any) -> None:
    rows = ", ".join(f"(${i + 2}, $1, ${ROWS + 2})" for i in reversed(range(ROWS)))
    table.run(f"INSERT INTO t (id, n, s) VALUES {rows} RETURNING id", 7, *range(ROWS), "all")
    assert sorted(table.run("SELECT * FROM t")) == [(i, 7, "all") for i in range(ROWS)]


def test_what_may_follow(table: Any) -> None:
    rows = rows_text("(%, %), ", 2)
    values = [value for i in range(ROWS) for value in (i, 1)]
    table.run(f"INSERT INTO t (id, n) VALUES {rows} ON CONFLICT (id) DO UPDATE SET n = t.n + excluded.n", *values)
    upsert = f"INSERT INTO t (id, n) VALUES {rows} ON CONFLICT (id) DO UPDATE SET n = t.n + ${2 * ROWS + 1} RETURNING n"
    assert table.run(upsert, *values, 10) == [(11,)] * ROWS
    table.run(f"BEGIN; INSERT INTO t (n, id) VALUES {rows}; COMMIT".replace("$", "1"))


@pytest.mark.parametrize("last", [", (1, 2)", ", (DEFAULT, $1)", ", ($1, $2 + 1)", ", ($1)"])
def test_rows_of_another_kind_among_them(last: str) -> None:
    sql = f"INSERT INTO t VALUES {rows_text('(%, %), ', 2)}{last}"
    assert not as_one(sql)
    [parsed] = parse(sql)
    assert len(parsed.statement.source.tree.expressions) == ROWS + 1  # type: ignore[union-attr]


def test_few_rows_have_trees() -> None:
    assert not as_one("INSERT INTO t VALUES ($1, $2), ($3, $4)")


def test_mistakes_are_found_where_they_are(table: Any) -> None:
    rows = rows_text("(%, %), ", 2)
    for text, message in [
        (f"INSERT INTO t VALUES {rows} oops", 'syntax error at or near "oops"'),
        (f"INSERT INTO t (id) VALUES {rows}", "INSERT has more expressions than target columns"),
        (f"INSERT INTO t VALUES {rows}, ($1)", "VALUES lists must all be the same length"),
    ]:
        with pytest.raises(SqlError) as raised:
            table.run(text, *[1] * 2 * ROWS)
        assert raised.value.message == message


def test_values_as_a_query(table: Any) -> None:
    rows = rows_text("(%, %), ", 2)
    values = [value for i in range(ROWS) for value in (i, f"x{i}")]
    oids = tuple(oid for _ in range(ROWS) for oid in (INT4, TEXT))
    for sql in (f"VALUES {rows}", f"SELECT * FROM (VALUES {rows}) v (a, b)", f"VALUES {rows} LIMIT {ROWS}"):
        assert sorted(table.run(sql, *values, oids=oids)) == [(i, f"x{i}") for i in range(ROWS)]
    [parsed] = parse(f"VALUES {rows}")
    assert MORE_ROWS in parsed.statement.query.tree.meta  # type: ignore[union-attr]


def test_psycopg_sends_them(table: Any, server: WireServer) -> None:
    sql = "INSERT INTO t VALUES " + ", ".join(["(%s, %s, %s)"] * ROWS)
    with psycopg.connect(f"host=127.0.0.1 port={server.port} user=root dbname=dev") as connection:
        values = [value for i in range(ROWS) for value in (i * 5000, None if i % 2 else i, f"it's {i}")]
        assert connection.execute(sql.encode(), values).rowcount == ROWS
    found = sorted(table.run("SELECT * FROM t"))
    assert found == [(i * 5000, None if i % 2 else i, f"it's {i}") for i in range(ROWS)]
