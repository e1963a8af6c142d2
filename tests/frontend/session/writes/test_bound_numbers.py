"""Decimals that drivers bind for columns of numeric(p, s): they are rounded without DuckDB, and as it rounds them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from risingpy.errors import SqlError
from risingpy.types.wide_numeric import to_bytes

NUMERIC_OID = 1700
NUMBERS = (
    *("0", "-0.001", "0.005", "-0.005", "0.004999999999999999999", "1.995", "-1.995", "99999999.994"),
    *("-99999999.994", "12345678.9", "1e-40", "7", "1.00000000000000000000000000000000000000000001"),
)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_parameter_is_rounded_as_a_stored_number_is(client: Any, number: str) -> None:
    client.run("CREATE TABLE given (n numeric)")
    client.run("CREATE TABLE t (a numeric(10, 2))")
    client.run("CREATE TABLE computed (a numeric(10, 2))")
    bound = to_bytes(Decimal(number))
    client.run("INSERT INTO t VALUES ($1)", bound, oids=(NUMERIC_OID,))
    client.run("INSERT INTO given VALUES ($1)", bound, oids=(NUMERIC_OID,))
    client.run("INSERT INTO computed SELECT n FROM given")
    assert str(client.run("SELECT a FROM t")) == str(client.run("SELECT a FROM computed"))


@pytest.mark.parametrize(
    ("number", "sqlstate"), [("99999999.995", "22003"), ("-100000000", "22003"), ("1e30", "22003"), ("NaN", "0A000")]
)
def test_what_the_column_cannot_hold_fails(client: Any, number: str, sqlstate: str) -> None:
    client.run("CREATE TABLE t (a numeric(10, 2))")
    with pytest.raises(SqlError) as raised:
        client.run("INSERT INTO t VALUES ($1)", to_bytes(Decimal(number)), oids=(NUMERIC_OID,))
    assert raised.value.sqlstate == sqlstate
    assert client.run("SELECT * FROM t") == []


def test_a_key_of_a_rounded_parameter(client: Any) -> None:
    client.run("CREATE TABLE t (a numeric(10, 2) PRIMARY KEY, b int)")
    client.run("INSERT INTO t VALUES (1.25, 1), (1.26, 2)")
    found = client.run("SELECT b FROM t WHERE a = $1::numeric(10, 2)", to_bytes(Decimal("1.255")), oids=(NUMERIC_OID,))
    assert found == [(2,)]
    assert client.run("SELECT b FROM t WHERE a = $1", to_bytes(Decimal("1.255")), oids=(NUMERIC_OID,)) == []
