"""One value's forms equal those of columns, whatever the type."""

from __future__ import annotations

import pyarrow as pa
import pytest

from risingpy import types
from risingpy.frontend.wire.short_path.datum_forms import datum_encoder, parameter_reader
from risingpy.storage.codec.row_encoding import encode_rows
from risingpy.storage.codec.single_rows import datums
from risingpy.types import SqlType, TypeKind
from risingpy.types.far_moments import values_of
from risingpy.types.forms import decode_binary, encode_binary, format_text, parse_text
from risingpy.types.system_types import REGCLASS

_TEXTS: list[tuple[SqlType, list[str]]] = [
    (types.BOOLEAN, ["t", "f"]),
    (types.SMALLINT, ["0", "-1", "32767", "-32768", "+7", " 5"]),
    (types.INTEGER, ["0", "-1", "2147483647", "-2147483648", "0000000012"]),
    (types.BIGINT, ["0", "-1", "9223372036854775807", "-9223372036854775808", "123456789012345678"]),
    (types.REAL, ["0", "-0", "1.5", "NaN", "Infinity", "1e-30"]),
    (types.DOUBLE, ["0", "-0", "1.5", "NaN", "-Infinity", "1e300"]),
    (types.numeric(10, 2, declared=True), ["0.00", "-1.50", "99999999.99"]),
    (types.NUMERIC, ["0", "1.500", "-123456789012345678901234567890.5"]),
    (types.VARCHAR, ["", "a", "Grüße\n"]),
    (SqlType(TypeKind.VARCHAR, length=5), ["", "abcde"]),
    (SqlType(TypeKind.CHARACTER, length=5), ["", "ab", "abcde"]),
    (types.BYTEA, ["", "\\x00ff"]),
    (types.UUID, ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    (types.DATE, ["1970-01-01", "2026-11-25", "0001-01-01"]),
    (types.TIME, ["00:00:00", "23:59:59.999999"]),
    (types.TIMESTAMP, ["2026-11-25 02:03:04.5", "1969-12-31 23:59:59.999999"]),
    (types.TIMESTAMP_NS, ["2026-11-25 02:03:04.123456789", "1969-12-31 23:59:59.999999999"]),
    (types.TIMESTAMPTZ, ["2026-11-25 02:03:04+00", "1969-12-31 23:59:59.999999+00"]),
    (types.INTERVAL, ["1 mon -2 days 03:04:05.6", "00:00:00"]),
    (types.JSONB, ['{"a": [1, null]}', "1.50"]),
    (types.INT256, ["0", "-5", "1" + "0" * 60]),
]
_CASES = [(type_, text) for type_, texts in _TEXTS for text in texts]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize(("type_", "text"), _CASES, ids=lambda each: str(each))
def test_a_datum_has_the_forms_of_its_value(type_: SqlType, text: str, zone: str) -> None:
    value = parse_text(type_, text, time_zone=zone)
    [row] = encode_rows([pa.array([value], type_.arrow)], [7]).to_pylist()
    [datum] = datums(row, [7])
    assert datum is not None
    [stored] = values_of(pa.array([value], type_.arrow))
    as_text = datum_encoder(type_, zone, binary=False)
    as_binary = datum_encoder(type_, zone, binary=True)
    assert as_text is not None and as_binary is not None
    assert as_text(datum).decode() == format_text(type_, stored, time_zone=zone)
    assert as_binary(datum) == encode_binary(type_, stored)


@pytest.mark.parametrize(("type_", "text"), _CASES, ids=lambda each: str(each))
def test_a_parameter_is_read_as_elsewhere(type_: SqlType, text: str) -> None:
    zone = "Europe/Berlin"
    read_text, read_binary = (parameter_reader(type_, zone, binary=binary) for binary in (False, True))
    assert read_text is not None and read_binary is not None
    value = parse_text(type_, text, time_zone=zone)
    data = encode_binary(type_, value)
    assert repr(read_text(text.encode())) == repr(value)
    assert repr(read_binary(data)) == repr(decode_binary(type_, data))


def test_some_types_go_another_way() -> None:
    assert parameter_reader(REGCLASS, "UTC", binary=False) is None
    assert datum_encoder(types.array_of(types.INTEGER), "UTC", binary=False) is None
