"""Evaluates by PyArrow the expressions that it computes as PostgreSQL does: a DuckDB query costs about a millisecond.

`compile_arrow` gives a function from a chunk's columns to the result, or None if the expression has a part that Arrow
lacks or does differently. The function raises (ArrowInvalid or an SqlError) if a row fails. It sometimes raises for a
row that should not fail, because it evaluates all branches of CASE for all rows. The caller then uses DuckDB.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.functions import topics as functions
from risingpy.functions.evaluation import literal_lists, numeric_arithmetic
from risingpy.functions.evaluation.sql.functions import SPECIAL
from risingpy.functions.topics import FUNCTIONS, python_functions
from risingpy.functions.topics.numbers.wide_numbers import COMPUTED, of_numbers, to_narrow
from risingpy.functions.topics.times.nanoseconds import CASTS as NANO_CASTS
from risingpy.plan.expression_trees import LET, opened
from risingpy.plan.expressions import Call, Case, Cast, CorrelatedRef, Expr, InputRef, Literal, Parameter, Subquery
from risingpy.statement_limits import current_limits
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import BOOLEAN, JSONB, SqlType, TypeKind
from risingpy.types.families import FAMILIES
from risingpy.types.forms import parse_column, text_column
from risingpy.types.system_types import is_json
from risingpy.types.wide_numeric import key_column

Value: TypeAlias = "pa.Array | pa.ChunkedArray | pa.Scalar"
Columns: TypeAlias = "Sequence[pa.ChunkedArray]"
Evaluate = Callable[[Columns], Value]

_COMPARISONS = {
    "eq": pc.equal,
    "ne": pc.not_equal,
    "lt": pc.less,
    "le": pc.less_equal,
    "gt": pc.greater,
    "ge": pc.greater_equal,
}
_NAN_IS_ABOVE = frozenset({"gt", "ge"})
_LOGIC: dict[str, Callable[..., Value]] = {
    "and": pc.and_kleene,
    "or": pc.or_kleene,
    "not": pc.invert,
    "is_null": pc.is_null,
    "is_not_null": pc.is_valid,
    "is_unknown": pc.is_null,
    "is_not_unknown": pc.is_valid,
    "is_true": lambda value: pc.fill_null(value, False),
    "is_not_true": lambda value: pc.invert(pc.fill_null(value, False)),
    "is_false": lambda value: pc.invert(pc.fill_null(value, True)),
    "is_not_false": lambda value: pc.fill_null(value, True),
    "coalesce": pc.coalesce,
    "plus": lambda value: value,
}


def _remainder(left: Value, right: Value) -> Value:
    """With the sign of `left`; raises for a zero divisor, and for the least integer by -1, whose remainder is 0."""
    return pc.subtract(left, pc.multiply(pc.divide_checked(left, right), right))


_INTEGER_ARITHMETIC: dict[str, Callable[..., Value]] = {
    "add": pc.add_checked,
    "subtract": pc.subtract_checked,
    "multiply": pc.multiply_checked,
    "divide": pc.divide_checked,
    "modulo": _remainder,
    "negate": pc.negate_checked,
    "abs": pc.abs_checked,
}
_FLOAT_ARITHMETIC: dict[str, Callable[..., Value]] = {
    "add": pc.add,
    "subtract": pc.subtract,
    "multiply": pc.multiply,
    "negate": pc.negate,
}
_NUMERIC_ARITHMETIC: dict[str, Callable[..., Value]] = {
    "add": numeric_arithmetic.add,
    "subtract": numeric_arithmetic.subtract,
    "multiply": numeric_arithmetic.multiply,
    "divide": numeric_arithmetic.divide,
}


def _of_ascii(change: Callable[[Value], Value], texts: Value) -> Value:
    """Of other letters Arrow knows a newer Unicode than DuckDB, which SELECT asks."""
    if isinstance(texts, pa.Scalar) or not pc.all(pc.string_is_ascii(texts), min_count=0).as_py():
        raise pa.ArrowNotImplementedError("texts that are not ASCII")
    return change(texts)


_CASES: dict[str, Callable[[Value], Value]] = {"lower": pc.ascii_lower, "upper": pc.ascii_upper}


def compile_arrow(expr: Expr) -> Evaluate | None:
    """The function by which Arrow evaluates the expression; None if Arrow cannot."""
    match expr:
        case InputRef():
            return partial(_column, expr.index)
        case Literal():
            return _constant(expr)
        case Call():
            return _call(expr)
        case Cast():
            return _cast(expr)
        case Case():
            return _case(expr)
        case Parameter() | CorrelatedRef() | Subquery():
            return None
        case _:
            assert_never(expr)


def as_column(value: Value, rows: int, type_: SqlType) -> pa.Array | pa.ChunkedArray:
    """An expression's value as a column: a scalar is repeated. Raises OutOfMemory if the column would be too large."""
    if isinstance(value, pa.Scalar):
        if isinstance(value, pa.StringScalar | pa.BinaryScalar) and value.is_valid:
            current_limits().check(value.as_buffer().size * rows, "the values of a constant")
        value = pa.repeat(value, rows) if value.is_valid else pa.nulls(rows, type_.arrow)
    return value if value.type == type_.arrow else value.cast(type_.arrow)


def _column(index: int, columns: Columns) -> Value:
    return columns[index]


def _constant(expr: Literal) -> Evaluate | None:
    scalar = pa.scalar(expr.value, expr.type.arrow)
    return lambda columns: scalar


def _call(call: Call) -> Evaluate | None:
    if call.function in python_functions.CALLS:
        return _python(call)
    if call.function == "field":
        return _field(call)
    if call.function == LET:
        return _let(call)
    if call.function == "in_list":
        operand = compile_arrow(call.args[0])
        return None if operand is None else literal_lists.by_arrow(call, operand)
    function = _function(call)
    args = [compile_arrow(arg) for arg in call.args]
    if function is None or None in args or all(isinstance(arg, Literal) for arg in call.args):
        return None
    evaluated = [arg for arg in args if arg is not None]
    if len(evaluated) == 1:
        return lambda columns: function(evaluated[0](columns))
    if len(evaluated) == 2:
        return lambda columns: function(evaluated[0](columns), evaluated[1](columns))
    return lambda columns: function(*[arg(columns) for arg in evaluated])


def _let(call: Call) -> Evaluate | None:
    """The body over the operand's values, which come after the columns."""
    given, body, _ = call.args
    operand, over = compile_arrow(given), compile_arrow(opened(body, InputRef(-1, given.type)))
    if operand is None or over is None:
        return None
    return lambda columns: over([*columns, operand(columns)])


def _function(call: Call) -> Callable[..., Value] | None:
    name = call.function
    if name in COMPUTED and (call.type.is_wide or any(arg.type.is_wide for arg in call.args)):
        return partial(_wide, call)
    if name in FUNCTIONS and name not in SPECIAL and call.type.kind is not TypeKind.NUMERIC:
        return partial(_own, call)
    if name == "numeric_key":
        return key_column
    kinds = {arg.type.kind for arg in call.args}
    if name in _COMPARISONS:
        return _comparison(call)
    if name in _LOGIC:
        same = len({arg.type.arrow for arg in call.args}) == 1
        return _LOGIC[name] if same and TypeKind.INTERVAL not in kinds else None
    if name in _CASES and kinds == {TypeKind.VARCHAR}:
        return partial(_of_ascii, _CASES[name])
    if len(kinds) == 1 and call.type.kind in kinds:
        if call.type.is_integer:
            return _INTEGER_ARITHMETIC.get(name)
        if call.type.is_float and name in _FLOAT_ARITHMETIC:
            return partial(_in_range, name)
        if call.type.kind is TypeKind.NUMERIC and name in _NUMERIC_ARITHMETIC:
            return _numeric(call)
    return None


def _own(call: Call, *args: Value) -> Value:
    rows = next((len(arg) for arg in args if not isinstance(arg, pa.Scalar)), None)
    if rows is None:
        raise pa.ArrowNotImplementedError("constants only")
    columns = [whole(as_column(arg, rows, each.type)) for arg, each in zip(args, call.args, strict=True)]
    return functions.call(FUNCTIONS[call.function], columns, call.type.arrow)


def _python(call: Call) -> Evaluate | None:
    """A user's function: its definition is the first argument, a constant."""
    definition, *given = call.args
    assert isinstance(definition, Literal) and isinstance(definition.value, str)
    text, args = definition.value, [compile_arrow(arg) for arg in given]
    if None in args or all(isinstance(arg, Literal) for arg in given):
        return None

    def evaluate(columns: Columns) -> Value:
        rows = len(columns[0])
        values = [whole(as_column(arg(columns), rows, each.type)) for arg, each in zip(args, given, strict=True) if arg]
        return python_functions.compute(text, values, rows)

    return evaluate


def _field(call: Call) -> Evaluate | None:
    struct, name = call.args
    value = compile_arrow(struct)
    if value is None or isinstance(struct, Literal) or not isinstance(name, Literal):
        return None
    return lambda columns: pc.struct_field(value(columns), name.value)


def _wide(call: Call, *args: Value) -> Value:
    rows = next((len(arg) for arg in args if not isinstance(arg, pa.Scalar)), None)
    if rows is None:
        raise pa.ArrowNotImplementedError("constants only")
    columns = [whole(as_column(arg, rows, each.type)) for arg, each in zip(args, call.args, strict=True)]
    wide = [of_numbers(column) if pa.types.is_decimal(column.type) else column for column in columns]
    return functions.call(FUNCTIONS[f"wide_{call.function}"], wide, call.type.arrow)


def _numeric(call: Call) -> Callable[..., Value] | None:
    if any(isinstance(arg, Literal) for arg in call.args):
        return None  # the arithmetic takes columns only
    compute, scale, arrow_type = _NUMERIC_ARITHMETIC[call.function], call.type.scale, call.type.arrow

    def computed(left: Value, right: Value) -> Value:
        value = compute(left, right, scale)
        return value if value.type == arrow_type else value.cast(arrow_type)

    return computed


def _in_range(name: str, *args: Value) -> Value:
    """A float operation. Raises an error if a result is infinite or has become zero; DuckDB then finds the rows."""
    value = _FLOAT_ARITHMETIC[name](*args)
    suspect = pc.is_inf(value)
    if name == "multiply":
        suspect = pc.or_(suspect, pc.and_(pc.equal(value, 0.0), pc.not_equal(pc.multiply(*map(pc.sign, args)), 0.0)))
    if name != "negate" and pc.any(suspect).as_py():
        raise pa.ArrowInvalid("a result that may be out of range")
    return value


def _comparison(call: Call) -> Callable[..., Value] | None:
    left, right = call.args
    compare: Callable[..., Value] = _COMPARISONS[call.function]
    if left.type.arrow != right.type.arrow:
        return None
    if FAMILIES[left.type.kind].ordered_by_arrow or (left.type == BOOLEAN and call.function in ("eq", "ne")):
        return compare
    if left.type.is_float and isinstance(right, Literal) and isinstance(right.value, float):
        if not math.isfinite(right.value):
            return None
        if call.function in _NAN_IS_ABOVE:  # SQL orders NaN above all numbers, for Arrow it compares with none
            return lambda a, b: pc.or_kleene(compare(a, b), pc.is_nan(a))
        return compare
    return None


def _cast(cast: Cast) -> Evaluate | None:
    source, target = cast.arg.type, cast.type
    value = compile_arrow(cast.arg)
    if value is None or cast.safe or not _is_plain_cast(source, target) or isinstance(cast.arg, Literal):
        return None
    if is_json(source) and target.kind is TypeKind.JSONB and not is_json(target):
        return lambda columns: _array_function(_one_text, value(columns))
    if source.kind is TypeKind.ENUM and target.is_text:
        return lambda columns: _array_function(_labels, value(columns), source)
    if target.kind is TypeKind.ENUM and source.is_text:
        return lambda columns: _array_function(_numbers, value(columns), target)
    if target.is_wide and not source.is_wide:
        return lambda columns: _array_function(of_numbers, value(columns))
    if source.is_wide and target.kind is TypeKind.NUMERIC and not target.is_wide:
        return lambda columns: _array_function(to_narrow, value(columns), target.arrow)
    if target.kind is TypeKind.NUMERIC and source.is_integer and not target.is_wide:
        return lambda columns: _integer_to_numeric(value(columns), target.arrow)
    if source.kind is TypeKind.DATE and target.kind is TypeKind.TIMESTAMP:
        return lambda columns: functions.call(FUNCTIONS["timestamp_of_date"], [_whole(value(columns))], target.arrow)
    if (source.kind, target.kind) in NANO_CASTS:
        function = FUNCTIONS[NANO_CASTS[source.kind, target.kind]]
        return lambda columns: functions.call(function, [_whole(value(columns))], target.arrow)
    safe = not target.is_float  # a bigint beyond 53 bits is rounded, as in SQL
    return lambda columns: pc.cast(value(columns), target.arrow, safe=safe)


def _whole(value: Value) -> pa.Array:
    if isinstance(value, pa.Scalar):
        raise pa.ArrowNotImplementedError("constants only")
    return whole(value)


def _array_function(function: Callable[..., pa.Array], value: Value, *rest: object) -> Value:
    if isinstance(value, pa.Scalar):
        raise pa.ArrowNotImplementedError("constants only")
    return function(value, *rest)


def _one_text(written: pa.Array | pa.ChunkedArray) -> Value:
    return parse_column(JSONB, whole(written))


def _labels(numbers: pa.Array | pa.ChunkedArray, enum: SqlType) -> Value:
    return text_column(enum, whole(numbers))


def _numbers(labels: pa.Array | pa.ChunkedArray, enum: SqlType) -> Value:
    return parse_column(enum, whole(labels))


def _is_plain_cast(source: SqlType, target: SqlType) -> bool:
    """Whether Arrow's checked cast gives SQL's result, or a function for wide numerics does."""
    if source.is_wide:
        return target.kind is TypeKind.NUMERIC
    if target.is_wide:
        return source.is_integer or source.kind is TypeKind.NUMERIC
    match source.kind, target.kind:
        case TypeKind.SMALLINT | TypeKind.INTEGER | TypeKind.BIGINT, _:
            return target.is_numeric
        case TypeKind.REAL, TypeKind.DOUBLE:
            return True
        case TypeKind.DATE, TypeKind.TIMESTAMP:
            return True
        case pair if pair in NANO_CASTS:
            return target.length is None
    if TypeKind.ENUM in (source.kind, target.kind) and (source.is_text or target.is_text):
        return target.length is None and target.kind is not TypeKind.CHARACTER
    if TypeKind.INET in (source.kind, target.kind) and source.kind is not target.kind:
        return source.kind is TypeKind.CIDR and target.kind is TypeKind.INET
    same = source == target or (source.kind is target.kind and not source.is_nested)
    return (same or target.kind is TypeKind.VARCHAR) and source.arrow == target.arrow and target.length is None


def _integer_to_numeric(value: Value, target: pa.DataType) -> Value:
    # Arrow casts an integer only to a decimal with room for all integers of its type.
    wide = pc.cast(value, pa.decimal256(19 + target.scale, target.scale))
    return pc.cast(wide, target)


def _case(case: Case) -> Evaluate | None:
    branches = [(compile_arrow(condition), compile_arrow(result)) for condition, result in case.branches]
    default = compile_arrow(case.default)
    if default is None or case.type.kind is TypeKind.INTERVAL:
        return None
    compiled = [(condition, result) for condition, result in branches if condition and result]
    if len(compiled) < len(branches):
        return None

    def evaluate(columns: Columns) -> Value:
        value = default(columns)
        for condition, result in reversed(compiled):
            holds = pc.fill_null(condition(columns), False)
            value = pc.if_else(holds, result(columns), value)
        return value

    return evaluate
