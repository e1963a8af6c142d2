"""Aggregates of lists: DuckDB gathers a group's arguments in a list, and the same code as in a view aggregates them.

    corr(y, x)  =>  rpy_double('list_corr', list({'y': y, 'x': x}))

DuckDB's own differ from PostgreSQL's in types, or lose digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.errors import NumericValueOutOfRange
from risingpy.functions.aggregate.functions import value_state
from risingpy.functions.aggregate.grouping import GroupedRows
from risingpy.functions.topics.calling import Compute, Function
from risingpy.plan.aggregate_families import OF_VECTORS, REGRESSIONS, SPREADS
from risingpy.storage.codec.column_buffers import whole
from risingpy.types import DOUBLE, INT256, INTERVAL, MAX_PRECISION, NUMERIC, REAL, VECTOR, SqlType, numeric
from risingpy.types.wide_numeric import key_column


def _aggregate(function: str, result_type: SqlType, argument_type: SqlType | None = None) -> Compute:
    def computed(lists: pa.Array) -> pa.Array:
        lengths = np.diff(lists.offsets.to_numpy(zero_copy_only=False))
        codes = np.repeat(np.arange(len(lists)), lengths)
        values = lists.flatten()
        arguments = values.flatten() if pa.types.is_struct(values.type) else [values]
        types = _types(arguments) if argument_type is None else (argument_type,)
        state = value_state(function, types, result_type)
        rows = GroupedRows(codes, np.ones(len(codes), np.int8), len(lists))
        result, errors = state.result(state.accumulate(rows, arguments))
        if errors:
            raise NumericValueOutOfRange("value out of range: overflow")
        return result

    return computed


def _wide_sum_of_distinct(lists: pa.Array) -> pa.Array:
    """Sums in which numbers that are shown differently, 1.0 and 1.00, count once: the one with fewer decimals."""
    lengths = np.diff(lists.offsets.to_numpy(zero_copy_only=False))
    owners = pa.array(np.repeat(np.arange(len(lists)), lengths))
    values = lists.flatten()
    table = pa.table({"owner": owners, "key": key_column(values), "value": values})
    kept = table.group_by(["owner", "key"]).aggregate([("value", "min")]).sort_by("owner")
    counts = np.bincount(kept["owner"].to_numpy(), minlength=len(lists))
    offsets = pa.array(np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]), pa.int32())
    return _aggregate("sum", NUMERIC)(pa.ListArray.from_arrays(offsets, whole(kept["value_min"])))


def _types(arguments: Sequence[pa.Array]) -> tuple[SqlType, ...]:
    """Types of the arguments' kinds: any integer is a numeric without decimals here."""
    return tuple(_type(argument.type) for argument in arguments)


def _type(arrow: pa.DataType) -> SqlType:
    if pa.types.is_floating(arrow):
        return DOUBLE
    if pa.types.is_interval(arrow):
        return INTERVAL
    if pa.types.is_binary(arrow):
        return NUMERIC
    return numeric(MAX_PRECISION, arrow.scale if pa.types.is_decimal(arrow) else 0)


AGGREGATES: dict[str, Function] = {
    "list_sum": Function(_aggregate("sum", DOUBLE)),
    "list_sum_real": Function(_aggregate("sum", REAL)),
    "wide_sum": Function(_aggregate("sum", NUMERIC)),
    "wide_sum_of_distinct": Function(_wide_sum_of_distinct),
    "list_sum_int256": Function(_aggregate("sum", INT256, INT256)),
    "list_sum_interval": Function(_aggregate("sum", INTERVAL)),
    **{f"list_{name}": Function(_aggregate(name, VECTOR, VECTOR)) for name in OF_VECTORS},
    **{f"list_{name}": Function(_aggregate(name, DOUBLE)) for name in REGRESSIONS},
    **{f"list_{name}": Function(_aggregate(name, DOUBLE)) for name in SPREADS},
    **{f"list_{name}_numeric": Function(_aggregate(name, NUMERIC)) for name in SPREADS},
}
