"""The numbers that information_schema gives of a type: digits, bits and bytes."""

from __future__ import annotations

from risingpy.types import SqlType, TypeKind
from risingpy.types.time_precision import MOST_DIGITS

_BINARY_PRECISION = {
    TypeKind.SMALLINT: 16,
    TypeKind.INTEGER: 32,
    TypeKind.BIGINT: 64,
    TypeKind.REAL: 24,
    TypeKind.DOUBLE: 53,
}


def precisions(type_: SqlType) -> tuple[int | None, int | None, int | None]:
    """(numeric_precision, numeric_precision_radix, numeric_scale)."""
    if type_.kind is TypeKind.NUMERIC:
        return (type_.precision, 10, type_.scale) if type_.declared else (None, 10, None)
    bits = _BINARY_PRECISION.get(type_.kind)
    if bits is None:
        return None, None, None
    return bits, 2, 0 if type_.is_integer else None


def octets(type_: SqlType) -> int | None:
    """character_octet_length: the most bytes of UTF-8 that a text may have."""
    if not type_.is_text:
        return None
    return 1 << 30 if type_.length is None else 4 * type_.length


def time_digits(type_: SqlType) -> int | None:
    """datetime_precision: the digits of a second's fraction."""
    if type_.has_clock:
        return MOST_DIGITS if type_.length is None else type_.length
    return 0 if type_.kind is TypeKind.DATE else None
