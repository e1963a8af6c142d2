"""The bytes of a wide numeric, 45 decimal digits before the point and 45 behind it: of numeric with no digits declared.

    sign: 01 (00 if negative) | ten limbs of nine decimal digits, u32 big-endian, the highest first
    all bytes of a negative number's limbs are inverted, so that bytes order as the numbers do

    1.5     01 00000000 00000000 00000000 00000000 00000001 1dcd6500 00000000 00000000 00000000 00000000
    -1.5    00 ffffffff ffffffff ffffffff ffffffff fffffffe e2329aff ffffffff ffffffff ffffffff ffffffff

One number has one form: columns of them are grouped, joined, sorted and stored as byte strings.
"""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BYTES = 41
WHOLE_DIGITS = 45
DECIMALS = 45
LIMBS = 10
_LIMB_DIGITS = 9
_BASE = 10**_LIMB_DIGITS
_CONTEXT = Context(prec=WHOLE_DIGITS + DECIMALS)
_POWERS = 10 ** np.arange(_LIMB_DIGITS - 1, -1, -1, dtype=np.int64)
_ZERO = bytes([1, *[0] * (BYTES - 1)])

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Digits = npt.NDArray[np.uint8]


def to_bytes(value: Decimal) -> bytes:
    """The form of a number that has no more digits than fit, before the point and behind it."""
    unscaled = int(value.copy_abs().scaleb(DECIMALS, _CONTEXT))
    limbs = bytearray()
    for power in range(LIMBS - 1, -1, -1):
        limbs += (unscaled // _BASE**power % _BASE).to_bytes(4, "big")
    if value < 0:
        return b"\x00" + bytes(byte ^ 0xFF for byte in limbs)
    return b"\x01" + bytes(limbs)


def to_decimal(data: bytes) -> Decimal:
    """The number of a form, with 45 decimals."""
    limbs = data[1:] if data[0] else bytes(byte ^ 0xFF for byte in data[1:])
    digits = "".join(f"{int.from_bytes(limbs[at : at + 4], 'big'):09d}" for at in range(0, BYTES - 1, 4))
    return _CONTEXT.create_decimal(f"{'' if data[0] else '-'}{digits}E-{DECIMALS}")


def limbs_of(array: pa.Array) -> tuple[Integers, Mask]:
    """Magnitudes as rows of ten limbs, the highest first, and which rows are negative; NULL is 0."""
    if not len(array):
        return np.empty((0, LIMBS), np.int64), np.empty(0, np.bool_)
    filled = pc.fill_null(array, _ZERO) if array.null_count else array
    fixed = filled.cast(pa.binary(BYTES))
    raw = np.frombuffer(fixed.buffers()[1], np.uint8)[fixed.offset * BYTES : (fixed.offset + len(array)) * BYTES]
    rows = raw.reshape(-1, BYTES)
    negative = rows[:, 0] == 0
    limbs = np.ascontiguousarray(rows[:, 1:]).view(">u4")
    if negative.any():
        limbs = np.where(negative[:, None], ~limbs, limbs)
    return limbs.astype(np.int64), negative


def column_of(limbs: Integers, negative: Mask, null: Mask | None = None) -> pa.Array:
    """The column of magnitudes, the highest limb first, and signs; there is no negative zero."""
    count = len(limbs)
    below = negative & limbs.any(axis=1)
    words = limbs.astype(">u4")
    if below.any():
        words = np.where(below[:, None], ~words, words)
    rows = np.empty((count, BYTES), np.uint8)
    rows[:, 0] = ~below
    rows[:, 1:] = np.ascontiguousarray(words, ">u4").view(np.uint8).reshape(count, BYTES - 1)
    valid = None
    if null is not None and null.any():
        valid = pa.py_buffer(np.packbits(~null, bitorder="little"))
    offsets = pa.py_buffer(BYTES * np.arange(count + 1, dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), count, [valid, offsets, pa.py_buffer(rows.reshape(-1))])


def digits_of(array: pa.Array) -> tuple[Digits, Mask]:
    """The 90 decimal digits of each row's magnitude, as numbers, and which rows are negative."""
    limbs, negative = limbs_of(array)
    digits = (limbs[:, :, None] // _POWERS % 10).astype(np.uint8)
    return digits.reshape(len(array), LIMBS * _LIMB_DIGITS), negative


def column_of_digits(digits: Digits, negative: Mask, null: Mask | None = None) -> pa.Array:
    """The column of rows of 90 decimal digits."""
    limbs = digits.reshape(-1, LIMBS, _LIMB_DIGITS).astype(np.int64) @ _POWERS
    return column_of(limbs, negative, null)


def text_column(array: pa.Array) -> pa.Array:
    """The numbers as PostgreSQL shows them, without padding zeros; NULLs stay."""
    digits, negative = digits_of(array)
    count = len(digits)
    whole, fraction = digits[:, :WHOLE_DIGITS], digits[:, WHOLE_DIGITS:]
    leading = np.where(whole.any(axis=1), (whole != 0).argmax(axis=1), WHOLE_DIGITS - 1)
    trailing = np.where(fraction.any(axis=1), DECIMALS - (fraction[:, ::-1] != 0).argmax(axis=1), 0)
    shown = np.empty((count, 2 + WHOLE_DIGITS + DECIMALS), np.uint8)
    shown[:, 0] = ord("-")
    shown[:, 1 : 1 + WHOLE_DIGITS] = whole + ord("0")
    shown[:, 1 + WHOLE_DIGITS] = ord(".")
    shown[:, 2 + WHOLE_DIGITS :] = fraction + ord("0")
    places = np.arange(WHOLE_DIGITS)
    keep = np.empty(shown.shape, np.bool_)
    keep[:, 0] = negative
    keep[:, 1 : 1 + WHOLE_DIGITS] = places >= leading[:, None]
    keep[:, 1 + WHOLE_DIGITS] = trailing > 0
    keep[:, 2 + WHOLE_DIGITS :] = places < trailing[:, None]
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(keep.sum(axis=1), out=offsets[1:])
    valid = None if array.null_count == 0 else pc.is_valid(array).buffers()[1]
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(shown[keep]), valid)


def parse_plain(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Texts that are digits with perhaps a sign and a point, as a column; and which rows were, or are NULL."""
    plain = pc.fill_null(pc.match_substring_regex(texts, r"^-?[0-9]{1,45}(\.[0-9]{0,45})?$"), False)
    chosen = pc.if_else(plain, texts, "0")
    split = pc.extract_regex(chosen, r"^(?P<sign>-?)(?P<whole>[0-9]+)\.?(?P<fraction>[0-9]*)$")
    whole = pc.utf8_lpad(pc.struct_field(split, "whole"), WHOLE_DIGITS, padding="0")
    fraction = pc.utf8_rpad(pc.struct_field(split, "fraction"), DECIMALS, padding="0")
    joined = pc.cast(pc.binary_join_element_wise(whole, fraction, ""), pa.binary())
    width = WHOLE_DIGITS + DECIMALS
    fixed = joined.cast(pa.binary(width))
    raw = np.frombuffer(fixed.buffers()[1], np.uint8)[: width * len(texts)] if len(texts) else np.empty(0, np.uint8)
    negative = pc.equal(pc.struct_field(split, "sign"), "-").to_numpy(zero_copy_only=False)
    null = pc.is_null(texts).to_numpy(zero_copy_only=False)
    values = column_of_digits((raw - ord("0")).reshape(-1, width), negative, null)
    return values, pc.or_(plain, pc.is_null(texts))
