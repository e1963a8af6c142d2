"""Exact arithmetic on numeric columns, in 256 bits, where DuckDB's and Arrow's 128 are too few.

Results are rounded half away from zero, as PostgreSQL does, and have type numeric(38, scale). Arguments are
decimal128 columns of any precision and scale. Raises DivisionByZero and NumericValueOutOfRange.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import DivisionByZero, NumericValueOutOfRange
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import MAX_PRECISION

Column: TypeAlias = "pa.Array | pa.ChunkedArray"

_WIDE = 76  # digits of decimal256
_DIVISION_SCALE = 4  # the decimals that Arrow's division gives whole numbers
_HALF_AWAY = "half_towards_infinity"
_TOWARDS_ZERO = "towards_zero"


def add(left: Column, right: Column, scale: int) -> pa.Array:
    """left + right; `scale` is the larger of the two scales."""
    return _narrowed(pc.add(_widened(left, scale), _widened(right, scale)), scale)


def subtract(left: Column, right: Column, scale: int) -> pa.Array:
    """left - right; `scale` is the larger of the two scales."""
    return _narrowed(pc.subtract(_widened(left, scale), _widened(right, scale)), scale)


def multiply(left: Column, right: Column, scale: int) -> pa.Array:
    """left * right, rounded to `scale`."""
    # Arrow adds one digit for the product's precision: claim one less than 38 + 38. The claim checks nothing.
    product = pc.multiply(
        _relabelled(_wide(left), MAX_PRECISION - 1, 0), _relabelled(_wide(right), MAX_PRECISION - 1, 0)
    )
    exact = _relabelled(product, _WIDE - 1, whole(left).type.scale + whole(right).type.scale)
    return _narrowed(exact, scale)


def divide(dividend: Column, divisor: Column, scale: int) -> pa.Array:
    """dividend / divisor, rounded to `scale`."""
    dividend, divisor = whole(dividend), whole(divisor)
    # A quotient cut after one digit more than asked for rounds to the right number.
    shift = max(scale + divisor.type.scale - dividend.type.scale + 1, _DIVISION_SCALE)
    if dividend.type.precision + shift > _WIDE:
        return _divide_by_row(dividend, divisor, scale)
    cut_scale = shift + dividend.type.scale - divisor.type.scale
    precision = dividend.type.precision + shift - _DIVISION_SCALE
    unscaled = _relabelled(_wide(dividend), dividend.type.precision, 0)
    shifted = unscaled.cast(pa.decimal256(precision, shift - _DIVISION_SCALE))
    try:
        quotient = pc.divide(_relabelled(shifted, precision, 0), _relabelled(_wide(divisor), 1, 0))
    except pa.ArrowInvalid as error:
        raise DivisionByZero("division by zero") from error
    return _narrowed(_relabelled(quotient, _WIDE, cut_scale), scale)


def round_to(value: Column, decimals: Column, scale: int) -> pa.Array:
    """Rounds each value to its own number of `decimals`, negative ones before the point."""
    return _rounded(value, decimals, scale, _HALF_AWAY)


def truncate_to(value: Column, decimals: Column, scale: int) -> pa.Array:
    """Cuts each value after its own number of `decimals`."""
    return _rounded(value, decimals, scale, _TOWARDS_ZERO)


def _rounded(value: Column, decimals: Column, scale: int, mode: str) -> pa.Array:
    value = whole(value)
    # Arrow refuses to round at a digit that the type has not got; those digits are zeros.
    lowest = value.type.scale - value.type.precision + 1
    wide = _wide(value).cast(pa.decimal256(_WIDE - 1, value.type.scale))
    limited = pc.max_element_wise(whole(decimals).cast(pa.int32()), lowest - 1, skip_nulls=False)
    return _narrowed(pc.round_binary(wide, limited, round_mode=mode), scale)


def _wide(column: Column) -> pa.Array:
    column = whole(column)
    return column.cast(pa.decimal256(column.type.precision, column.type.scale))


def _widened(column: Column, scale: int) -> pa.Array:
    return whole(column).cast(pa.decimal256(_WIDE - 1, scale))


def _relabelled(column: pa.Array, precision: int, scale: int) -> pa.Array:
    """The same unscaled numbers, said to have another precision and scale."""
    label = pa.decimal256(precision, scale)
    return pa.Array.from_buffers(label, len(column), column.buffers(), column.null_count, column.offset)


def _narrowed(wide: pa.Array, scale: int) -> pa.Array:
    if wide.type.scale > scale:
        wide = pc.round(wide, ndigits=scale, round_mode=_HALF_AWAY)
    try:
        return wide.cast(pa.decimal128(MAX_PRECISION, scale))
    except pa.ArrowInvalid as error:
        raise _too_large(scale) from error


def _divide_by_row(dividend: pa.Array, divisor: pa.Array, scale: int) -> pa.Array:
    """For scales so far apart that 76 digits do not hold the dividend."""
    context = Context(prec=200, rounding=ROUND_HALF_UP)
    quantum = Decimal(1).scaleb(-scale)
    results: list[Decimal | None] = []
    for a, b in zip(dividend.to_pylist(), divisor.to_pylist(), strict=True):
        if a is None or b is None:
            results.append(None)
            continue
        if b == 0:
            raise DivisionByZero("division by zero")
        results.append(context.quantize(context.divide(a, b), quantum))
    try:
        return pa.array(results, pa.decimal128(MAX_PRECISION, scale))
    except pa.ArrowInvalid as error:
        raise _too_large(scale) from error


def _too_large(scale: int) -> NumericValueOutOfRange:
    return NumericValueOutOfRange(
        "numeric field overflow",
        detail=f"A field with precision {MAX_PRECISION}, scale {scale} must round to an absolute value less than"
        f" 10^{MAX_PRECISION - scale}.",
    )
