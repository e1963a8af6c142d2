"""Operators and functions on numbers as DuckDB SQL, with PostgreSQL's errors and rounding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from risingpy.functions.evaluation.sql.text import own_call, quoted, raised
from risingpy.plan.expressions import Call, Expr, Literal
from risingpy.types import DOUBLE, MAX_PRECISION, SqlType, TypeKind

_MIN_SCALE = r"CAST(length(regexp_extract(CAST({0} AS VARCHAR), '\.(\d*?)0*$', 1)) AS INTEGER)"
_DEGREE = "0.0174532925199432957692"  # in radians
FLOAT_CHAINS = ({"add": "+", "subtract": "-"}, {"multiply": "*"})
_DIGITS_OF_64_BITS = 18  # of a decimal
_BITS = {TypeKind.SMALLINT: 16, TypeKind.INTEGER: 32, TypeKind.BIGINT: 64}


def _add(call: Call, args: list[str]) -> str:
    return _sum("+", call, args)


def _subtract(call: Call, args: list[str]) -> str:
    left, right = (arg.type.kind for arg in call.args)
    if left is right is TypeKind.TIME:
        return f"to_microseconds(epoch_us({args[0]}) - epoch_us({args[1]}))"
    if left is right is TypeKind.DATE:
        days = f"CAST({args[0]} - {args[1]} AS INTEGER)"
        return f"CASE WHEN {_finite(args)} THEN {days} ELSE {own_call('date_difference', args, call.type)} END"
    return _sum("-", call, args)


def _sum(operator: str, call: Call, args: list[str]) -> str:
    plain = f"({_in_128_bits(call, args[0])} {operator} {args[1]})"
    # DuckDB has integers right; its decimals' result type is not ours, and date + interval is. Floats: `checked_chain`.
    return plain if call.type.is_integer else f"CAST({plain} AS {call.type.duckdb})"


def float_terms(call: Call) -> list[tuple[str, Expr]]:
    """The terms of a sum of floats, or a product's factors, from left to right, each with the operator before it."""
    chain = next(operators for operators in FLOAT_CHAINS if call.function in operators)
    terms: list[tuple[str, Expr]] = []
    rest: Expr = call
    while isinstance(rest, Call) and rest.function in chain and rest.type == call.type:
        operator = chain[rest.function]
        rest, last = rest.args
        terms.append((operator, last))
    return [("", rest), *reversed(terms)]


def plain_chain(operators: Sequence[str], args: Sequence[str]) -> str:
    """`args[0]`, and the others added, subtracted or multiplied by their operators."""
    return args[0] + "".join(f" {operator} {arg}" for operator, arg in zip(operators, args[1:], strict=True))


def checked_chain(type_: SqlType, operators: Sequence[str], args: Sequence[str], total: str = "") -> str:
    """The `plain_chain`, which may be in `total` already, unless an operation on the way to it is out of range.

    A sum that has once become infinite never is finite again, a product that has become zero or infinite stays so. So
    only results that are suspect are looked at step by step.
    """
    total = total or f"({plain_chain(operators, args)})"
    is_product = "*" in operators
    usual = f"isfinite({total}) AND {total} <> 0" if is_product else f"isfinite({total})"
    if len(args) == 2:
        return _guarded("22003", _out_of_range(total, args, is_product), total, type_, usual=usual)
    terms = [f"-{arg}" if operator == "-" else arg for operator, arg in zip(["", *operators], args, strict=True)]
    value = "a * b" if is_product else "a + b"
    step = _guarded("22003", _out_of_range(value, ["a", "b"], is_product), value, type_)
    stepwise = f"list_reduce([{', '.join(terms)}], lambda a, b: {step})"
    return f"CASE WHEN {usual} THEN {total} WHEN {total} IS NULL THEN NULL ELSE {stepwise} END"


def _out_of_range(value: str, args: Sequence[str], is_product: bool) -> list[tuple[str, str]]:
    """How one operation fails: it must not overflow, a product must not underflow."""
    failures = [(f"isinf({value}) AND {_finite(args)}", "value out of range: overflow")]
    if is_product:
        non_zero = " AND ".join(f"{arg} <> 0" for arg in args)
        failures.append((f"{value} = 0 AND {_finite(args)} AND {non_zero}", "value out of range: underflow"))
    return failures


def _multiply(call: Call, args: list[str]) -> str:
    if call.type.kind is not TypeKind.NUMERIC:
        return f"({args[0]} * {args[1]})"
    digits = sum(arg.type.precision or MAX_PRECISION for arg in call.args)
    if digits <= MAX_PRECISION:
        return f"CAST({_in_128_bits(call, args[0])} * {args[1]} AS {call.type.duckdb})"
    return _rounded_numeric("rpy_multiply", call, args)


def _in_128_bits(call: Call, first: str) -> str:
    """The first argument of a numeric operation, which DuckDB must not compute in 64 bits if the result has more."""
    left = call.args[0].type
    if call.type.kind is not TypeKind.NUMERIC or max(arg.type.precision or 0 for arg in call.args) > _DIGITS_OF_64_BITS:
        return first
    if sum(arg.type.precision or 0 for arg in call.args) <= _DIGITS_OF_64_BITS:
        return first
    return f"CAST({first} AS DECIMAL({_DIGITS_OF_64_BITS + 1},{left.scale}))"


def _divide(call: Call, args: list[str]) -> str:
    left, right = args
    if call.type.is_integer:
        return f"({left} // {right})"
    if call.type.kind is TypeKind.NUMERIC:
        return _rounded_numeric("rpy_divide", call, args)
    # DuckDB's `/` gives infinity for a zero divisor, its `//` the error; on no row else is it evaluated.
    error = f"CAST(1 // CAST({right} AS INTEGER) AS DOUBLE)"
    if not call.type.is_float:
        return f"({left} / CASE WHEN {right} = 0 THEN {error} ELSE {right} END)"
    quotient = f"CAST({left} / {right} AS {call.type.duckdb})"
    usual = f"isfinite({quotient}) AND {quotient} <> 0"
    by_zero = (f"{right} = 0 AND NOT isnan({left})", error)
    failures = [
        (f"isinf({quotient}) AND {_finite(args)}", "value out of range: overflow"),
        (f"{quotient} = 0 AND {_finite(args)} AND {left} <> 0", "value out of range: underflow"),
    ]
    return _guarded("22003", failures, quotient, call.type, usual=usual, first=by_zero)


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


def _guarded(
    sqlstate: str,
    failures: list[tuple[str, str]],
    value: str,
    type_: SqlType = DOUBLE,
    *,
    usual: str | None = None,
    first: tuple[str, str] | None = None,
) -> str:
    """`value`, or the error of the first condition that holds; where `usual` holds none of them does.

    `first` is one more condition, with SQL of what is to be done.
    """
    branches = [(usual, value)] if usual else []
    branches += [first] if first else []
    branches += [(condition, raised(sqlstate, quoted(text), type_)) for condition, text in failures]
    return f"CASE {' '.join(f'WHEN {condition} THEN {then}' for condition, then in branches)} ELSE {value} END"


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
    failures = [(f"{applies} AND isinf({value})", "value out of range: overflow")]
    usual = f"isfinite({value})"
    if may_be_zero != "TRUE":
        failures.append((f"{applies} AND {value} = 0 AND NOT ({may_be_zero})", "value out of range: underflow"))
        usual += f" AND {value} <> 0"
    return _guarded("22003", failures, value, type_, usual=usual)


def _finite(args: Sequence[str]) -> str:
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
    """scale: the number of decimals shown."""
    return f"CASE WHEN {args[0]} IS NULL THEN NULL ELSE CAST({call.args[0].type.scale} AS INTEGER) END"


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
