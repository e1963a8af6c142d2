"""real and double precision: the shortest text that reads back as the same number, big-endian IEEE 754 binary.

Arrow prints the shortest digits too, but with other exponents than PostgreSQL:

    value            Arrow            PostgreSQL (double)     (real)
    123456789012.5   1.234567890125e+11   123456789012.5      1.2345679e+11
    0.00001          0.00001          1e-05                   1e-05
    1e-9             1e-9             1e-09                   1e-09
    NaN, Infinity    nan, inf         NaN, Infinity           NaN, Infinity

and it takes a decimal that lies exactly halfway between two numbers, which PostgreSQL does not
(src/common/d2s.c, acceptBounds). Such rows are printed one by one; all others as a column.
"""

from __future__ import annotations

import math
import re
import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, NumericValueOutOfRange, SqlError
from risingpy.types.families import TypeKind
from risingpy.types.sql_type import SqlType

_SYNTAX = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*", re.ASCII)
_SPECIAL = {"nan": math.nan, "inf": math.inf, "infinity": math.inf}
# Too short to overflow a float64, to underflow it, or to need Arrow's slow parser.
_PLAIN = r"^-?[0-9]{1,25}(\.[0-9]{0,25})?([eE][-+]?[0-9]{1,2})?$"
_FLOAT32_MAX = float(np.finfo(np.float32).max)


def parse(type_: SqlType, text: str, time_zone: str) -> float:
    """Raises NumericValueOutOfRange for a number that the type could only hold as zero or infinity."""
    match = _SYNTAX.fullmatch(text)
    if match is None:
        word = text.strip().lower()
        special = _SPECIAL.get(word.lstrip("+-") if word[:2] not in ("--", "++", "+-", "-+") else word)
        if special is None:
            raise InvalidTextRepresentation(f'invalid input syntax for type {type_}: "{text}"')
        return -special if word.startswith("-") else special
    value = float(match[1])
    if type_.kind is TypeKind.REAL:  # by Arrow: NumPy rounds twice, first to a double
        value = pa.scalar(match[1]).cast(pa.float32()).as_py()
    mantissa = re.split("[eE]", match[1])[0]
    if math.isinf(value) or (value == 0 and re.search("[1-9]", mantissa)):
        raise NumericValueOutOfRange(f'"{match[1]}" is out of range for type {type_}')
    return value


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The shortest text that reads back as the same number of this width, in PostgreSQL's notation."""
    assert isinstance(value, float)
    return format_real(value) if type_.kind is TypeKind.REAL else format_double(value)


def format_double(value: float) -> str:
    """PostgreSQL's text of a double precision (extra_float_digits = 1)."""
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    shown = repr(value)
    if 2.0**53 <= abs(value) < 1e24:
        inner, outer = math.nextafter(value, 0.0), math.nextafter(value, math.copysign(math.inf, value))
        shown = _avoid_midpoint(shown, value, inner, outer)
    return _with_exponent_from(shown, 15)


def format_real(value: float) -> str:
    """PostgreSQL's text of a real, given as the float that equals it."""
    if not math.isfinite(value):
        return format_double(value)
    single = np.float32(value)
    shown = np.format_float_scientific(single, unique=True)
    if 2.0**24 <= abs(value) < 1e12:
        inner = float(np.nextafter(single, np.float32(0)))
        outer = float(np.nextafter(single, np.float32(math.copysign(math.inf, value))))
        shown = _avoid_midpoint(shown, value, inner, outer)
    return _with_exponent_from(shown, 6)


def _avoid_midpoint(shown: str, value: float, inner: float, outer: float) -> str:
    """`shown`, or the shortest longer decimal that is not halfway to a neighbour."""
    digits = len(shown.partition("e")[0].strip("-").replace(".", "").rstrip("0"))
    while _is_midpoint(shown, value, inner, outer):
        shown = f"{value:.{digits}e}"  # the nearest decimal of one digit more
        digits += 1
    return shown


def _is_midpoint(shown: str, value: float, inner: float, outer: float) -> bool:
    """True if `shown` lies exactly halfway from `value`, a whole number, to its neighbour toward or away from zero."""
    mantissa, _, exponent = shown.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    shift = int(exponent or 0) - len(fraction)
    scale: int = 10 ** abs(shift)
    digits, rest = int(whole + fraction), 0
    if shift < 0:
        digits, rest = divmod(digits, scale)
    else:
        digits *= scale
    if rest:
        return False
    away = digits - abs(int(value))
    neighbour = outer if away > 0 else inner
    step: int = abs(int(neighbour) - int(value))
    return away != 0 and 2 * abs(away) == step


def _with_exponent_from(shown: str, limit: int) -> str:
    """Digits with or without exponent → PostgreSQL's choice: an exponent below 1e-4 and from 10**limit on."""
    sign = "-" if shown.startswith("-") else ""
    mantissa, _, exponent = shown.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent or 0)
    digits = whole + fraction
    leading = len(digits) - len(digits.lstrip("0"))
    digits = digits.strip("0")
    if not digits:
        return sign + "0"
    point -= leading
    if not -4 < point <= limit:
        power = point - 1
        tail = f".{digits[1:]}" if len(digits) > 1 else ""
        return f"{sign}{digits[0]}{tail}e{'-' if power < 0 else '+'}{abs(power):02d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if len(digits) <= point:
        return sign + digits.ljust(point, "0")
    return f"{sign}{digits[:point]}.{digits[point:]}"


def encode(type_: SqlType, value: object) -> bytes:
    """Big-endian IEEE 754, 4 bytes of a real, 8 of a double precision."""
    return struct.pack("!f" if type_.kind is TypeKind.REAL else "!d", value)


def decode(type_: SqlType, data: bytes) -> float:
    """Any bit pattern of the right length is a value, NaN included. Raises 22P03 for another length."""
    if len(data) != type_.typlen:
        raise SqlError("incorrect binary data format", sqlstate="22P03")
    value: float = struct.unpack("!f" if type_.kind is TypeKind.REAL else "!d", data)[0]
    return value


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them; NULLs stay. Arrow writes the sizes in which it agrees with PostgreSQL."""
    real = type_.kind is TypeKind.REAL
    values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    size = np.abs(values)
    with np.errstate(invalid="ignore"):
        plain = (size == 0) | ((size >= 1e-4) & (size < (1e6 if real else 1e10)))
        whole = plain if real else plain | ((size < 1e15) & (size >= 1e10) & (values == np.floor(values)))
        far = plain if real else (size >= 1e24) & np.isfinite(values)
    texts = pc.cast(array, pa.string())
    if not real and not bool(plain.all()):
        integers = pa.array(np.where(whole & ~plain, values, 0).astype(np.int64)).cast(pa.string())
        texts = pc.if_else(pa.array(whole & ~plain), integers, texts)
    odd = np.flatnonzero(~(plain | whole | far))
    if len(odd):
        mask = np.zeros(len(values), bool)
        mask[odd] = True
        show = format_real if real else format_double
        shown = pa.array([show(value) for value in values[odd].tolist()], pa.string())
        texts = pc.replace_with_mask(texts, pa.array(mask), shown)
        texts = pc.if_else(pc.is_valid(array), texts, pa.scalar(None, pa.string())) if array.null_count else texts
    return texts


def binary_column(type_: SqlType, array: pa.Array) -> npt.NDArray[np.generic]:
    """Big-endian floats of the type's width; 0 where the column is NULL."""
    values = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    return np.ascontiguousarray(values.astype(f">f{type_.typlen}"))


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """See `forms.parse_column`."""
    plain = pc.match_substring_regex(texts, _PLAIN)
    numbers = pc.cast(pc.if_else(plain, texts, pa.scalar(None, pa.string())), type_.arrow)
    if type_.kind is TypeKind.REAL:
        # What overflows or underflows a real is for `parse` to refuse.
        size = pc.abs(numbers.cast(pa.float64()))
        inside = pc.and_(pc.less_equal(size, _FLOAT32_MAX), pc.greater(size, 0.0))
        zero = pc.match_substring_regex(texts, r"^-?0+(\.0*)?$")
        plain = pc.and_kleene(plain, pc.or_kleene(inside, zero))
    return numbers, pc.or_kleene(plain, pc.is_null(texts))
