"""Wide numerics (`types.wide_numeric`): arithmetic, rounding, and the ways to them and from them.

`wide_NAME` is what the signature table's function NAME is for them; `duckdb_sql` and `arrow_functions` choose it by the
types. Columns are byte strings, computed on as limbs by `wide_kernels`. Raises NumericValueOutOfRange for a result of
more than 45 digits before the point, and DivisionByZero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import DivisionByZero, FeatureNotSupported, InvalidParameterValue, NumericValueOutOfRange, SqlError
from risingpy.functions.topics.calling import Compute, Function
from risingpy.functions.topics.numbers import wide_kernels as kernels
from risingpy.functions.topics.numbers.wide_kernels import CEILING, FLOOR, HALF_AWAY, LIMBS, TRUNCATE
from risingpy.functions.topics.numbers.wide_sum_kernels import INFINITE, MINUS_INFINITE, NAN
from risingpy.statement_limits import current_limits
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import MAX_PRECISION, NUMERIC
from risingpy.types.forms import parse_column
from risingpy.types.wide_numeric import (
    DECIMALS,
    column_of,
    numbers_of,
    text_column,
    to_decimal,
)

_EXACT = Context(prec=200)
_TERM_BYTES = 500  # of a number, in all the columns that it is made of
_MOST_TERMS = 2**31 - 1  # of an Arrow list

Integers = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Floats = npt.NDArray[np.float64]

COMPUTED = frozenset(
    {
        *("add", "subtract", "multiply", "divide", "modulo", "negate", "abs", "sign", "ceil", "floor", "round"),
        *("trunc", "round_to", "trunc_to", "scale", "min_scale", "trim_scale"),
        *("sqrt_numeric", "exp_numeric", "ln_numeric", "log_numeric", "log10_numeric", "power_numeric", "div"),
        *("gcd_numeric", "lcm_numeric", "width_bucket_numeric", "to_char_numeric"),
        *("greatest", "least", "nullif"),
    }
)
"""Functions of the signature table that are computed here when an argument or the result is wide."""


@dataclass(frozen=True, slots=True)
class _Operand:
    """A column as the kernels take it: magnitudes, the lowest limb first, signs, scales; `special` as in `Numbers`."""

    limbs: Integers
    negative: Bytes
    scales: Bytes
    special: Floats | None

    @property
    def signed(self) -> Integers:
        return self.limbs * np.repeat(1 - 2 * self.negative.astype(np.int64), LIMBS)

    @property
    def is_zero(self) -> npt.NDArray[np.bool_]:
        """Which numbers are 0."""
        zero: npt.NDArray[np.bool_] = np.logical_not(self.limbs.reshape(-1, LIMBS).any(axis=1))
        return zero if self.special is None else np.logical_and(zero, self.special == 0)

    def as_floats(self) -> Floats:
        """Something that has the same sign, and is NaN or infinite where the number is."""
        signs = np.where(self.is_zero, 0.0, np.where(self.negative != 0, -1.0, 1.0))
        return signs if self.special is None else np.where(self.special == 0, signs, self.special)


def _read(column: pa.Array) -> _Operand:
    numbers = numbers_of(column)
    limbs = np.ascontiguousarray(numbers.limbs[:, ::-1]).reshape(-1)
    return _Operand(limbs, numbers.negative.astype(np.uint8), np.ascontiguousarray(numbers.scales), numbers.special)


def _written(
    limbs: Integers, negative: Bytes, scales: Bytes, failed: Bytes | None = None, special: Floats | None = None
) -> pa.Array:
    if failed is not None and (failed if special is None else failed * (special == 0)).any():
        raise NumericValueOutOfRange("value overflows numeric format")
    return column_of(limbs.reshape(-1, LIMBS)[:, ::-1], negative.astype(np.bool_), scales, None, special)


def _special(operation: Callable[[Floats, Floats], Floats], left: _Operand, right: _Operand) -> Floats | None:
    """The results of an operation for rows with an operand that is NaN or infinite; 0 marks a finite result."""
    if left.special is None and right.special is None:
        return None
    with np.errstate(all="ignore"):
        value = operation(left.as_floats(), right.as_floats())
    odd = np.zeros(len(value), np.bool_)
    for each in (left, right):
        if each.special is not None:
            odd |= each.special != 0
    return np.where(odd & ~np.isfinite(value), value, 0.0)


def _larger_scale(left: _Operand, right: _Operand) -> Bytes:
    larger: Bytes = np.maximum(left.scales, right.scales)
    return larger


def _adding(sign: int) -> Compute:
    def compute(left: pa.Array, right: pa.Array) -> pa.Array:
        a, b = _read(left), _read(right)
        total = a.signed + sign * b.signed
        negative, failed = np.empty((2, len(left)), np.uint8)
        kernels.settle(total, negative, failed)
        special = _special(lambda x, y: x + sign * y, a, b)
        return _written(total, negative, _larger_scale(a, b), failed, special)

    return compute


def _multiply(left: pa.Array, right: pa.Array) -> pa.Array:
    a, b = _read(left), _read(right)
    product, failed = np.empty_like(a.limbs), np.empty(len(left), np.uint8)
    kernels.multiply(a.limbs, b.limbs, product, failed)
    scales = np.minimum(a.scales + b.scales, DECIMALS).astype(np.uint8)
    return _written(product, a.negative ^ b.negative, scales, failed, _special(np.multiply, a, b))


def _dividing(left: pa.Array, right: pa.Array) -> tuple[_Operand, _Operand, Integers]:
    """Dividend and divisor, and limbs to divide by, none of which is 0; NaN may be divided by 0."""
    a, b = _read(left), _read(right)
    zero = b.is_zero if a.special is None else b.is_zero & ~np.isnan(a.special)
    if zero.any():
        raise DivisionByZero("division by zero")
    if a.special is None and b.special is None:
        return a, b, b.limbs
    limbs = b.limbs.copy().reshape(-1, LIMBS)
    limbs[~limbs.any(axis=1), kernels.POINT] = 1
    return a, b, limbs.reshape(-1)


def _divide(left: pa.Array, right: pa.Array) -> pa.Array:
    a, b, divisor = _dividing(left, right)
    quotient = np.empty_like(a.limbs)
    scales, failed = np.empty((2, len(left)), np.uint8)
    kernels.divide(a.limbs, divisor, _larger_scale(a, b), quotient, scales, failed)
    special = _special(np.divide, a, b)
    if b.special is not None:  # a quotient by an infinity is 0
        scales[np.isinf(b.special)] = 0
        quotient.reshape(-1, LIMBS)[np.isinf(b.special)] = 0
    return _written(quotient, a.negative ^ b.negative, scales, failed, special)


def _modulo(left: pa.Array, right: pa.Array) -> pa.Array:
    a, b, divisor = _dividing(left, right)
    rest = np.empty_like(a.limbs)
    kernels.modulo(a.limbs, divisor, rest)
    scales = _larger_scale(a, b)
    special = _special(np.fmod, a, b)
    if b.special is not None:  # the remainder of a division by an infinity is the dividend
        whole_rest = np.isinf(b.special)
        rest.reshape(-1, LIMBS)[whole_rest] = a.limbs.reshape(-1, LIMBS)[whole_rest]
        scales[whole_rest] = a.scales[whole_rest]
    return _written(rest, a.negative, scales, None, special)


def _negate(column: pa.Array) -> pa.Array:
    numbers = numbers_of(column)
    special = None if numbers.special is None else -numbers.special
    return column_of(numbers.limbs, ~numbers.negative, numbers.scales, None, special)


def _abs(column: pa.Array) -> pa.Array:
    numbers = numbers_of(column)
    special = None if numbers.special is None else np.abs(numbers.special)
    return column_of(numbers.limbs, np.zeros_like(numbers.negative), numbers.scales, None, special)


def _sign(column: pa.Array) -> pa.Array:
    given = _read(column)
    signs = given.as_floats()
    limbs = np.zeros((len(column), LIMBS), np.int64)
    limbs[:, LIMBS - kernels.POINT - 1] = np.abs(np.sign(np.nan_to_num(signs)))
    special = np.where(np.isnan(signs), np.nan, 0.0)
    return column_of(limbs, signs < 0, np.zeros(len(column), np.uint8), None, special)


def _rounded(column: pa.Array, decimals: Integers, mode: int) -> pa.Array:
    given = _read(column)
    failed = np.empty(len(column), np.uint8)
    kernels.round_to(given.limbs, given.negative, decimals, mode, failed)
    scales = np.clip(decimals, 0, DECIMALS).astype(np.uint8)
    return _written(given.limbs, given.negative, scales, failed, given.special)


def _integral(mode: int) -> Compute:
    return lambda column: _rounded(column, np.zeros(len(column), np.int64), mode)


def _to_decimals(mode: int) -> Compute:
    return lambda column, decimals: _rounded(column, decimals.to_numpy(zero_copy_only=False).astype(np.int64), mode)


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
    scales = np.full(len(column), column.type.scale, np.uint8)
    return column_of(limbs.reshape(-1, LIMBS)[:, ::-1], negative.astype(np.bool_), scales, null)


def to_narrow(column: pa.Array | pa.ChunkedArray, result: pa.Decimal128Type) -> pa.Array:
    """Wide numerics rounded to a numeric of up to 38 digits; NULLs stay. Raises NumericValueOutOfRange."""
    column = whole(column)
    given = _read(column)
    if given.special is not None:
        refuse_special(given.special, result.precision, result.scale)
    limbs, negative = given.limbs, given.negative
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


def refuse_special(special: Floats, precision: int, scale: int) -> None:
    """Raises an error for a value that is not finite and must become numeric(precision, scale)."""
    if np.isinf(special).any():
        detail = f"A field with precision {precision}, scale {scale} cannot hold an infinite value."
        raise NumericValueOutOfRange("numeric field overflow", detail=detail)
    if np.isnan(special).any():
        raise FeatureNotSupported("NaN in a numeric with declared digits is not supported")


def _to_integer_text(kind: str) -> Compute:
    """Texts of the rounded numbers, for a cast to this integer type."""

    def compute(column: pa.Array) -> pa.Array:
        special = numbers_of(column).special
        if special is not None and (special != 0).any():
            what = "NaN" if np.isnan(special).any() else "infinity"
            raise FeatureNotSupported(f"cannot convert {what} to {kind}")
        return text_column(_rounded(column, np.zeros(len(column), np.int64), HALF_AWAY))

    return compute


def _rounded_text(column: pa.Array, decimals: pa.Array) -> pa.Array:
    special = numbers_of(column).special
    if special is not None:
        refuse_special(special, MAX_PRECISION, int(decimals[0].as_py()))
    return text_column(_to_decimals(HALF_AWAY)(column, decimals))


def _of_text(texts: pa.Array) -> pa.Array:
    return parse_column(NUMERIC, texts)


def _limb(column: pa.Array, numbers: pa.Array) -> pa.Array:
    """The signed limb of each number that has this number, the lowest being 0: what sums over windows are made of."""
    limbs = _read(column).signed.reshape(-1, LIMBS)
    return pa.array(limbs[np.arange(len(limbs)), numbers.to_numpy()])


def _of_limbs(*sums: pa.Array) -> pa.Array:
    """The numbers whose limbs, each any bigint, are these, the lowest first; then all summands' bits of kinds."""
    limbs = np.stack([each.to_numpy() for each in sums[:-1]], axis=1).reshape(-1)
    bits = sums[-1].to_numpy()
    nan, plus, minus = ((bits >> kind & 1).astype(np.bool_) for kind in (NAN, INFINITE, MINUS_INFINITE))
    special = np.where(nan | (plus & minus), np.nan, np.where(plus, np.inf, np.where(minus, -np.inf, 0.0)))
    scales = np.frexp((bits & ((1 << NAN) - 1)).astype(np.float64))[1] - 1
    negative, failed = np.empty((2, len(bits)), np.uint8)
    kernels.settle(limbs, negative, failed)
    return _written(limbs, negative, np.maximum(scales, 0).astype(np.uint8), failed, special)


def _terms(start: Decimal, stop: Decimal, step: Decimal, *, with_stop: bool) -> int:
    distance = _EXACT.subtract(stop, start)
    if distance and (distance > 0) != (step > 0):
        return 0
    terms = int(_EXACT.divide_int(distance, step)) + 1
    if not with_stop and not _EXACT.remainder(distance, step):
        terms -= 1
    if terms > _MOST_TERMS:
        raise SqlError(f"a series of {terms} numbers is too long", sqlstate="54000")
    return terms


def _range(start: pa.Array, stop: pa.Array, step: pa.Array) -> pa.Array:
    """Lists of numbers from `start` to before `stop`."""
    return _series(start, stop, step, with_stop=False)


def _series(start: pa.Array, stop: pa.Array, step: pa.Array, *, with_stop: bool = True) -> pa.Array:
    """Lists of numbers from `start` to `stop`, both included."""
    for what, column in (("start value", start), ("stop value", stop), ("step size", step)):
        special = numbers_of(column).special
        if special is not None and (special != 0).any():
            shown = "NaN" if np.isnan(special).any() else "infinity"
            raise InvalidParameterValue(f"{what} cannot be {shown}")
    if _read(step).is_zero.any():
        raise InvalidParameterValue("step size cannot equal zero")
    rows = zip(*(map(to_decimal, column.to_pylist()) for column in (start, stop, step)), strict=True)
    counts = np.array([_terms(*row, with_stop=with_stop) for row in rows])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
    current_limits().check(int(offsets[-1]) * _TERM_BYTES, "the series")
    owners = pa.array(np.repeat(np.arange(len(counts)), counts))
    places = of_numbers(pa.array(np.arange(offsets[-1]) - np.repeat(offsets[:-1], counts)))
    starts = start.take(owners)
    values = _adding(1)(starts, _multiply(step.take(owners), places))
    values = pc.if_else(pa.array(np.isin(np.arange(offsets[-1]), offsets)), starts, values)  # as it was written
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
    "smallint_text": _to_integer_text("smallint"),
    "integer_text": _to_integer_text("integer"),
    "bigint_text": _to_integer_text("bigint"),
    "limb": _limb,
    "of_limbs": _of_limbs,
    "generate_series": _series,
    "range": _range,
    "of_numbers": of_numbers,
    "of_text": _of_text,
    "text": text_column,
    "rounded_text": _rounded_text,
}
WIDE_NUMBERS: dict[str, Function] = {f"wide_{name}": Function(compute) for name, compute in _FUNCTIONS.items()}
assert DECIMALS == kernels.POINT * 9
