"""From stored datums to what clients get, and from what clients send to values: for one value, as fast as Python can.

A datum is a value as stored rows have it: as Arrow holds it, little-endian, texts and bytes as they are
(`storage/codec/value_encoding`). `types/forms` has the same forms for values and columns, and whatever is not ordinary.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from risingpy.types.clocks.nano_moments import NanoMoment
from risingpy.types.families import TypeKind
from risingpy.types.far_moments import date_of, moment_of
from risingpy.types.forms import decode_binary, encode_binary, format_text, parse_text
from risingpy.types.sql_type import SqlType
from risingpy.types.system_types import TEXT, names_objects

_INTEGERS = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT)
_MOST_DIGITS = {2: 4, 4: 9, 8: 18}  # by an integer's bytes: so many digits fit it in any case


def datum_encoder(type_: SqlType, time_zone: str, *, binary: bool) -> Callable[[bytes], bytes] | None:
    """A function that makes the text or binary form of a datum; None for types that it does not know."""
    if type_.system not in ("", TEXT.system) or type_.is_nested:
        return None
    kind = type_.kind
    if kind is TypeKind.VARCHAR or (binary and kind in (TypeKind.BYTEA, TypeKind.UUID, TypeKind.BOOLEAN)):
        return _as_it_is
    if kind is TypeKind.BOOLEAN:
        return _boolean_text
    if kind in _INTEGERS:
        return _reversed if binary else _integer_text
    if binary and kind in (TypeKind.REAL, TypeKind.DOUBLE):
        return _reversed
    value_of = _datum_reader(type_.arrow)
    if binary:
        return lambda datum: encode_binary(type_, value_of(datum))
    return lambda datum: format_text(type_, value_of(datum), time_zone=time_zone).encode()


def parameter_reader(type_: SqlType, time_zone: str, *, binary: bool) -> Callable[[bytes], object] | None:
    """A function that reads a parameter's bytes as `types/forms` does; None for types whose texts are names of objects.

    Raises what that raises, and UnicodeDecodeError.
    """
    if names_objects(type_):
        return None
    if binary:
        return lambda data: decode_binary(type_, data)
    if type_.kind in _INTEGERS and not type_.system:
        most = _MOST_DIGITS[type_.arrow.byte_width]

        def integer(data: bytes) -> object:
            if data.isdigit() and len(data) <= most:
                return int(data)
            return parse_text(type_, data.decode(), time_zone=time_zone)

        return integer
    return lambda data: parse_text(type_, data.decode(), time_zone=time_zone)


def _as_it_is(datum: bytes) -> bytes:
    return datum


def _reversed(datum: bytes) -> bytes:
    return datum[::-1]


def _boolean_text(datum: bytes) -> bytes:
    return b"t" if datum[0] else b"f"


def _integer_text(datum: bytes) -> bytes:
    return b"%d" % int.from_bytes(datum, "little", signed=True)


def _datum_reader(arrow: pa.DataType) -> Callable[[bytes], object]:
    """A function that makes the value, as `Literal` has it, of a datum of an Arrow type that is not nested."""
    if pa.types.is_string(arrow):
        return bytes.decode
    if pa.types.is_binary(arrow):
        return _as_it_is
    if pa.types.is_date32(arrow):
        return lambda datum: date_of(int.from_bytes(datum, "little", signed=True))
    if pa.types.is_timestamp(arrow):
        if arrow.unit == "ns":
            return lambda datum: NanoMoment(int.from_bytes(datum, "little", signed=True))
        has_zone = arrow.tz is not None
        return lambda datum: moment_of(int.from_bytes(datum, "little", signed=True), has_zone=has_zone)
    return lambda datum: pa.Array.from_buffers(arrow, 1, [None, pa.py_buffer(datum)])[0].as_py()
