"""The bytes on disk are frozen: a change of one of these must raise `formats.ENCODING` or `formats.HASH`.

Each line is a value's ascending key column (with its tag) and its datum.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from risingpy import types
from risingpy.formats import ENCODING, HASH, VNODES
from risingpy.storage.codec.key_encoding import (
    compute_vnodes,
    decode_keys,
    encode_keys,
    long_key_form,
    table_prefix,
    vnode_prefix,
)
from risingpy.storage.codec.plain_columns import datum_width
from risingpy.storage.codec.reference_codec import Interval, Value, datum, hash_bytes, key_column, long_key
from risingpy.storage.codec.row_encoding import encode_rows
from risingpy.storage.codec.value_encoding import encode_values
from risingpy.types import SqlType, TypeKind, int256
from tests.storage.codec.columns import as_values, column, schema_of

# 1.5 and -1.5 as numerics without declared digits
WIDE = "01" + "00000000" * 4 + "00000001" + "1dcd6500" + "00000000" * 4
NEGATIVE_WIDE = "00" + "ffffffff" * 4 + "fffffffe" + "e2329aff" + "ffffffff" * 4
RANGE = "01" + "01" + "8000000000000001" + "01" + "01" + "800000000000000a" + "00"  # [1,10)
RANGE_KEY = "0101" + "0180" + "00ff" * 6 + "0101" + "0180" + "00ff" * 6 + "0a" + "00ff" + "0000"
ALL = "01" + "00" * 10 + "02" + "00" * 9  # (,)
FROM = "01" + "017fffffffffffffff02" + "02" + "00" * 9  # (-1,), in microseconds
UNTIL = "01" + "00" * 10 + "01" + "8000000000000000" + "01"  # (,0]
UP_TO = "01" + "00" * 43 + "01" + WIDE + "00"  # (,1.5)
UP_TO_KEY = "0101" + "00ff" * 43 + "0101" + "00ff" * 19 + "011dcd65" + "00ff" * 18 + "0000"

GOLDEN: list[tuple[SqlType, Value, str, str]] = [
    (types.BOOLEAN, False, "0100", "00"),
    (types.BOOLEAN, True, "0101", "01"),
    (types.SMALLINT, 1, "018001", "0100"),
    (types.SMALLINT, -2, "017ffe", "feff"),
    (types.INTEGER, -1, "017fffffff", "ffffffff"),
    (types.INTEGER, 258, "0180000102", "02010000"),
    (types.BIGINT, 258, "018000000000000102", "0201000000000000"),
    (types.BIGINT, -(2**63), "010000000000000000", "0000000000000080"),
    (types.REAL, 1.5, "01bfc00000", "0000c03f"),
    (types.REAL, -2.0, "013fffffff", "000000c0"),
    (types.REAL, -0.0, "0180000000", "00000080"),
    (types.REAL, float("nan"), "01ffc00000", "0000c07f"),
    (types.DOUBLE, -2.0, "013fffffffffffffff", "00000000000000c0"),
    (types.DOUBLE, 0.0, "018000000000000000", "0000000000000000"),
    (types.DOUBLE, float("inf"), "01fff0000000000000", "000000000000f07f"),
    (types.DOUBLE, float("nan"), "01fff8000000000000", "000000000000f87f"),
    (types.numeric(5, 2), 100, "0180000000000000000000000000000064", "64000000000000000000000000000000"),
    (types.numeric(5, 2), -1, "017fffffffffffffffffffffffffffffff", "ffffffffffffffffffffffffffffffff"),
    (types.NUMERIC, bytes.fromhex(WIDE), "0101" + "00ff" * 19 + "011dcd65" + "00ff" * 17 + "0000", WIDE),
    (types.NUMERIC, bytes.fromhex(NEGATIVE_WIDE), "0100ff" + NEGATIVE_WIDE[2:] + "0000", NEGATIVE_WIDE),
    (types.VARCHAR, "", "010000", ""),
    (types.VARCHAR, "a\0b", "016100ff620000", "610062"),
    (types.VARCHAR, "ž", "01c5be0000", "c5be"),
    (types.BYTEA, b"\0\xff", "0100ffff0000", "00ff"),
    (types.JSONB, "1", "0103028000ff00ff013100ff310100ff00ff00ff0000", "31"),
    (types.JSONB, "[]", "0100ff5b5d0200ff00ff00ff0000", "5b5d"),
    (types.JSONB, "{}", "010700ff00ff00ff00ff7b7d0200ff00ff00ff0000", "7b7d"),
    (types.DATE, 1, "0180000001", "01000000"),
    (types.TIME, 1_000_000, "0180000000000f4240", "40420f0000000000"),
    (types.TIMESTAMP, -1, "017fffffffffffffff", "ffffffffffffffff"),
    (types.TIMESTAMPTZ, 1_000_000, "0180000000000f4240", "40420f0000000000"),
    (types.TIMESTAMP_NS, 1_000_000_000, "01800000003b9aca00", "00ca9a3b00000000"),
    (types.TIMESTAMP_NS, -1, "017fffffffffffffff", "ffffffffffffffff"),
    (
        types.INTERVAL,
        Interval(1, 2, 3000),
        "018000000000000020" "0000000000000bb8" "8000000180000002",
        "01000000" "02000000" "b80b000000000000",
    ),
    (
        types.INTERVAL,
        Interval(0, 0, -1),
        "017fffffffffffffff" "00004e94914effff" "8000000080000000",
        "00000000" "00000000" "ffffffffffffffff",
    ),
    (types.CHARACTER, "ab", "0161620000", "6162"),
    (types.UUID, bytes(range(16)), "0100ff" + bytes(range(1, 16)).hex() + "0000", bytes(range(16)).hex()),
    (SqlType(TypeKind.MACADDR), bytes(range(6)), "0100ff" + bytes(range(1, 6)).hex() + "0000", bytes(range(6)).hex()),
    (types.VECTOR, bytes.fromhex("bf800000407fffff"), "01bf8000ff00ff407fffff0000", "bf800000407fffff"),  # [1,-1]
    (types.INET, bytes.fromhex("040a010000100a010203"), "01040a0100ff00ff100a0102030000", "040a010000100a010203"),
    (types.CIDR, bytes.fromhex("040a010000100a010000"), "01040a0100ff00ff100a0100ff00ff0000", "040a010000100a010000"),
    # [1,10), the empty range, and others without a bound
    (SqlType(TypeKind.INT4RANGE), bytes.fromhex(RANGE), RANGE_KEY, RANGE),
    (SqlType(TypeKind.INT8RANGE), bytes(21), "01" + "00ff" * 21 + "0000", "00" * 21),
    (SqlType(TypeKind.DATERANGE), bytes.fromhex(ALL), "0101" + "00ff" * 10 + "02" + "00ff" * 9 + "0000", ALL),
    (SqlType(TypeKind.TSRANGE), bytes.fromhex(FROM), "0101017fffffffffffffff0202" + "00ff" * 9 + "0000", FROM),
    (SqlType(TypeKind.TSTZRANGE), bytes.fromhex(UNTIL), "0101" + "00ff" * 10 + "0180" + "00ff" * 7 + "010000", UNTIL),
    (SqlType(TypeKind.NUMRANGE), bytes.fromhex(UP_TO), UP_TO_KEY, UP_TO),
    (SqlType(TypeKind.INT4MULTIRANGE), bytes.fromhex(RANGE), RANGE_KEY, RANGE),
    (SqlType(TypeKind.INT8MULTIRANGE), b"", "010000", ""),
    (SqlType(TypeKind.DATEMULTIRANGE), bytes.fromhex(ALL), "0101" + "00ff" * 10 + "02" + "00ff" * 9 + "0000", ALL),
    (SqlType(TypeKind.TSMULTIRANGE), bytes.fromhex(FROM), "0101017fffffffffffffff0202" + "00ff" * 9 + "0000", FROM),
    (SqlType(TypeKind.TSTZMULTIRANGE), b"", "010000", ""),
    (SqlType(TypeKind.NUMMULTIRANGE), bytes.fromhex(UP_TO), UP_TO_KEY, UP_TO),
    (types.BIT, "101", "013130310000", "313031"),
    (types.VARBIT, "", "010000", ""),
    (SqlType(TypeKind.ENUM), 3 << 32, "018000000300000000", "0000000003000000"),  # the third label of CREATE TYPE
    (types.INT256, int256.to_bytes(1), "0180" + 30 * "00ff" + "010000", "80" + 30 * "00" + "01"),
    (
        types.array_of(types.INTEGER),
        (1, None),
        "01" "018000ff00ff01" "02" "00ff" "010100ff00ff00ff" "00ff" "0600ff00ff00ff" "0000",
        "0101000000" "00",
    ),
    (
        types.struct_of(["a", "b"], [types.INTEGER, types.VARCHAR]),
        (1, "a"),
        "01" "018000ff00ff01" "016100ff00ff" "00ff" "010100ff00ff00ff" "010100ff00ff00ff61" "0b00ff00ff00ff" "0000",
        "0101000000" "010100000061",
    ),
]  # fmt: skip


def test_versions() -> None:
    assert (ENCODING.written, HASH.written, VNODES.written) == (5, 2, 256)


@pytest.mark.parametrize(("type_", "value", "key", "stored"), GOLDEN)
def test_values(type_: SqlType, value: Value, key: str, stored: str) -> None:
    array = column(type_, [value])
    inverted = "01" + bytes(byte ^ 0xFF for byte in bytes.fromhex(key)[1:]).hex()
    for descending, expected in ((False, key), (True, inverted)):
        schema = schema_of([(type_, descending, False)], table_id=0x01020304)
        encoded = encode_keys(schema, [array], np.array([0x0506], np.uint16))
        assert encoded[0].as_py().hex() == "010203040506" + expected
        assert key_column(value, type_, descending, nulls_first=False).hex() == expected
    assert datum(value, type_).hex() == stored
    assert encode_rows([array], [7])[0].as_py().hex() == "850107" + stored
    length = len(bytes.fromhex(stored)).to_bytes(4, "little").hex() if datum_width(type_.arrow) == 0 else ""
    assert encode_values([array])[0].as_py().hex() == "0201" + length + stored


@pytest.mark.parametrize("descending", [False, True])
def test_null_tags(descending: bool) -> None:
    array = column(types.INTEGER, [None])
    for nulls_first, tag in ((True, "00"), (False, "02")):
        schema = schema_of([(types.INTEGER, descending, nulls_first)])
        assert encode_keys(schema, [array], np.zeros(1, np.uint16))[0].as_py().hex() == "000000010000" + tag


def test_plain_row() -> None:
    row = [column(types.INTEGER, [258]), column(types.INTEGER, [None]), column(types.VARCHAR, ["ab"])]
    assert encode_values(row)[0].as_py().hex() == "0201020100000001020000006162"
    assert encode_values([], rows=1)[0].as_py().hex() == "02"


NOT_IN_KEYS: list[tuple[SqlType, Value, str]] = [
    (types.JSONB, '{"a": 1}', b'{"a": 1}'.hex()),
    (types.map_of(types.VARCHAR, types.BOOLEAN), ("a", True), "0101000000610101"),
]


@pytest.mark.parametrize(("type_", "value", "stored"), NOT_IN_KEYS)
def test_values_that_are_in_no_key(type_: SqlType, value: Value, stored: str) -> None:
    array = column(type_, [value])
    assert datum(value, type_).hex() == stored
    assert encode_rows([array], [7])[0].as_py().hex() == "850107" + stored
    length = len(bytes.fromhex(stored)).to_bytes(4, "little").hex()
    assert encode_values([array])[0].as_py().hex() == "0201" + length + stored


def test_every_type_is_frozen() -> None:
    frozen = {golden[0].kind for golden in GOLDEN} | {golden[0].kind for golden in NOT_IN_KEYS}
    assert frozen == set(TypeKind) - {TypeKind.UNKNOWN}


def test_column_aware_rows() -> None:
    row = [column(types.VARCHAR, ["ab"]), column(types.INTEGER, [258]), column(types.INTEGER, [None])]
    assert encode_rows(row, [3, 1, 2])[0].as_py().hex() == "8502010304020100006162"
    assert encode_rows([column(types.BOOLEAN, [True])], [300])[0].as_py().hex() == "8901002c0101"
    assert encode_rows([column(types.BOOLEAN, [True])], [2**32 - 1])[0].as_py().hex() == "8d01000000ffffffff01"
    assert encode_rows([column(types.BOOLEAN, [None])], [300])[0].as_py().hex() == "8500"


@pytest.mark.parametrize(
    ("length", "header"), [(255, "85020102ff"), (256, "860201020001"), (65536, "8702010200000100")]
)
def test_offset_units(length: int, header: str) -> None:
    row = encode_rows([column(types.BYTEA, [b"x" * length]), column(types.BOOLEAN, [True])], [1, 2])[0].as_py()
    assert row == bytes.fromhex(header) + b"x" * length + b"\1"


def test_count_of_256_columns_is_wide() -> None:
    """Ids from 0 to 255 fit a byte, their number does not."""
    array = column(types.BOOLEAN, [True])
    assert encode_rows([array] * 256, range(256))[0].as_py()[:5].hex() == "8900010000"
    assert encode_rows([array] * 255, range(255))[0].as_py()[:3].hex() == "85ff00"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("", 0x9CA066F1A4AB2EEA),
        ("01", 0x2F29CD921E2BB333),
        ("0180000102", 0x39F240A00972A48E),
        ("018000000000000102", 0xBA5F5E37B7E73439),
        ("01" + "61" * 22 + "0000", 0x59F3141CAC7676CB),
    ],
)
def test_hash(data: str, expected: int) -> None:
    assert hash_bytes(bytes.fromhex(data)) == expected


def test_vnodes() -> None:
    numbers = pa.array([0, 1, 2, 3, -1, None], pa.int64())
    assert compute_vnodes([numbers], 6).tolist() == [220, 82, 23, 154, 140, 224]
    texts = pa.array(["", "a", "hello", "RisingPy streams", None, "ž"])
    assert compute_vnodes([texts], 6).tolist() == [57, 109, 97, 53, 224, 113]
    assert compute_vnodes([numbers, texts], 6).tolist() == [68, 20, 93, 89, 50, 150]
    assert compute_vnodes([], 2).tolist() == [0, 0]


def test_prefixes() -> None:
    assert table_prefix(258).hex() == "00000102"
    assert vnode_prefix(258, 255).hex() == "0000010200ff"


def test_long_keys() -> None:
    schema = schema_of([(types.BYTEA, False, False)])
    sizes = [0, 501, 502, 503, 4000]  # a key is 9 bytes longer
    keys = encode_keys(schema, [pa.array([b"k" * size for size in sizes])], np.zeros(5, np.uint16))
    assert [len(key) for key in keys.to_pylist()] == [9, 510, 511, 512, 4009]
    stored, is_long = long_key_form(keys)
    assert is_long.tolist() == [False, False, True, True, True]
    assert [len(key) for key in stored.to_pylist()] == [9, 510, 511, 511, 511]
    assert stored[3].as_py()[495:].hex() == "994c1922d0dcef19700e7cdfd7c06e37"
    assert stored.to_pylist() == [long_key(key) for key in keys.to_pylist()]
    assert len(set(stored.to_pylist())) == 5
    assert as_values(decode_keys(schema, keys)[0]) == [b"k" * size for size in sizes]
    sliced, is_long = long_key_form(keys.slice(1, 2))
    assert sliced.to_pylist() == stored.to_pylist()[1:3]
    assert is_long.tolist() == [False, True]
