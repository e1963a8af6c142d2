"""Wide numerics (`types.wide_numeric`): arithmetic, rounding, and the ways to them and from them.

`wide_NAME` is what the signature table's function NAME is for them; `duckdb_sql` and `arrow_functions` choose it by the
types. Columns are byte strings, computed on as limbs by `wide_kernels`. Raises NumericValueOutOfRange for a result of
more than 45 digits before the point, and DivisionByZero.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import DivisionByZero, InvalidParameterValue, NumericValueOutOfRange, SqlError
from risingpy.executors.expression import wide_kernels as kernels
from risingpy.executors.expression.functions.calling import Compute, Function
from risingpy.executors.expression.wide_kernels import CEILING, FLOOR, HALF_AWAY, LIMBS, TRUNCATE
from risingpy.executors.statement_limits import current_limits
from risingpy.storage.column_buffers import whole
from risingpy.types import MAX_PRECISION, NUMERIC
from risingpy.types.forms import parse_column
from risingpy.types.wide_numeric import DECIMALS, column_of, limbs_of, text_column, to_decimal

_EXACT = Context(prec=200)
_TERM_BYTES = 500  # of a number, in all the columns that it is made of
_MOST_TERMS = 2**31 - 1  # of an Arrow list

Integers = npt.NDArray[np.int64]
Signs = npt.NDArray[np.uint8]

COMPUTED = frozenset(
    {
        *("add", "subtract", "multiply", "divide", "modulo", "negate", "abs", "sign", "ceil", "floor", "round"),
        *("trunc", "round_to", "trunc_to", "scale", "min_scale"),
        *("sqrt_numeric", "exp_numeric", "ln_numeric", "log_numeric", "log10_numeric", "power_numeric", "div"),
        *("gcd_numeric", "lcm_numeric", "width_bucket_numeric", "to_char_numeric"),
    }
)
"""Functions of the signature table that are computed here when an argument or the result is wide."""


def _read(column: pa.Array) -> tuple[Integers, Signs]:
    """Magnitudes, the lowest limb first, and signs."""
    limbs, negative = limbs_of(column)
    return np.ascontiguousarray(limbs[:, ::-1]).reshape(-1), negative.astype(np.uint8)


def _written(limbs: Integers, negative: Signs, failed: Signs | None = None) -> pa.Array:
    if failed is not None and failed.any():
        raise NumericValueOutOfRange("value overflows numeric format")
    return column_of(limbs.reshape(-1, LIMBS)[:, ::-1], negative.astype(np.bool_))


def _signed(limbs: Integers, negative: Signs) -> Integers:
    return limbs * np.repeat(1 - 2 * negative.astype(np.int64), LIMBS)


def _adding(sign: int) -> Compute:
    def compute(left: pa.Array, right: pa.Array) -> pa.Array:
        total = _signed(*_read(left)) + sign * _signed(*_read(right))
        negative, failed = np.empty((2, len(left)), np.uint8)
        kernels.settle(total, negative, failed)
        return _written(total, negative, failed)

    return compute


def _multiply(left: pa.Array, right: pa.Array) -> pa.Array:
    (a, a_negative), (b, b_negative) = _read(left), _read(right)
    product, failed = np.empty_like(a), np.empty(len(left), np.uint8)
    kernels.multiply(a, b, product, failed)
    return _written(product, a_negative ^ b_negative, failed)


def _divisor(column: pa.Array) -> tuple[Integers, Signs]:
    limbs, negative = _read(column)
    if not limbs.reshape(-1, LIMBS).any(axis=1).all():
        raise DivisionByZero("division by zero")
    return limbs, negative


def _divide(left: pa.Array, right: pa.Array) -> pa.Array:
    (a, a_negative), (b, b_negative) = _read(left), _divisor(right)
    quotient, failed = np.empty_like(a), np.empty(len(left), np.uint8)
    kernels.divide(a, b, quotient, failed)
    return _written(quotient, a_negative ^ b_negative, failed)


def _modulo(left: pa.Array, right: pa.Array) -> pa.Array:
    (a, negative), (b, _) = _read(left), _divisor(right)
    rest = np.empty_like(a)
    kernels.modulo(a, b, rest)
    return _written(rest, negative)


def _negate(column: pa.Array) -> pa.Array:
    limbs, negative = limbs_of(column)
    return column_of(limbs, ~negative)


def _abs(column: pa.Array) -> pa.Array:
    limbs, negative = limbs_of(column)
    return column_of(limbs, np.zeros_like(negative))


def _sign(column: pa.Array) -> pa.Array:
    limbs, negative = limbs_of(column)
    signs = np.zeros_like(limbs)
    signs[:, LIMBS - kernels.POINT - 1] = limbs.any(axis=1)
    return column_of(signs, negative)


def _rounded(column: pa.Array, decimals: Integers, mode: int) -> pa.Array:
    limbs, negative = _read(column)
    failed = np.empty(len(column), np.uint8)
    kernels.round_to(limbs, negative, decimals, mode, failed)
    return _written(limbs, negative, failed)


def _integral(mode: int) -> Compute:
    return lambda column: _rounded(column, np.zeros(len(column), np.int64), mode)


def _to_decimals(mode: int) -> Compute:
    return lambda column, decimals: _rounded(column, decimals.to_numpy(zero_copy_only=False).astype(np.int64), mode)


def _shown_decimals(column: pa.Array) -> pa.Array:
    """As many decimals as are shown."""
    places = pc.find_substring(text_column(column), ".")
    lengths = pc.binary_length(text_column(column))
    return pc.if_else(pc.less(places, 0), 0, pc.subtract(pc.subtract(lengths, places), 1)).cast(pa.int32())


def of_numbers(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Integers and numerics of up to 38 digits as wide ones; NULLs stay."""
    column = whole(column)
    if not pa.types.is_decimal(column.type):
        column = column.cast(pa.decimal128(19, 0))
    words = np.frombuffer(column.buffers()[1], np.int64) if len(column) else np.empty(0, np.int64)
    words = words[2 * column.offset : 2 * (column.offset + len(column))]
    null = column.is_null().to_numpy(zero_copy_only=False)
    if null.any():
        words = np.where(np.repeat(null, 2), 0, words)
    limbs, negative = np.empty(LIMBS * len(column), np.int64), np.empty(len(column), np.uint8)
    kernels.from_words(words, column.type.scale, limbs, negative)
    return column_of(limbs.reshape(-1, LIMBS)[:, ::-1], negative.astype(np.bool_), null)


def to_narrow(column: pa.Array | pa.ChunkedArray, result: pa.Decimal128Type) -> pa.Array:
    """Wide numerics rounded to a numeric of up to 38 digits; NULLs stay. Raises NumericValueOutOfRange."""
    column = whole(column)
    limbs, negative = _read(column)
    failed = np.empty(len(column), np.uint8)
    kernels.round_to(limbs, negative, np.full(len(column), result.scale, np.int64), HALF_AWAY, failed)
    words, too_long = np.empty(2 * len(column), np.int64), np.empty(len(column), np.uint8)
    kernels.to_words(limbs, negative, result.scale, words, too_long)
    if failed.any() or too_long.any():
        raise NumericValueOutOfRange("numeric field overflow")
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    validity = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    widest = pa.decimal128(MAX_PRECISION, result.scale)
    return pa.Array.from_buffers(widest, len(column), [validity, pa.py_buffer(words)]).cast(result)


def _rounded_text(column: pa.Array, decimals: pa.Array) -> pa.Array:
    return text_column(_to_decimals(HALF_AWAY)(column, decimals))


def _of_text(texts: pa.Array) -> pa.Array:
    return parse_column(NUMERIC, texts)


def _limb(column: pa.Array, numbers: pa.Array) -> pa.Array:
    """The signed limb of each number that has this number, the lowest being 0: what sums over windows are made of."""
    limbs = _signed(*_read(column)).reshape(-1, LIMBS)
    return pa.array(limbs[np.arange(len(limbs)), numbers.to_numpy()])


def _of_limbs(*sums: pa.Array) -> pa.Array:
    """The numbers whose limbs, each any bigint, are these, the lowest first."""
    limbs = np.stack([each.to_numpy() for each in sums], axis=1).reshape(-1)
    negative, failed = np.empty((2, len(sums[0])), np.uint8)
    kernels.settle(limbs, negative, failed)
    return _written(limbs, negative, failed)


def _terms(start: Decimal, stop: Decimal, step: Decimal) -> int:
    distance = _EXACT.subtract(stop, start)
    if distance and (distance > 0) != (step > 0):
        return 0
    terms = int(_EXACT.divide_int(distance, step)) + 1
    if terms > _MOST_TERMS:
        raise SqlError(f"a series of {terms} numbers is too long", sqlstate="54000")
    return terms


def _series(start: pa.Array, stop: pa.Array, step: pa.Array) -> pa.Array:
    """Lists of numbers from `start` to `stop`, both included."""
    if not limbs_of(step)[0].any(axis=1).all():
        raise InvalidParameterValue("step size cannot equal zero")
    rows = zip(*(map(to_decimal, column.to_pylist()) for column in (start, stop, step)), strict=True)
    counts = np.array([_terms(*row) for row in rows])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    current_limits().check(int(offsets[-1]) * _TERM_BYTES, "the series")
    owners = pa.array(np.repeat(np.arange(len(counts)), counts))
    places = of_numbers(pa.array(np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)))
    values = _adding(1)(start.take(owners), _multiply(step.take(owners), places))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


_FUNCTIONS: dict[str, Callable[..., pa.Array]] = {
    "add": _adding(1),
    "subtract": _adding(-1),
    "multiply": _multiply,
    "divide": _divide,
    "modulo": _modulo,
    "negate": _negate,
    "abs": _abs,
    "sign": _sign,
    "ceil": _integral(CEILING),
    "floor": _integral(FLOOR),
    "round": _integral(HALF_AWAY),
    "trunc": _integral(TRUNCATE),
    "round_to": _to_decimals(HALF_AWAY),
    "trunc_to": _to_decimals(TRUNCATE),
    "scale": _shown_decimals,
    "min_scale": _shown_decimals,
    "limb": _limb,
    "of_limbs": _of_limbs,
    "generate_series": _series,
    "of_numbers": of_numbers,
    "of_text": _of_text,
    "text": text_column,
    "rounded_text": _rounded_text,
}
WIDE_NUMBERS: dict[str, Function] = {f"wide_{name}": Function(compute) for name, compute in _FUNCTIONS.items()}
assert DECIMALS == kernels.POINT * 9
