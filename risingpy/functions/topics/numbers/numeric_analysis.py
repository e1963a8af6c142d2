"""Roots, logarithms, powers and whole-number functions of numeric, to the digits that PostgreSQL gives.

A function gives texts, already rounded as PostgreSQL 15 chooses (numeric.c: at least 16 significant digits), which the
generated SQL casts to the result's scale. Row by row, in Python's decimals: they are exact and these functions rare.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal

import pyarrow as pa

from risingpy.errors import NumericValueOutOfRange, SqlError
from risingpy.functions.topics.calling import Function, by_row
from risingpy.types import NUMERIC
from risingpy.types.forms import parse_column
from risingpy.types.wide_numeric import DECIMALS, to_decimal

_DIGITS = 16  # NUMERIC_MIN_SIG_DIGITS
_ZERO_POWER = "zero raised to a negative power is undefined"
_EXACT = Context(prec=120, rounding=ROUND_HALF_UP, Emax=999999, Emin=-999999)
_ANALYTIC = Context(prec=100, rounding=ROUND_HALF_UP, Emax=999999, Emin=-999999)  # more than any result shows
_LOG10_E = 0.434294481903252
_LARGEST_EXPONENT = 6000.0
_MOST_DIGITS = 46  # before the point: a numeric has 45, and the weight is an estimate
_MAX_FACTORIAL = 38  # 39! has more than 45 digits
_ONE = Decimal(1)
_INFINITY = Decimal("Infinity")


def _scale(x: Decimal) -> int:
    """How many decimals are shown."""
    exponent = x.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _limbs(x: Decimal) -> tuple[list[int], int]:
    """The first base-10000 digits of |x| and the weight of the first: PostgreSQL's own form of a number."""
    if not x:
        return [], 0
    weight = x.adjusted() // 4
    shifted = abs(x).scaleb(-4 * weight, _EXACT)
    digits: list[int] = []
    for _ in range(5):
        whole = int(shifted)
        digits.append(whole)
        shifted = _EXACT.multiply(shifted - whole, Decimal(10000))
    while digits[-1] == 0:
        digits.pop()
    return digits, weight


def _truncated_log10(x: float) -> int:
    return int(math.log10(x)) if x > 0 else 0


def _log_weight(x: Decimal) -> int:
    """estimate_ln_dweight: the decimal weight of ln(x)."""
    if Decimal("0.9") <= x <= Decimal("1.1"):
        digits, weight = _limbs(x - 1)
        return weight * 4 + int(math.log10(digits[0])) if digits else 0
    digits, weight = _limbs(x)
    leading, exponent = digits[0], weight * 4
    if len(digits) > 1:
        leading, exponent = leading * 10000 + digits[1], exponent - 4
    return _truncated_log10(abs(math.log(leading) + exponent * 2.302585092994046))


def _shown(value: Decimal, scale: int) -> str:
    return f"{value.quantize(_ONE.scaleb(-min(max(scale, 0), DECIMALS)), context=_EXACT):f}"


def _positive(x: Decimal) -> None:
    if x <= 0:
        what = "zero" if x == 0 else "a negative number"
        raise SqlError(f"cannot take logarithm of {what}", sqlstate="2201E")


def _sqrt(x: Decimal) -> str:
    if x.is_nan():
        return "NaN"
    if x < 0:
        raise SqlError("cannot take square root of a negative number", sqlstate="2201F")
    if x.is_infinite():
        return "Infinity"
    weight = _limbs(x)[1]
    half = math.trunc((weight + 1) * 4 / 2) - 1
    return _shown(_ANALYTIC.sqrt(x), max(_DIGITS - half, _scale(x)))


def _exp(x: Decimal) -> str:
    if not x.is_finite():
        return "0" if x == -_INFINITY else str(x)
    if abs(x) >= _LARGEST_EXPONENT:
        if x > 0:
            raise NumericValueOutOfRange("value overflows numeric format")
        return _shown(Decimal(0), DECIMALS)
    weight = int(max(-2000.0, min(float(x) * _LOG10_E, 2000.0)))
    return _shown(_ANALYTIC.exp(x), max(_DIGITS - weight, _scale(x)))


def _ln(x: Decimal) -> str:
    if x.is_nan():
        return "NaN"
    _positive(x)
    if x.is_infinite():
        return "Infinity"
    return _shown(_ANALYTIC.ln(x), max(_DIGITS - _log_weight(x), _scale(x)))


def _log(base: Decimal, x: Decimal) -> str:
    if base.is_nan() or x.is_nan():
        return "NaN"
    _positive(base)
    _positive(x)
    if base.is_infinite():
        return "NaN" if x.is_infinite() else "0"
    if x.is_infinite():
        return "Infinity"
    if base == 1:
        raise SqlError("division by zero", sqlstate="22012")
    scale = max(_DIGITS - (_log_weight(x) - _log_weight(base)), _scale(x), _scale(base))
    exact = _ANALYTIC.log10(x) if base == 10 else _ANALYTIC.divide(_ANALYTIC.ln(x), _ANALYTIC.ln(base))
    return _shown(exact, scale)


def _power(base: Decimal, exponent: Decimal) -> str:
    if not (base.is_finite() and exponent.is_finite()):
        return _power_of_special(base, exponent)
    whole = exponent == exponent.to_integral_value()
    if base == 0 and exponent < 0:
        raise SqlError(_ZERO_POWER, sqlstate="2201F")
    if base < 0 and not whole:
        message = "a negative number raised to a non-integer power yields a complex result"
        raise SqlError(message, sqlstate="2201F")
    if base == 0 and not whole:
        return _shown(base, _DIGITS)
    as_product = whole and abs(exponent) < 2**31
    weight = 0.0
    if base:
        logarithm = _log10_of_leading(base) if as_product else float(_ANALYTIC.ln(abs(base))) * _LOG10_E
        weight = float(exponent) * logarithm
    if weight > _MOST_DIGITS:
        raise NumericValueOutOfRange("value overflows numeric format")
    scale = max(_DIGITS, _scale(base))
    if not as_product:
        scale = max(_DIGITS - int(weight), _scale(base), _scale(exponent))
    if weight < -1001:
        return _shown(Decimal(0), scale)
    return _shown(_ANALYTIC.power(base, exponent) if base or exponent else _ONE, scale)


def _power_of_special(base: Decimal, exponent: Decimal) -> str:
    """power where an argument is NaN or infinite, by the rules of POSIX's pow, as numeric_power has them."""
    if base == 1 or exponent == 0:
        return "1"
    if base.is_nan() or exponent.is_nan():
        return "NaN"
    if base == 0 and exponent < 0:
        raise SqlError(_ZERO_POWER, sqlstate="2201F")
    if exponent.is_infinite():
        if abs(base) == 1:
            return "1"
        return "Infinity" if (abs(base) > 1) == (exponent > 0) else "0"
    if base < 0 and exponent != exponent.to_integral_value():
        message = "a negative number raised to a non-integer power yields a complex result"
        raise SqlError(message, sqlstate="2201F")
    if exponent < 0:
        return "0"
    return "-Infinity" if base < 0 and exponent % 2 == 1 else "Infinity"


def _log10_of_leading(x: Decimal) -> float:
    digits, weight = _limbs(x)
    leading, exponent = float(digits[0]), weight * 4
    for digit in digits[1:4]:
        leading, exponent = leading * 10000 + digit, exponent - 4
    return math.log10(leading) + exponent


def _factorial(n: int) -> str:
    if n < 0:
        raise NumericValueOutOfRange("factorial of a negative number is undefined")
    if n > _MAX_FACTORIAL:
        raise NumericValueOutOfRange("value overflows numeric format")
    return str(math.factorial(n))


def _whole_numbers(x: Decimal, y: Decimal) -> tuple[int, int, int]:
    """Both as integers, in units of the finer scale, which is the third."""
    scale = max(_scale(x), _scale(y))
    return int(x.scaleb(scale, _EXACT)), int(y.scaleb(scale, _EXACT)), scale


def _gcd(x: Decimal, y: Decimal) -> str:
    if not (x.is_finite() and y.is_finite()):
        return "NaN"
    a, b, scale = _whole_numbers(x, y)
    return f"{Decimal(math.gcd(a, b)).scaleb(-scale, _EXACT):f}"


def _lcm(x: Decimal, y: Decimal) -> str:
    if not (x.is_finite() and y.is_finite()):
        return "NaN"
    a, b, scale = _whole_numbers(x, y)
    return f"{Decimal(math.lcm(a, b)).scaleb(-scale, _EXACT):f}"


def _div(x: Decimal, y: Decimal) -> str:
    if x.is_nan() or y.is_nan():
        return "NaN"
    if y == 0:
        raise SqlError("division by zero", sqlstate="22012")
    if x.is_infinite():
        return "NaN" if y.is_infinite() else "Infinity" if (x > 0) == (y > 0) else "-Infinity"
    return "0" if y.is_infinite() else f"{_EXACT.divide(x, y).to_integral_value(ROUND_DOWN):f}"


def _width_bucket(x: Decimal, low: Decimal, high: Decimal, count: int) -> int:
    if count <= 0:
        raise SqlError("count must be greater than zero", sqlstate="2201G")
    if any(each.is_nan() for each in (x, low, high)):
        raise SqlError("operand, lower bound, and upper bound cannot be NaN", sqlstate="2201G")
    if low.is_infinite() or high.is_infinite():
        raise SqlError("lower and upper bounds must be finite", sqlstate="2201G")
    if low == high:
        raise SqlError("lower bound cannot equal upper bound", sqlstate="2201G")
    if low > high:
        x, low, high = -x, -low, -high
    if x < low:
        return 0
    bucket = count + 1 if x >= high else int(_EXACT.divide((x - low) * count, high - low)) + 1
    if bucket >= 2**31:
        raise NumericValueOutOfRange("integer out of range")
    return bucket


def _wide_width_bucket(x: bytes, low: bytes, high: bytes, count: int) -> int:
    return _width_bucket(to_decimal(x), to_decimal(low), to_decimal(high), count)


def _texts(one: Callable[..., str]) -> Function:
    return Function(by_row(one, pa.string()))


def _of_wide(one: Callable[..., str]) -> Function:
    """The same function of wide numerics, which are byte strings, and with such a result."""
    texts = by_row(lambda *given: one(*map(to_decimal, given)), pa.string())
    return Function(lambda *columns: parse_column(NUMERIC, texts(*columns)))


_ANALYTIC_FUNCTIONS: dict[str, Callable[..., str]] = {
    "sqrt_numeric": _sqrt,
    "exp_numeric": _exp,
    "ln_numeric": _ln,
    "log_numeric": _log,
    "log10_numeric": lambda x: _log(Decimal(10), x),
    "power_numeric": _power,
    "div": _div,
    "gcd_numeric": _gcd,
    "lcm_numeric": _lcm,
}
NUMERIC_ANALYSIS: dict[str, Function] = {
    **{name: _texts(one) for name, one in _ANALYTIC_FUNCTIONS.items()},
    **{f"wide_{name}": _of_wide(one) for name, one in _ANALYTIC_FUNCTIONS.items()},
    "factorial": _texts(_factorial),
    "width_bucket_numeric": Function(by_row(_width_bucket, pa.int32())),
    "wide_width_bucket_numeric": Function(by_row(_wide_width_bucket, pa.int32())),
}
