"""Operators and functions on numbers as DuckDB SQL, with PostgreSQL's errors and rounding."""

from __future__ import annotations

from collections.abc import Callable

from risingpy.executors.expression.nodes import Call, Literal
from risingpy.executors.expression.sql_text import quoted, raised
from risingpy.types import DOUBLE, MAX_PRECISION, SqlType, TypeKind

_MIN_SCALE = r"CAST(length(regexp_extract(CAST({0} AS VARCHAR), '\.(\d*?)0*$', 1)) AS INTEGER)"
_DEGREE = "0.0174532925199432957692"  # in radians
_BITS = {TypeKind.SMALLINT: 16, TypeKind.INTEGER: 32, TypeKind.BIGINT: 64}


def _add(call: Call, args: list[str]) -> str:
    return _sum("+", call, args)


def _subtract(call: Call, args: list[str]) -> str:
    left, right = (arg.type.kind for arg in call.args)
    if left is right is TypeKind.TIME:
        return f"to_microseconds(epoch_us({args[0]}) - epoch_us({args[1]}))"
    if left is right is TypeKind.DATE:
        return f"CAST({args[0]} - {args[1]} AS INTEGER)"
    return _sum("-", call, args)


def _sum(operator: str, call: Call, args: list[str]) -> str:
    plain = f"({args[0]} {operator} {args[1]})"
    # DuckDB has integers and doubles right; its decimals' result type is not ours, and date + interval is.
    if call.type.is_float:
        return _in_range(plain, _finite(args), may_be_zero="TRUE", type_=call.type)
    return plain if call.type.is_integer else f"CAST({plain} AS {call.type.duckdb})"


def _multiply(call: Call, args: list[str]) -> str:
    if call.type.is_float:
        zero = f"{args[0]} = 0 OR {args[1]} = 0"
        return _in_range(f"({args[0]} * {args[1]})", _finite(args), may_be_zero=zero, type_=call.type)
    if call.type.kind is not TypeKind.NUMERIC:
        return f"({args[0]} * {args[1]})"
    digits = sum(arg.type.precision or MAX_PRECISION for arg in call.args)
    if digits <= MAX_PRECISION:
        return f"CAST({args[0]} * {args[1]} AS {call.type.duckdb})"
    return _rounded_numeric("rpy_multiply", call, args)


def _divide(call: Call, args: list[str]) -> str:
    left, right = args
    if call.type.is_integer:
        return f"({left} // {right})"
    if call.type.kind is TypeKind.NUMERIC:
        return _rounded_numeric("rpy_divide", call, args)
    # DuckDB's `/` gives infinity for a zero divisor, its `//` the error; on no row else is it evaluated.
    error = f"CAST(1 // CAST({right} AS INTEGER) AS DOUBLE)"
    not_nan = f" AND NOT isnan({left})" if call.args[0].type.is_float else ""
    safe = f"CASE WHEN {right} = 0{not_nan} THEN {error} ELSE {right} END"
    if not call.type.is_float:
        return f"({left} / {safe})"
    quotient = f"CAST({left} / {safe} AS {call.type.duckdb})"
    return _in_range(quotient, f"{_finite(args)} AND {right} <> 0", may_be_zero=f"{left} = 0", type_=call.type)


def _modulo(call: Call, args: list[str]) -> str:
    left, right = args
    if call.type.kind is TypeKind.NUMERIC:
        return f"CAST({left} % {right} AS {call.type.duckdb})"
    divisor = call.args[1]
    if isinstance(divisor, Literal) and divisor.value != -1:
        return f"({left} % {right})"
    # The smallest integer % -1 overflows in DuckDB.
    return f"CASE WHEN {right} = -1 THEN CAST(0 AS {call.type.duckdb}) + 0 * {left} ELSE {left} % {right} END"


def _negate(call: Call, args: list[str]) -> str:
    if call.type.is_integer:
        return f"(CAST(0 AS {call.type.duckdb}) - {args[0]})"
    return f"(-{args[0]})"


def _rounded_numeric(function: str, call: Call, args: list[str]) -> str:
    computed = f"{function}_{call.type.scale}({args[0]}, {args[1]})"
    return computed if call.type.precision == MAX_PRECISION else f"CAST({computed} AS {call.type.duckdb})"


def _shift_left(call: Call, args: list[str]) -> str:
    """As in C: the distance counts modulo the width, bits that are pushed out are lost."""
    bits = _BITS[call.type.kind]
    distance = f"CAST({args[1]} & {max(bits, 32) - 1} AS HUGEINT)"
    shifted = f"(CAST({args[0]} AS HUGEINT) * (CAST(1 AS HUGEINT) << {distance}))"
    half = 2 ** (bits - 1)
    wrapped = f"(({shifted} + {half}::HUGEINT) & {2**bits - 1}::HUGEINT) - {half}::HUGEINT"
    return f"CAST({wrapped} AS {call.type.duckdb})"


def _shift_right(call: Call, args: list[str]) -> str:
    distance = f"CAST({args[1]} & {max(_BITS[call.type.kind], 32) - 1} AS BIGINT)"
    return f"CAST(CAST({args[0]} AS BIGINT) >> {distance} AS {call.type.duckdb})"


def _round(call: Call, args: list[str]) -> str:
    if call.type.is_float:
        return f"round_even({args[0]}, 0)"  # as C's rint
    return f"CAST(round({args[0]}) AS {call.type.duckdb})"


def _to_decimals(function: str) -> Callable[[Call, list[str]], str]:
    return lambda call, args: _rounded_numeric(function, call, args)


def _guarded(sqlstate: str, failures: list[tuple[str, str]], value: str, type_: SqlType = DOUBLE) -> str:
    """`value`, or the error of the first condition that holds."""
    branches = " ".join(
        f"WHEN {condition} THEN {raised(sqlstate, quoted(message), type_)}" for condition, message in failures
    )
    return f"CASE {branches} ELSE {value} END"


def _sqrt(call: Call, args: list[str]) -> str:
    failure = (f"{args[0]} < 0", "cannot take square root of a negative number")
    return _guarded("2201F", [failure], f"sqrt({args[0]})")


def _logarithm(function: str) -> Callable[[Call, list[str]], str]:
    def compile_logarithm(call: Call, args: list[str]) -> str:
        failures = [
            (f"{args[0]} = 0", "cannot take logarithm of zero"),
            (f"{args[0]} < 0", "cannot take logarithm of a negative number"),
        ]
        return _guarded("2201E", failures, f"{function}({args[0]})")

    return compile_logarithm


def _power(call: Call, args: list[str]) -> str:
    base, exponent = args
    complex_result = "a negative number raised to a non-integer power yields a complex result"
    failures = [
        (f"{base} = 0 AND {exponent} < 0", "zero raised to a negative power is undefined"),
        (f"{base} < 0 AND {exponent} <> floor({exponent})", complex_result),
    ]
    finite = f"{base} <> 0 AND isfinite({base}) AND isfinite({exponent})"
    return _guarded("2201F", failures, _in_range(f"pow({base}, {exponent})", finite))


def _exp(call: Call, args: list[str]) -> str:
    return _in_range(f"exp({args[0]})", f"isfinite({args[0]})")


def _gamma(call: Call, args: list[str]) -> str:
    """The gamma function has no value at 0 and at the negative integers; as from PostgreSQL 18 on."""
    (x,) = args
    pole = f"{x} <= 0 AND {x} = floor({x})"
    value = f"CASE WHEN isnan({x}) OR {x} = 'Infinity' THEN {x} ELSE gamma({x}) END"
    overflow = "value out of range: overflow"
    return _guarded("22003", [(f"NOT isnan({x}) AND {pole}", overflow)], _in_range(value, f"isfinite({x})"))


def _lgamma(call: Call, args: list[str]) -> str:
    """The logarithm of the absolute value of the gamma function; at its poles an overflow, as in PostgreSQL 18."""
    (x,) = args
    pole = f"isfinite({x}) AND {x} <= 0 AND {x} = floor({x})"
    value = f"CASE WHEN isnan({x}) THEN {x} WHEN isinf({x}) THEN CAST('Infinity' AS DOUBLE) ELSE lgamma({x}) END"
    within = _in_range(value, f"isfinite({x}) AND {x} > 0", may_be_zero="TRUE")
    return _guarded("22003", [(pole, "value out of range: overflow")], within)


def _degrees(call: Call, args: list[str]) -> str:
    return _in_range(f"({args[0]} / CAST({_DEGREE} AS DOUBLE))", f"isfinite({args[0]})", may_be_zero=f"{args[0]} = 0")


def _radians(call: Call, args: list[str]) -> str:
    return _in_range(f"({args[0]} * CAST({_DEGREE} AS DOUBLE))", f"isfinite({args[0]})", may_be_zero=f"{args[0]} = 0")


def _in_range(value: str, applies: str, *, may_be_zero: str = "FALSE", type_: SqlType = DOUBLE) -> str:
    """`value`, which where `applies` holds must not be infinite, and zero only where it may be."""
    failures = [
        (f"{applies} AND isinf({value})", "value out of range: overflow"),
        (f"{applies} AND {value} = 0 AND NOT ({may_be_zero})", "value out of range: underflow"),
    ]
    return _guarded("22003", failures, value, type_)


def _finite(args: list[str]) -> str:
    return " AND ".join(f"isfinite({arg})" for arg in args)


def _trigonometric(function: str) -> Callable[[Call, list[str]], str]:
    def compile_function(call: Call, args: list[str]) -> str:
        return _guarded("22003", [(f"isinf({args[0]})", "input is out of range")], f"{function}({args[0]})")

    return compile_function


def _inverse_sine(function: str) -> Callable[[Call, list[str]], str]:
    def compile_inverse(call: Call, args: list[str]) -> str:
        outside = f"NOT isnan({args[0]}) AND ({args[0]} < -1 OR {args[0]} > 1)"
        return _guarded("22003", [(outside, "input is out of range")], f"{function}({args[0]})")

    return compile_inverse


def _inverse_hyperbolic(function: str, outside: str) -> Callable[[Call, list[str]], str]:
    def compile_inverse(call: Call, args: list[str]) -> str:
        condition = f"NOT isnan({args[0]}) AND ({outside.format(args[0])})"
        return _guarded("22003", [(condition, "input is out of range")], f"{function}({args[0]})")

    return compile_inverse


def _scale(call: Call, args: list[str]) -> str:
    """As many decimals as are shown."""
    source = call.args[0].type
    if source.declared:
        return f"CASE WHEN {args[0]} IS NULL THEN NULL ELSE CAST({source.scale} AS INTEGER) END"
    return _MIN_SCALE.format(args[0])


ARITHMETIC: dict[str, Callable[[Call, list[str]], str]] = {
    "add": _add,
    "subtract": _subtract,
    "multiply": _multiply,
    "divide": _divide,
    "modulo": _modulo,
    "negate": _negate,
    "shift_left": _shift_left,
    "shift_right": _shift_right,
    "round": _round,
    "round_to": _to_decimals("rpy_round"),
    "trunc_to": _to_decimals("rpy_trunc"),
    "sqrt": _sqrt,
    "ln": _logarithm("ln"),
    "log10": _logarithm("log10"),
    "power": _power,
    "exp": _exp,
    "gamma": _gamma,
    "lgamma": _lgamma,
    "degrees": _degrees,
    "radians": _radians,
    "sin": _trigonometric("sin"),
    "cos": _trigonometric("cos"),
    "tan": _trigonometric("tan"),
    "cot": _trigonometric("cot"),
    "asin": _inverse_sine("asin"),
    "acos": _inverse_sine("acos"),
    "acosh": _inverse_hyperbolic("acosh", "{0} < 1"),
    "atanh": _inverse_hyperbolic("atanh", "{0} < -1 OR {0} > 1"),
    "scale": _scale,
    "min_scale": lambda call, args: _MIN_SCALE.format(args[0]),
}
