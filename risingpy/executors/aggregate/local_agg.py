"""LocalAgg: the first of two phases of an aggregation, on the shard where the rows are, before the exchange.

It merges an epoch's delta into one partial state change per group, and keeps no state of its own. The exchange then
carries a row per group and shard, not one per input row: a group with most of the rows does not overload its shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from risingpy.executors.aggregate.calls import InputByGroup, ValueInput
from risingpy.executors.change_chunk import INSERT, columns_of, make_chunk, ops_of
from risingpy.functions.aggregate.grouping import GroupedRows, group_by
from risingpy.functions.aggregate.value_state import ValueState, signed_counts
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class LocalCall:
    """A value-state call and the columns of the input that it reads."""

    state: ValueState
    input: ValueInput


class LocalAggExecutor:
    """Output: the group key, each call's partial state change, the change of the row count. Every op is +1.

    A retraction is inside the partial change (a count of −1), so the rows never cancel and need no consolidation.
    """

    def __init__(self, *, group_key: Sequence[int], group_types: Sequence[SqlType], calls: Sequence[LocalCall]) -> None:
        self._group_key = group_key
        self._group_types = group_types
        self._calls = calls

    def execute(self, inputs: Sequence[pa.Table]) -> pa.Table:
        (changes,) = inputs
        ops, columns = ops_of(changes), columns_of(changes)
        groups = group_by([columns[k] for k in self._group_key], self._group_types, len(ops))
        rows = InputByGroup(groups, ops, columns)
        partials = [column for call in self._calls for column in call.input.partials(call.state, rows)]
        counts = signed_counts(GroupedRows(groups.codes, ops, groups.number))
        return make_chunk(np.full(groups.number, INSERT, np.int8), [*groups.keys, *partials, pa.array(counts)])
