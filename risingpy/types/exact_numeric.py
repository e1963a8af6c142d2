"""numeric: decimal text; binary as base-10000 digits (PostgreSQL's numeric_send).

    binary: int16 ndigits | int16 weight of the first digit | uint16 sign (0x4000: negative) | int16 dscale
            | ndigits × int16
    1234.5 with scale 2 → 0002 0000 0000 0002  04d2 1388

A numeric of at most 38 digits shows all decimals that its type has, a wide one as many as each value says.
Values are Decimals, but those of a wide numeric are its bytes (`wide_numeric`), which NaN and the infinities have too.
"""

from __future__ import annotations

import re
import struct
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal, Overflow

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import FeatureNotSupported, InvalidTextRepresentation, NumericValueOutOfRange, SqlError
from risingpy.types import wide_numeric
from risingpy.types.plain_texts import read_as_they_are
from risingpy.types.sql_type import MAX_PRECISION, SqlType

_SYNTAX = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*", re.ASCII)
_SPECIAL = re.compile(r"\s*(nan|[+-]?inf(inity)?)\s*", re.IGNORECASE)
_MAX_DIGITS = 1000  # far beyond what any value of ours has, so that no text costs more than it is long
_WIDE = Context(prec=2 * _MAX_DIGITS + 100, Emax=10**6, Emin=-(10**6))
_NEGATIVE = 0x4000
_HEADER_BYTES = 8
_SPECIAL_SIGNS = {0xC000: Decimal("NaN"), 0xD000: Decimal("Infinity"), 0xF000: Decimal("-Infinity")}
_SPECIAL_HEADERS = {  # the scale of an infinity is what PostgreSQL happens to send
    "NaN": bytes.fromhex("00000000c0000000"),
    "Infinity": bytes.fromhex("00000000d0000020"),
    "-Infinity": bytes.fromhex("00000000f0000020"),
}
_GROUP = 4


def parse(type_: SqlType, text: str, time_zone: str) -> Decimal | bytes:
    """Rounds half away from zero to the type's scale. What is not finite only a wide numeric can be."""
    match = _SYNTAX.fullmatch(text)
    if match is None:
        special = _SPECIAL.fullmatch(text)
        if special is None:
            raise InvalidTextRepresentation(f'invalid input syntax for type numeric: "{text}"')
        return _special(type_, Decimal(special[1]))
    try:
        return _as_stored(type_, fit(type_, _WIDE.create_decimal(match[1])))
    except Overflow:
        raise NumericValueOutOfRange("value overflows numeric format") from None


def _special(type_: SqlType, value: Decimal) -> bytes:
    """NaN or an infinity."""
    if type_.is_wide:
        return wide_numeric.to_bytes(value)
    if value.is_nan():
        raise FeatureNotSupported("NaN in a numeric with declared digits is not supported")
    shown = f"A field with precision {type_.precision}, scale {type_.scale} cannot hold an infinite value."
    raise NumericValueOutOfRange("numeric field overflow", detail=shown)


def _as_stored(type_: SqlType, value: Decimal) -> Decimal | bytes:
    return wide_numeric.to_bytes(value) if type_.is_wide else value


def fit(type_: SqlType, value: Decimal) -> Decimal:
    """`value` rounded to the type's scale; of a wide type with the decimals that it has, as far as there are so many.

    NumericValueOutOfRange if it has too many digits before the point.
    """
    assert type_.precision is not None and type_.scale is not None
    room = type_.precision - type_.scale
    if value and value.adjusted() > _MAX_DIGITS:
        raise _too_large(type_)
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    scale = min(max(-exponent, 0), type_.scale) if type_.is_wide else type_.scale
    if (value and value.adjusted() < -_MAX_DIGITS) or not value:
        return Decimal((0, (0,), -scale))
    rounded = value.quantize(Decimal((0, (1,), -scale)), ROUND_HALF_UP, _WIDE)
    if rounded and rounded.adjusted() >= room:
        raise _too_large(type_)
    return rounded or abs(rounded)  # no negative zero


def _too_large(type_: SqlType) -> NumericValueOutOfRange:
    if not type_.declared:
        return NumericValueOutOfRange("value overflows numeric format")
    assert type_.precision is not None and type_.scale is not None
    room = type_.precision - type_.scale
    return NumericValueOutOfRange(
        "numeric field overflow",
        detail=f"A field with precision {type_.precision}, scale {type_.scale} must round to an absolute value less "
        f"than {f'10^{room}' if room else '1'}.",
    )


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The digits without an exponent, with the decimals that the value itself has; NaN and the infinities by name."""
    if isinstance(value, bytes):
        value = wide_numeric.to_decimal(value)
    assert isinstance(value, Decimal)
    return format(value, "f")


def encode(type_: SqlType, value: object) -> bytes:
    """The digits that are shown, in groups of four; dscale is the number of decimals shown, zeros included."""
    shown = format_value(type_, value, "")
    if shown in _SPECIAL_HEADERS:
        return _SPECIAL_HEADERS[shown]
    whole, _, fraction = shown.lstrip("-").partition(".")
    whole = whole.lstrip("0")
    whole = whole.rjust(-(-len(whole) // _GROUP) * _GROUP, "0")
    padded = whole + fraction.ljust(-(-len(fraction) // _GROUP) * _GROUP, "0")
    groups = [int(padded[at : at + _GROUP]) for at in range(0, len(padded), _GROUP)]
    weight = len(whole) // _GROUP - 1
    while groups and groups[0] == 0:
        groups.pop(0)
        weight -= 1
    while groups and groups[-1] == 0:
        groups.pop()
    sign = _NEGATIVE if shown.startswith("-") else 0
    return struct.pack(f"!hhHH{len(groups)}h", len(groups), weight if groups else 0, sign, len(fraction), *groups)


def decode(type_: SqlType, data: bytes) -> Decimal | bytes:
    """The value, cut to its dscale as numeric_recv does, then rounded to the type.

    Raises 22P03 for malformed bytes, and NumericValueOutOfRange for more digits than the type holds.
    """
    malformed = SqlError("incorrect binary data format", sqlstate="22P03")
    if len(data) < _HEADER_BYTES:
        raise malformed
    count, weight, sign, dscale = struct.unpack_from("!HhHH", data)
    if len(data) != _HEADER_BYTES + 2 * count:
        raise malformed
    if sign in _SPECIAL_SIGNS:
        return _special(type_, _SPECIAL_SIGNS[sign])
    groups = struct.unpack_from(f"!{count}H", data, _HEADER_BYTES)
    if sign not in (0, _NEGATIVE) or dscale > 0x3FFF or any(group > 9999 for group in groups):
        raise malformed
    if count > _MAX_DIGITS:
        raise _too_large(type_)
    digits = "".join(f"{group:04d}" for group in groups) or "0"
    exponent = _GROUP * (weight + 1 - count) if count else 0
    value = Decimal(f"{'-' if sign else ''}{digits}E{exponent}")
    shown = value.quantize(Decimal(1).scaleb(-min(dscale, _MAX_DIGITS)), ROUND_DOWN, _WIDE)  # as numeric_recv truncates
    return _as_stored(type_, fit(type_, shown))


def _unscaled(array: pa.Array) -> pa.Array:
    """The integers that stand in a decimal128 array."""
    return pa.Array.from_buffers(pa.decimal128(MAX_PRECISION, 0), len(array), array.buffers(), offset=array.offset)


def _digits(type_: SqlType, array: pa.Array) -> tuple[pa.Array, pa.Array]:
    """The absolute values as digits, at least `scale` + 1 of them; and which rows are negative."""
    assert type_.scale is not None
    integers = _unscaled(array)
    digits = pc.utf8_lpad(pc.cast(pc.abs(integers), pa.string()), type_.scale + 1, padding="0")
    return digits, pc.less(integers, pa.scalar(0, integers.type))


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them; a numeric of declared digits shows its scale's decimals in every row."""
    if type_.is_wide:
        return wide_numeric.text_column(array)
    if not type_.scale:
        return pc.cast(_unscaled(array), pa.string())
    digits, negative = _digits(type_, array)
    sign = pc.if_else(negative, "-", "")
    whole = pc.utf8_slice_codeunits(digits, 0, -type_.scale)
    fraction = pc.utf8_slice_codeunits(digits, -type_.scale)
    return pc.binary_join_element_wise(sign, whole, ".", fraction, "")


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """All rows at once: digits as a matrix of base-10000 groups, leading and trailing zero groups masked out."""
    count = len(array)
    scale = type_.scale or 0
    after = -(-scale // _GROUP)
    digits, negative, scales = _digit_rows(type_, array)
    before = (digits.shape[1] - scale) // _GROUP
    padding = np.zeros((count, after * _GROUP - scale), np.uint8)
    matrix = np.hstack([digits, padding]).reshape(count, before + after, _GROUP)
    groups = matrix.astype(np.int16) @ np.array([1000, 100, 10, 1], np.int16)
    places = np.arange(before + after)
    used = groups != 0
    any_used = used.any(axis=1)
    first = np.where(any_used, used.argmax(axis=1), 0)
    last = np.where(any_used, before + after - 1 - used[:, ::-1].argmax(axis=1), -1)
    header = np.empty((count, 4), ">i2")
    header[:, 0] = last - first + 1
    header[:, 1] = np.where(any_used, before - 1 - first, 0)
    header[:, 2] = np.where(negative, _NEGATIVE, 0)
    header[:, 3] = scales
    if type_.is_wide:
        _write_special(header, wide_numeric.numbers_of(array).special)
    keep = np.ones((count, 4 + before + after), bool)
    keep[:, 4:] = (places >= first[:, None]) & (places <= last[:, None])
    words = np.hstack([header, groups.astype(">i2")])
    lengths = 2 * keep.sum(axis=1)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    valid = None if array.null_count == 0 else pc.is_valid(array).buffers()[1]
    data = np.ascontiguousarray(words[keep].astype(">i2"))
    return pa.Array.from_buffers(pa.binary(), count, [valid, pa.py_buffer(offsets), pa.py_buffer(data)])


def _write_special(header: npt.NDArray[np.int16], special: npt.NDArray[np.float64] | None) -> None:
    if special is not None:
        odd = special != 0
        header[odd, :3] = 0
        for where, shown in ((np.isnan(special), "NaN"), (special > 0, "Infinity"), (special < 0, "-Infinity")):
            header[where] = np.frombuffer(_SPECIAL_HEADERS[shown], ">i2")


def _digit_rows(
    type_: SqlType, array: pa.Array
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.bool_], npt.NDArray[np.uint8] | int]:
    """Each row's digits, whole groups of four of them before the point; which rows are negative; and the scales."""
    if type_.is_wide:
        numbers = wide_numeric.numbers_of(array)
        digits = wide_numeric.digits_of(numbers.limbs)
        missing = -wide_numeric.WHOLE_DIGITS % _GROUP
        return np.hstack([np.zeros((len(array), missing), np.uint8), digits]), numbers.negative, numbers.scales
    assert type_.scale is not None
    width = -(-(MAX_PRECISION + 1) // _GROUP) * _GROUP + type_.scale
    texts, below = _digits(type_, pc.fill_null(array, Decimal(0)))
    characters = _characters(pc.utf8_lpad(texts, width, padding="0"), width)
    return characters - np.uint8(ord("0")), below.to_numpy(zero_copy_only=False), type_.scale


def _characters(texts: pa.Array, width: int) -> npt.NDArray[np.uint8]:
    """ASCII strings of one width, as a matrix."""
    flat = np.frombuffer(texts.buffers()[2], np.uint8) if len(texts) else np.empty(0, np.uint8)
    start = texts.offset * width
    return flat[start : start + len(texts) * width].reshape(len(texts), width)


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """What needs no rounding; see `forms.parse_column`."""
    assert type_.precision is not None and type_.scale is not None
    if type_.is_wide:
        return wide_numeric.parse_plain(texts)
    room = type_.precision - type_.scale
    # Arrow refuses what it would have to round, and what has too many digits before the point.
    found = read_as_they_are(texts, type_.arrow, b"0123456789-.") if room else None
    if found is not None:
        return found, None
    if room == 0:
        return pa.nulls(len(texts), type_.arrow), pc.is_null(texts)
    plain = pc.match_substring_regex(texts, rf"^-?[0-9]{{1,{room}}}(\.[0-9]{{0,{type_.scale}}})?$")
    numbers = pc.cast(pc.if_else(plain, texts, pa.scalar(None, pa.string())), type_.arrow)
    return numbers, pc.or_kleene(plain, pc.is_null(texts))
