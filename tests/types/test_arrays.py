"""Oids, arrays and vectors, as drivers send them and as system relations show them, compared with PostgreSQL 15."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import psycopg
import pyarrow as pa
import pytest

from risingpy.errors import SqlError
from risingpy.types import BOOLEAN, DOUBLE, INTEGER, SqlType, array_of, struct_of
from risingpy.types.forms import binary_column, decode_binary, encode_binary, format_text, parse_text, text_column
from risingpy.types.oids import type_by_oid
from risingpy.types.system_families import SYSTEM_FAMILIES
from risingpy.types.system_types import CHAR, NAME, OID, POLYMORPHIC_TYPES, RECORD, SYSTEM_TYPES, TEXT, XID

_VECTORS = SYSTEM_TYPES["int2vector"], SYSTEM_TYPES["oidvector"]
_CASES: list[tuple[SqlType, str, object]] = [
    (array_of(INTEGER), "int4[]", (1, -2, None)),
    (array_of(INTEGER), "int4[]", ()),
    (array_of(OID), "oid[]", (1, 4294967295)),
    (array_of(TEXT), "text[]", ("a", "b,c", 'd"e', "\\f", "", "NULL", "x y", None, "{z}")),
    (array_of(NAME), "name[]", ("a", "b c")),
    (array_of(CHAR), '"char"[]', ("r", "v")),
    (array_of(BOOLEAN), "bool[]", (True, False)),
    (array_of(DOUBLE), "float8[]", (1.5, 1e20)),
    (_VECTORS[0], "int2vector", (1, 2)),
    (_VECTORS[1], "oidvector", (26, 4294967295)),
    (OID, "oid", 4294967295),
    (XID, "xid", 7),
    (NAME, "name", "pg_class"),
]


@pytest.mark.parametrize(("type_", "name", "value"), _CASES)
def test_forms_are_postgresqls(postgres: psycopg.Connection, type_: SqlType, name: str, value: object) -> None:
    text = format_text(type_, value)
    assert parse_text(type_, text) == value
    for binary in (False, True):
        cursor = postgres.cursor(binary=binary)
        cursor.execute(f"select %s::text::{name}", (text,))
        assert cursor.pgresult is not None
        raw = cursor.pgresult.get_value(0, 0)
        assert raw is not None
        if binary:
            assert encode_binary(type_, value) == raw
            assert decode_binary(type_, raw) == value
        else:
            assert raw.decode() == text


def _items(encoded: npt.NDArray[np.generic] | pa.Array) -> list[bytes | None]:
    """What `binary_column` gave, row by row."""
    if isinstance(encoded, np.ndarray):
        return [encoded[row : row + 1].tobytes() for row in range(len(encoded))]
    items: list[bytes | None] = encoded.to_pylist()
    return items


@pytest.mark.parametrize(("type_", "name", "value"), _CASES)
def test_a_columns_forms_are_those_of_its_values(type_: SqlType, name: str, value: object) -> None:
    column = pa.array([None, value, None, value], type_.arrow)
    for part in (column, column.slice(1, 2), column.slice(0, 0)):
        present = part.is_valid().to_pylist()
        assert text_column(type_, part).to_pylist() == [
            format_text(type_, value) if there else None for there in present
        ]
        items = _items(binary_column(type_, part))
        shown = [item for item, there in zip(items, present, strict=True) if there]
        assert shown == [encode_binary(type_, value)] * sum(present)


@pytest.mark.parametrize("name", ["int2vector", "oidvector"])
def test_an_empty_vector(name: str) -> None:
    type_ = SYSTEM_TYPES[name]
    assert format_text(type_, ()) == ""
    assert parse_text(type_, "  ") == ()
    column = pa.array([[], [3]], type_.arrow)
    assert _items(binary_column(type_, column)) == [encode_binary(type_, ()), encode_binary(type_, (3,))]
    assert decode_binary(type_, encode_binary(type_, ())) == ()


def test_oids_of_every_object_identifier_are_four_bytes() -> None:
    for name, family in SYSTEM_FAMILIES.items():
        if family.is_oid:
            assert encode_binary(SYSTEM_TYPES[name], 4294967295) == b"\xff\xff\xff\xff"
            several = array_of(SYSTEM_TYPES[name])
            assert decode_binary(several, encode_binary(several, (5,))) == (5,)


def test_a_row_has_the_forms_of_its_fields() -> None:
    row = struct_of(["f1", "f2"], [OID, _VECTORS[0]])
    assert format_text(row, (7, (1, 2))) == '(7,"1 2")'
    assert encode_binary(row, (7, (1, 2)))[4:16] == b"\0\0\0\x1a\0\0\0\4\0\0\0\7"


def test_what_clients_may_declare() -> None:
    for name, family in SYSTEM_FAMILIES.items():
        declared = type_by_oid(family.oid)
        if name in POLYMORPHIC_TYPES or name == RECORD.system:  # no value has it
            assert declared is None, name
            continue
        assert declared is not None, name
        if family.array_oid and not family.element:
            assert type_by_oid(family.array_oid) == array_of(declared), name
    assert type_by_oid(0) is None
    assert type_by_oid(1) is None


@pytest.mark.parametrize("text", ["", "x", "1 2", "4294967296", "-2147483649"])
def test_malformed_oids(text: str) -> None:
    with pytest.raises(SqlError):
        parse_text(OID, text)


def test_a_negative_oid_counts_from_the_end() -> None:
    assert parse_text(OID, "-1") == 4294967295
    assert parse_text(array_of(OID), "{-1}") == (4294967295,)


@pytest.mark.parametrize("text", ["", "1,2", "{1", "{1,}", "{a}", "{1 2}"])
def test_malformed_arrays(text: str) -> None:
    with pytest.raises(SqlError):
        parse_text(array_of(INTEGER), text)


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 11, b"\0\0\0\1" + b"\0" * 8, b"\0\0\0\1" + b"\0" * 11 + b"\5" + b"\0" * 8]
)
def test_malformed_binary_arrays(data: bytes) -> None:
    with pytest.raises(SqlError):
        decode_binary(array_of(INTEGER), data)
