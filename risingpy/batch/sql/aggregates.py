"""Aggregate calls in DuckDB's SQL, with the same results as in a view.

    string_agg(a, b order by c)  =>  string_agg(t.c0, ',' ORDER BY t.c2 ASC NULLS LAST)

The input's columns are t.c0, t.c1, … .
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from risingpy.errors import FeatureNotSupported
from risingpy.functions.evaluation.aggregate_sql import plain_aggregate_sql
from risingpy.functions.evaluation.sql.text import own_call, quoted, raised
from risingpy.functions.topics.python_functions import key_of
from risingpy.plan.aggregate_families import OF_VECTORS, REGRESSIONS, SPREADS
from risingpy.plan.logical import PYTHON_AGGREGATE, AggCall, Schema, SortKey
from risingpy.types import BIGINT, SqlType, TypeKind

# For each FILTER DuckDB copies the vectors of all calls: a thousand take 1.3 GB. Below so many it is faster than CASE.
_MOST_FILTERS = 64
_IGNORES_NULL = frozenset({"sum", "avg", "min", "max", "count", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor"})


def aggregates_sql(calls: Sequence[AggCall], schema: Schema) -> Iterator[str]:
    """The calls over an input of `schema`, each of its type."""
    many = sum(call.filter is not None for call in calls) > _MOST_FILTERS
    return (_aggregate(call, schema, many) for call in calls)


def _aggregate(call: AggCall, schema: Schema, many_filters: bool) -> str:
    special = _SPECIAL.get(call.function)
    if special is not None:
        return special(call, schema)
    args, types = [_column(i) for i in call.args], [schema[i].type for i in call.args]
    distinct, suffix = call.distinct, _filter(call)
    if many_filters and call.filter is not None and call.function in _IGNORES_NULL:
        kept, suffix, types = args[0] if args else "1", "", types or [BIGINT]
        args = [f"CASE WHEN {_column(call.filter)} THEN {kept} END"]
    return plain_aggregate_sql(call.function, args, types, call.type, distinct=distinct, suffix=suffix, exact=True)


def _column(index: int) -> str:
    return f"t.c{index}"


def _filter(call: AggCall, *conditions: str) -> str:
    own = () if call.filter is None else (_column(call.filter),)
    every = " AND ".join((*own, *conditions))
    return f" FILTER (WHERE {every})" if every else ""


def _order(call: AggCall) -> str:
    return f" ORDER BY {', '.join(sort_key_sql(key) for key in call.order_by)}" if call.order_by else ""


def sort_key_sql(key: SortKey) -> str:
    """One key of an ORDER BY over the input."""
    direction = "DESC" if key.descending else "ASC"
    return f"{_column(key.index)} {direction} NULLS {'FIRST' if key.nulls_first else 'LAST'}"


def _spread(call: AggCall, schema: Schema) -> str:
    """A variance or its root: exact numbers give numeric, others double."""
    name = f"list_{call.function}" + ("_numeric" if call.type.kind is TypeKind.NUMERIC else "")
    return own_call(name, [_list(call)], call.type)


def _of_list(call: AggCall, schema: Schema) -> str:
    return own_call(f"list_{call.function}", [_list(call)], call.type)


def _list(call: AggCall) -> str:
    """The list of a group's arguments, pairs of them as structs."""
    columns = [_column(arg) for arg in call.args]
    value = columns[0] if len(columns) == 1 else _struct(columns)
    return f"list({'DISTINCT ' if call.distinct else ''}{value}){_filter(call)}"


def _string_agg(call: AggCall, schema: Schema) -> str:
    """DuckDB's separator is a constant. So each value has its separator in front, and the first one is cut off.

    Byte strings are joined as texts of their hexadecimal digits.
    """
    if call.type.kind is TypeKind.BYTEA:
        return f"from_hex({_joined(call, *(f'hex({_column(arg)})' for arg in call.args))})"
    return _joined(call, *map(_column, call.args))


def _joined(call: AggCall, value: str, separator: str) -> str:
    separator = f"coalesce({separator}, '')"
    present = _filter(call, f"{value} IS NOT NULL")
    if call.distinct:
        pairs = _distinct_list(call, {call.args[0]: value, call.args[1]: separator}, present)
        texts = f"[p.c{call.args[1]} || p.c{call.args[0]} FOR p IN {pairs}]"
        return f"substr(array_to_string({texts}, ''), length({pairs}[1].c{call.args[1]}) + 1)"
    joined = f"string_agg({separator} || {value}, ''{_order(call)}){present}"
    return f"substr({joined}, length(first({separator}{_order(call)}){present}) + 1)"


def _distinct_list(call: AggCall, values: dict[int, str], filtered: str) -> str:
    """A list of the distinct structs of `values`, sorted by all of them, of which the call's order names the first."""
    first = call.order_by[0]
    if any((k.descending, k.nulls_first) != (first.descending, first.nulls_first) for k in call.order_by):
        raise FeatureNotSupported(f"{call.function}(DISTINCT …) in mixed order is not supported")
    columns = dict.fromkeys((*(key.index for key in call.order_by), *values))
    struct = f"{{{', '.join(f'c{i}: {values[i]}' for i in columns)}}}"
    direction = f"{'DESC' if first.descending else 'ASC'} NULLS {'FIRST' if first.nulls_first else 'LAST'}"
    return f"list(DISTINCT {struct} ORDER BY {struct} {direction}){filtered}"


def _array_agg(call: AggCall, schema: Schema) -> str:
    unique = "DISTINCT " if call.distinct else ""
    return f"list({unique}{_column(call.args[0])}{_order(call)}){_filter(call)}"


def _first_value(call: AggCall, schema: Schema) -> str:
    function = "first" if call.function == "first_value" else "last"
    return f"{function}({_column(call.args[0])}{_order(call)}){_filter(call)}"


def _mode(call: AggCall, schema: Schema) -> str:
    """mode: the first, in order, of the most frequent values."""
    return f"mode({_column(call.args[0])}{_order(call)}){_filter(call)}"


def _percentile(call: AggCall, schema: Schema) -> str:
    """percentile_disc: the first value for which at least that fraction of the rows is not greater."""
    fraction, values, size = _sorted_values(call)
    return _in_range(fraction, f"{values}[CAST(greatest(ceil({fraction} * {size}), 1) AS BIGINT)]", call.type)


def _interpolated(call: AggCall, schema: Schema) -> str:
    """percentile_cont: interpolated between the two values around the position."""
    fraction, values, size = _sorted_values(call)
    place = f"({fraction} * ({size} - 1))"
    low, high = (f"{values}[CAST({edge}({place}) AS BIGINT) + 1]" for edge in ("floor", "ceil"))
    between = f"{low} + ({place} - floor({place})) * ({high} - {low})"
    return _in_range(fraction, f"CASE WHEN floor({place}) = ceil({place}) THEN {low} ELSE {between} END", call.type)


def _sorted_values(call: AggCall) -> tuple[str, str, str]:
    """The fraction, the list of the values in order, and its length."""
    value = _column(call.args[1])
    values = f"list({value}{_order(call)}){_filter(call, f'{value} IS NOT NULL')}"
    return f"max({_column(call.args[0])})", f"({values})", f"len({values})"


def _in_range(fraction: str, result: str, type_: SqlType) -> str:
    message = f"concat('percentile value ', printf('%g', {fraction}), ' is not between 0 and 1')"
    error = raised("22003", message, type_)
    return f"CASE WHEN {fraction} < 0 OR {fraction} > 1 THEN {error} WHEN {fraction} >= 0 THEN {result} END"


def _scale_bits(call: AggCall, schema: Schema) -> str:
    return f"bit_or({own_call('wide_scale_bit', [_column(call.args[0])], BIGINT)}){_filter(call)}"


def _users_aggregate(call: AggCall, schema: Schema) -> str:
    """A user's aggregate, called with the list of the rows' arguments, as structs."""
    columns = [_column(arg) for arg in call.args]
    if call.distinct:
        pairs = _distinct_list(call, {arg: _column(arg) for arg in call.args}, _filter(call))
        rows = f"[{_struct([f'p.c{arg}' for arg in call.args])} FOR p IN {pairs}]"
    else:
        rows = f"list({_struct(columns)}{_order(call)}){_filter(call)}"
    return own_call(PYTHON_AGGREGATE, [quoted(key_of(call.definition)), rows], call.type)


def _struct(values: Sequence[str]) -> str:
    return f"{{{', '.join(f'a{i}: {value}' for i, value in enumerate(values))}}}"


_SPECIAL: dict[str, Callable[[AggCall, Schema], str]] = {
    "string_agg": _string_agg,
    "array_agg": _array_agg,
    "first_value": _first_value,
    "last_value": _first_value,
    "mode": _mode,
    "percentile_cont": _interpolated,
    "percentile_disc": _percentile,
    "scale_bits": _scale_bits,
    PYTHON_AGGREGATE: _users_aggregate,
    **dict.fromkeys(SPREADS, _spread),
    **dict.fromkeys(REGRESSIONS | OF_VECTORS, _of_list),
}
