"""The bytes of a wide numeric, 45 decimal digits before the point and 45 behind it: of numeric with no digits declared.

    class: 01 (00 if negative) | ten limbs of nine decimal digits, u32 big-endian, the highest first | scale
    all bytes of a negative number's limbs are inverted, so that bytes order as the numbers do

    1.5     01 00000000 00000000 00000000 00000000 00000001 1dcd6500 00000000 00000000 00000000 00000000 01
    1.50    the same, but 02 at its end
    -1.5    00 ffffffff ffffffff ffffffff ffffffff fffffffe e2329aff ffffffff ffffffff ffffffff ffffffff 01

    -Infinity  00 and zeros, below all negative numbers       Infinity  02 and zeros       NaN  03 and zeros

The scale is how many decimals are shown (PostgreSQL's dscale). All bytes but the last, `KEY_BYTES`, are what SQL
compares by: the *key* of a number, which 1.5 and 1.50 share. Numbers are grouped, joined, sorted and stored in keys by
it (`optimizer.rules.numeric_keys`); whole, equal bytes are the same number shown in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

BYTES = 42
KEY_BYTES = 41
WHOLE_DIGITS = 45
DECIMALS = 45
LIMBS = 10
_LIMB_DIGITS = 9
_BASE = 10**_LIMB_DIGITS
_CONTEXT = Context(prec=WHOLE_DIGITS + DECIMALS)
_POWERS = 10 ** np.arange(_LIMB_DIGITS - 1, -1, -1, dtype=np.int64)
_ZERO = bytes([1, *[0] * (BYTES - 1)])
_NOTHING = bytes(BYTES - 1)
_SPECIAL = {"-Infinity": b"\x00" + _NOTHING, "Infinity": b"\x02" + _NOTHING, "NaN": b"\x03" + _NOTHING}
_OF_SPECIAL = {form[:-1]: Decimal(shown) for shown, form in _SPECIAL.items()}

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Digits = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Numbers:
    """A column taken apart: magnitudes as rows of ten limbs, the highest first, signs and scales; NULL is 0.

    What is no finite number has magnitude 0, and NaN or an infinity in `special`, which is 0 elsewhere; None: nowhere.
    """

    limbs: Integers
    negative: Mask
    scales: Digits
    special: Floats | None = None


def to_bytes(value: Decimal) -> bytes:
    """The form of a number that has no more digits than fit, before the point and behind it; shown as it is written."""
    if not value.is_finite():
        return _SPECIAL["NaN" if value.is_nan() else "Infinity" if value > 0 else "-Infinity"]
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    scale = bytes([min(max(-exponent, 0), DECIMALS)])
    unscaled = int(value.copy_abs().scaleb(DECIMALS, _CONTEXT))
    limbs = bytearray()
    for power in range(LIMBS - 1, -1, -1):
        limbs += (unscaled // _BASE**power % _BASE).to_bytes(4, "big")
    if value < 0:
        return b"\x00" + bytes(byte ^ 0xFF for byte in limbs) + scale
    return b"\x01" + bytes(limbs) + scale


def to_decimal(data: bytes) -> Decimal:
    """The number of a form, with as many decimals as are shown."""
    special = _OF_SPECIAL.get(data[:-1])
    if special is not None:
        return special
    limbs = data[1:-1] if data[0] else bytes(byte ^ 0xFF for byte in data[1:-1])
    digits = "".join(f"{int.from_bytes(limbs[at : at + 4], 'big'):09d}" for at in range(0, BYTES - 2, 4))
    shown = digits[: WHOLE_DIGITS + data[-1]]
    return _CONTEXT.create_decimal(f"{'' if data[0] else '-'}{shown}E-{data[-1]}")


def key_of(data: bytes) -> bytes:
    """The bytes that equal numbers share, however they are shown."""
    return data[:KEY_BYTES]


def of_key(key: bytes) -> bytes:
    """The number of a key, shown without zeros at the end."""
    number = to_decimal(key + bytes([DECIMALS]))
    if not number.is_finite():
        return key + b"\0"
    shown = f"{number:f}".rstrip("0").removesuffix(".")
    return to_bytes(Decimal(shown))


def key_column(array: pa.Array | pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    """Each number's key; NULLs stay."""
    return pc.binary_slice(array, 0, KEY_BYTES)


def rows_of(array: pa.Array) -> Digits:
    """The bytes as rows; NULL is 0."""
    if not len(array):
        return np.empty((0, BYTES), np.uint8)
    filled = pc.fill_null(array, _ZERO) if array.null_count else array
    start = int(np.frombuffer(filled.buffers()[1], np.int32)[filled.offset])
    raw = np.frombuffer(filled.buffers()[2], np.uint8)[start : start + len(array) * BYTES]
    return raw.reshape(-1, BYTES)


def numbers_of(array: pa.Array) -> Numbers:
    """The column taken apart."""
    rows = rows_of(array)
    kinds = rows[:, 0]
    negative = kinds == 0
    limbs = np.ascontiguousarray(rows[:, 1:-1]).view(">u4")
    if negative.any():
        limbs = np.where(negative[:, None], ~limbs, limbs)
    limbs = limbs.astype(np.int64)
    # A limb of a number is below its base, the inverted zeros of -Infinity are not.
    below = negative & (limbs[:, 0] >= _BASE) if negative.any() else negative
    special = None
    if below.any() or (len(kinds) and kinds.max() > 1):
        special = np.zeros(len(rows))
        special[below], special[kinds == 2], special[kinds == 3] = -np.inf, np.inf, np.nan
        limbs[below] = 0
        negative = negative & ~below
    return Numbers(limbs, negative, rows[:, -1], special)


def column_of(
    limbs: Integers, negative: Mask, scales: Digits, null: Mask | None = None, special: Floats | None = None
) -> pa.Array:
    """The column of magnitudes, the highest limb first, signs and scales; there is no negative zero.

    `special` as in Numbers: where it is NaN or infinite, it stands instead of the number.
    """
    count = len(limbs)
    below = negative & limbs.any(axis=1) if negative.any() else negative
    words = limbs.astype(">u4")
    if below.any():
        words = np.where(below[:, None], ~words, words)
    rows = np.empty((count, BYTES), np.uint8)
    rows[:, 0] = ~below
    rows[:, 1:-1] = np.ascontiguousarray(words, ">u4").view(np.uint8).reshape(count, BYTES - 2)
    rows[:, -1] = scales
    if special is not None:
        rows[~np.isfinite(special)] = 0
        rows[special == np.inf, 0] = 2
        rows[np.isnan(special), 0] = 3
    valid = None
    if null is not None and null.any():
        valid = pa.py_buffer(np.packbits(~null, bitorder="little"))
    offsets = pa.py_buffer(BYTES * np.arange(count + 1, dtype=np.int32))
    return pa.Array.from_buffers(pa.binary(), count, [valid, offsets, pa.py_buffer(rows.reshape(-1))])


def digits_of(limbs: Integers) -> Digits:
    """The 90 decimal digits of each magnitude, as numbers."""
    digits = (limbs[:, :, None] // _POWERS % 10).astype(np.uint8)
    return digits.reshape(len(limbs), LIMBS * _LIMB_DIGITS)


def column_of_digits(digits: Digits, negative: Mask, scales: Digits, null: Mask | None = None) -> pa.Array:
    """The column of rows of 90 decimal digits."""
    limbs = digits.reshape(-1, LIMBS, _LIMB_DIGITS).astype(np.int64) @ _POWERS
    return column_of(limbs, negative, scales, null)


def text_column(array: pa.Array) -> pa.Array:
    """The numbers as PostgreSQL shows them, with as many decimals as their scales say; NULLs stay."""
    numbers = numbers_of(array)
    digits, trailing = digits_of(numbers.limbs), numbers.scales
    count = len(digits)
    whole, fraction = digits[:, :WHOLE_DIGITS], digits[:, WHOLE_DIGITS:]
    leading = np.where(whole.any(axis=1), (whole != 0).argmax(axis=1), WHOLE_DIGITS - 1)
    shown = np.empty((count, 2 + WHOLE_DIGITS + DECIMALS), np.uint8)
    shown[:, 0] = ord("-")
    shown[:, 1 : 1 + WHOLE_DIGITS] = whole + ord("0")
    shown[:, 1 + WHOLE_DIGITS] = ord(".")
    shown[:, 2 + WHOLE_DIGITS :] = fraction + ord("0")
    places = np.arange(WHOLE_DIGITS)
    keep = np.empty(shown.shape, np.bool_)
    keep[:, 0] = numbers.negative
    keep[:, 1 : 1 + WHOLE_DIGITS] = places >= leading[:, None]
    keep[:, 1 + WHOLE_DIGITS] = trailing > 0
    keep[:, 2 + WHOLE_DIGITS :] = places < trailing[:, None]
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(keep.sum(axis=1), out=offsets[1:])
    valid = None if array.null_count == 0 else pc.is_valid(array).buffers()[1]
    texts = pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(shown[keep]), valid)
    return texts if numbers.special is None else _with_special(texts, numbers.special)


def _with_special(texts: pa.Array, special: Floats) -> pa.Array:
    texts = pc.if_else(pa.array(np.isnan(special)), "NaN", texts)
    texts = pc.if_else(pa.array(special == np.inf), "Infinity", texts)
    return pc.if_else(pa.array(special == -np.inf), "-Infinity", texts)


def parse_plain(texts: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Texts that are digits with perhaps a sign and a point, as a column; and which rows were, or are NULL."""
    plain = pc.fill_null(pc.match_substring_regex(texts, r"^-?[0-9]{1,45}(\.[0-9]{0,45})?$"), False)
    chosen = pc.if_else(plain, texts, "0")
    split = pc.extract_regex(chosen, r"^(?P<sign>-?)(?P<whole>[0-9]+)\.?(?P<fraction>[0-9]*)$")
    whole = pc.utf8_lpad(pc.struct_field(split, "whole"), WHOLE_DIGITS, padding="0")
    scales = pc.binary_length(pc.struct_field(split, "fraction")).to_numpy(zero_copy_only=False).astype(np.uint8)
    fraction = pc.utf8_rpad(pc.struct_field(split, "fraction"), DECIMALS, padding="0")
    joined = pc.cast(pc.binary_join_element_wise(whole, fraction, ""), pa.binary())
    width = WHOLE_DIGITS + DECIMALS
    fixed = joined.cast(pa.binary(width))
    raw = np.frombuffer(fixed.buffers()[1], np.uint8)[: width * len(texts)] if len(texts) else np.empty(0, np.uint8)
    negative = pc.equal(pc.struct_field(split, "sign"), "-").to_numpy(zero_copy_only=False)
    null = pc.is_null(texts).to_numpy(zero_copy_only=False)
    values = column_of_digits((raw - ord("0")).reshape(-1, width), negative, scales, null)
    return values, pc.or_(plain, pc.is_null(texts))
