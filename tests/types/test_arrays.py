"""Arrays, as drivers send them and as system relations show them, compared with PostgreSQL 15."""

from __future__ import annotations

import psycopg
import pytest

from risingpy.errors import SqlError
from risingpy.types.arrays import decode_array, encode_array, format_array, parse_array

_CASES: list[tuple[int, str, list[object]]] = [
    (1007, "int4[]", [1, -2, None]),
    (1007, "int4[]", []),
    (1028, "oid[]", [1, 4294967295]),
    (1009, "text[]", ["a", "b,c", 'd"e', "\\f", "", "NULL", "x y", None, "{z}"]),
    (1000, "bool[]", [True, False]),
    (1022, "float8[]", [1.5, 1e20]),
    (22, "int2vector", [1, 2]),
    (30, "oidvector", [26, 25]),
]


@pytest.mark.parametrize(("oid", "name", "values"), _CASES)
def test_arrays_are_postgresqls(postgres: psycopg.Connection, oid: int, name: str, values: list[object]) -> None:
    text = format_array(oid, values)
    for binary in (False, True):
        cursor = postgres.cursor(binary=binary)
        cursor.execute(f"select %s::text::{name}", (text,))
        assert cursor.pgresult is not None
        raw = cursor.pgresult.get_value(0, 0)
        assert raw is not None
        if binary:
            assert encode_array(oid, values) == raw
            assert decode_array(oid, raw) == values
        else:
            assert raw.decode() == text
            assert oid in (22, 30) or parse_array(oid, text) == values


@pytest.mark.parametrize("text", ["", "1,2", "{1", "{1,}", "{a}", "{1 2}"])
def test_malformed_arrays(text: str) -> None:
    with pytest.raises(SqlError):
        parse_array(1007, text)


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 11, b"\0\0\0\1" + b"\0" * 8, b"\0\0\0\1" + b"\0" * 11 + b"\5" + b"\0" * 8]
)
def test_malformed_binary_arrays(data: bytes) -> None:
    with pytest.raises(SqlError):
        decode_array(1007, data)
