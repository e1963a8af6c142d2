"""Makes executors of few rows of plan nodes: of those operators that Python's values and functions are enough for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial

import pyarrow as pa

from risingpy.executors.aggregate.calls import PartialInput, ValueInput
from risingpy.executors.epoch.operator_tree import FewExecutor
from risingpy.executors.few_rows.aggregate import (
    FewCall,
    FewCount,
    FewHashAgg,
    FewLocalAgg,
    FewState,
    FewSum,
    StoredCall,
)
from risingpy.executors.few_rows.relation import FewMaterialize, FewOverwrite
from risingpy.executors.few_rows.shards import RowShards, can_tell
from risingpy.executors.few_rows.stateless import FewFilter, FewLogged, FewProject, FewReceived, FewScan
from risingpy.executors.stateless.project import may_cancel
from risingpy.functions.aggregate.layout import types_of
from risingpy.functions.evaluation.python_rows import compile_python
from risingpy.plan.aggregates import AggState, HashAgg, LocalAgg, SimpleAgg
from risingpy.plan.logical import AggCall
from risingpy.plan.operators import (
    ConflictBehavior,
    Dml,
    Materialize,
    StreamFilter,
    StreamPlan,
    StreamProject,
    TableScan,
)
from risingpy.plan.properties import DistributionKind
from risingpy.storage.codec.python_rows import KeyWriter, PythonRows
from risingpy.storage.codec.python_values import python_type, python_types
from risingpy.storage.codec.table_schema import ValueFormat
from risingpy.types import SqlType, TypeKind

_LEAST_BIGINT, _BIGINTS_END = -(1 << 63), 1 << 63
_NUMERICS_END = 10**38  # the first number too long for numeric
_SUMMED = (TypeKind.SMALLINT, TypeKind.INTEGER, TypeKind.BIGINT, TypeKind.NUMERIC)


def few_executor(plan: StreamPlan) -> FewExecutor | None:
    """What a node does with a few rows; None if it needs columns."""
    match plan:
        case TableScan():
            return _scan(plan)
        case Dml():
            return _logged(plan)
        case StreamFilter():
            predicate = compile_python(plan.predicate)
            return None if predicate is None else FewFilter(predicate)
        case StreamProject():
            return _project(plan)
        case LocalAgg():
            return _local_agg(plan)
        case HashAgg(emit_on_window_close=False):
            return _hash_agg(plan, plan.group_key)
        case SimpleAgg():
            return _hash_agg(plan, ())
        case Materialize(first_by=None, expiry=None, retained=None, version=None, times=None):
            return _materialize(plan)
        case _:
            return None


def received(index: int) -> FewExecutor:
    """What hands on the fragment's input number `index`."""
    return FewReceived(index)


def _arrow(plan: StreamPlan) -> list[pa.DataType]:
    return [column.type.arrow for column in plan.properties.schema]


def _scan(plan: TableScan) -> FewExecutor:
    every = list(range(len(plan.upstream.columns)))
    return FewScan(plan.upstream.table_id, None if list(plan.columns) == every else plan.columns, _arrow(plan))


def _logged(plan: Dml) -> FewExecutor | None:
    types, columns = _arrow(plan), plan.properties.distribution.columns
    if any(plan.properties.schema[index].type.has_json for index in columns):
        return None
    if plan.properties.distribution.kind is not DistributionKind.HASH or not can_tell(types, columns):
        return None
    return FewLogged(plan.table_id, cache(partial(RowShards, types, columns)))


def _project(plan: StreamProject) -> FewExecutor | None:
    """With the Filter below, if there is one: see `operators._row_operator`."""
    below = plan.input
    source = below.input if isinstance(below, StreamFilter) else below
    predicate = compile_python(below.predicate) if isinstance(below, StreamFilter) else None
    expressions = [compile_python(each) for each in plan.expressions]
    compiled = [each for each in expressions if each is not None]
    unknown = isinstance(below, StreamFilter) and predicate is None
    if unknown or len(compiled) < len(expressions) or python_types(_arrow(plan)) is None:
        return None
    cancels = may_cancel(plan.expressions, len(source.properties.schema)) and not source.properties.append_only
    return FewProject(predicate, compiled, _arrow(plan), cancels)


def _local_agg(plan: LocalAgg) -> FewExecutor | None:
    types = [column.type for column in plan.input.properties.schema]
    calls = [
        _value_call(call, [types[k] for k in call.args], ValueInput(call.args, call.filter)) for call in plan.calls
    ]
    known = [call for call in calls if call is not None]
    if len(known) < len(calls) or not _can_group([types[k] for k in plan.group_key]):
        return None
    return FewLocalAgg(plan.group_key, known, _arrow(plan))


def _hash_agg(plan: HashAgg | SimpleAgg, group_key: Sequence[int]) -> FewExecutor | None:
    types = [column.type for column in plan.input.properties.schema]
    key_types = [types[k] for k in group_key]
    pairs = zip(plan.calls, plan.states, strict=True)
    calls = [_stored_call(call, state, from_partials=plan.from_partials) for call, state in pairs]
    known = [call for call in calls if call is not None]
    if plan.dedups or len(known) < len(calls) or not _can_group(key_types):
        return None
    tables = [call.table for call in known]
    if any((table.key, table.distribution) != (tables[0].key, tables[0].distribution) for table in tables):
        return None
    order = tables[0].key
    if [column.index for column in order] != list(range(len(key_types))):
        return None
    found = python_types([type_.arrow for type_ in key_types])
    if found is None or plan.calls[plan.row_count].function != "count":
        return None
    return FewHashAgg(group_key, KeyWriter(found, order, tables[0].distribution), known, plan.row_count, _arrow(plan))


def _can_group(types: Sequence[SqlType]) -> bool:
    """Whether values of these types are equal if their bits are."""
    found = [python_type(type_.arrow) for type_ in types if not type_.has_json]
    return len(found) == len(types) and all(each is not None and each.key is not None for each in found)


def _stored_call(call: AggCall, state: AggState, *, from_partials: bool) -> StoredCall | None:
    table = state.table
    if state.materialized_input or call.definition or call.distinct or table.value_format is not ValueFormat.PLAIN:
        return None
    read = PartialInput(call.args) if from_partials else ValueInput(call.args, call.filter)
    known = _value_call(call, state.argument_types, read)
    if known is None:
        return None
    widths = [table.columns[index].type.arrow.bit_width // 8 for index in table.value_columns]
    return StoredCall.of(known, table, widths)


def _value_call(call: AggCall, arguments: Sequence[SqlType], read: ValueInput | PartialInput) -> FewCall | None:
    state = _state(call, tuple(arguments))
    return None if state is None else FewCall.of(state, read)


def _state(call: AggCall, arguments: tuple[SqlType, ...]) -> FewState | None:
    """See `functions.aggregate.functions.value_state`."""
    if call.definition or call.distinct:
        return None
    if call.function == "count" and len(arguments) <= 1:
        return FewCount()
    if call.function != "sum" or arguments[0].kind not in _SUMMED or arguments[0].is_wide:
        return None
    wide = len(types_of(call.function, arguments)) == 3
    if call.type.kind is TypeKind.NUMERIC and not call.type.is_wide:
        return FewSum(wide, limit=_NUMERICS_END, least=1 - _NUMERICS_END)
    if call.type.kind is TypeKind.BIGINT:
        return FewSum(wide, limit=_BIGINTS_END, least=_LEAST_BIGINT)
    return None


def _materialize(plan: Materialize) -> FewExecutor | None:
    codec = PythonRows.of(plan.table)
    if codec is None:
        return None
    match plan.conflict:
        case ConflictBehavior.NO_CHECK:
            return FewMaterialize(codec)
        case ConflictBehavior.OVERWRITE:
            return FewOverwrite(codec, plan.table.key[0].index if plan.table.is_numbered else None)
        case _:
            return None
