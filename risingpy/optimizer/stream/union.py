"""Plans UNION ALL: inputs with the same columns, and a key that identifies rows within and between inputs.

    Union(Scan(t: a, key k), Scan(u: a, key l))  =>  Union(Project(a, k), Project(a, l)) with the hidden ordinal

The inputs' hidden key columns share positions by type; an input with fewer of them gets NULLs. Rows do not move.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from risingpy.optimizer.stream.projection import projected, references
from risingpy.optimizer.stream.properties import derived, underived
from risingpy.plan.expressions import Expr, Literal
from risingpy.plan.logical import Field, Schema
from risingpy.plan.operators import StreamPlan, StreamUnion
from risingpy.types import INTEGER, SqlType


def plan_union(inputs: Sequence[StreamPlan], schema: Schema) -> StreamUnion:
    """The UNION ALL of `inputs`, whose first columns are `schema`'s."""
    slots = _key_slots(inputs, len(schema))
    aligned = tuple(_aligned(each, len(schema), slots) for each in inputs)
    visible = aligned[0].properties.schema[: len(schema)]
    keys = [Field(f"_key_{i}", type_, hidden=True) for i, type_ in enumerate(slots)]
    ordinal = Field("_input", INTEGER, hidden=True)
    return derived(StreamUnion(aligned, underived((*visible, *keys, ordinal))))


def _hidden_key(input: StreamPlan, width: int) -> list[int]:
    """The stream key columns that the query itself does not select."""
    return [i for i in input.properties.stream_key if i >= width]


def _key_slots(inputs: Sequence[StreamPlan], width: int) -> list[SqlType]:
    """The types of the hidden columns for the inputs' keys: of each type, as many as any input needs."""
    needed: Counter[SqlType] = Counter()
    for each in inputs:
        needed |= Counter(each.properties.schema[i].type for i in _hidden_key(each, width))
    return list(needed.elements())


def _aligned(input: StreamPlan, width: int, slots: Sequence[SqlType]) -> StreamPlan:
    """The query's columns of `input`, then its key columns in the slots of their types, NULLs in the others."""
    columns = references(input)
    unplaced = [columns[i] for i in _hidden_key(input, width)]
    outputs: list[Expr] = list(columns[:width])
    for type_ in slots:
        fitting = next((ref for ref in unplaced if ref.type == type_), None)
        if fitting is None:
            outputs.append(Literal(None, type_))
        else:
            unplaced.remove(fitting)
            outputs.append(fitting)
    return projected(input, outputs)
