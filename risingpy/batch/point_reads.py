"""A lookup by a whole key, compiled: parameters → key bytes → one row → its datums. Without Arrow.

    Direct(PointGet(t, key [$1]), outputs [$0])   =>   PointRead(key of t from parameter 1, datum of a column)

It gives what `PlanRun.direct` gives, in a tenth of the time, for keys and outputs of ordinary types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from risingpy.batch.parameters import Parameters, parameter_alone
from risingpy.batch.plan import BatchPlan, Direct
from risingpy.plan.catalog import StoredRelation
from risingpy.plan.expressions import Expr, InputRef, Literal
from risingpy.storage.codec.datum_columns import datum_in
from risingpy.storage.codec.single_rows import SingleKeys, can_make_keys, datums, has_plain_rows, key_datum
from risingpy.storage.codec.table_schema import VNODE_COUNT
from risingpy.storage.engine.read_views import ReadView
from risingpy.types import SqlType

_KeyPart = tuple[int, object]
"""Of one key column: the number of its parameter, or 0 and a constant."""

Datums = list[bytes | None]
"""A row's outputs as stored rows have them; None for NULL."""


@dataclass(frozen=True, slots=True)
class _Output:
    """Where an output comes from: a place among the value columns that are read, or one in the key."""

    place: int
    key_type: SqlType | None = None


@dataclass(frozen=True, slots=True)
class PointRead:
    """Reads one row of a relation. `columns` are the outputs' positions in it."""

    relation: StoredRelation
    columns: tuple[int, ...]
    _key: tuple[_KeyPart, ...]
    _keys: SingleKeys
    _column_ids: tuple[int, ...]
    _outputs: tuple[_Output, ...]
    _is_row: bool  # the outputs are the columns of the value, in their order

    def key(self, parameters: Parameters) -> list[object] | None:
        """The values of the key's columns, in the order of the storage key; None if one is NULL, so no row has it."""
        values = [parameters[number - 1] if number else constant for number, constant in self._key]
        return None if None in values else values

    def row(self, view: ReadView, key: Sequence[object]) -> Datums | None:
        """The outputs of the committed row; None if there is none.

        Who does not hold the view must be ready for SnapshotReleased. OverflowError: the key must be looked up by other
        means.
        """
        vnode, encoded = self._keys.encode(key)
        points = view.points
        stored = points.value(vnode * points.shards // VNODE_COUNT, self.relation.table.table_id, encoded)
        if stored is None:
            return None
        found = datums(stored, self._column_ids)
        return found if self._is_row else self._arranged(found, key)

    def rows(self, view: ReadView, keys: Sequence[Sequence[object]]) -> list[Datums | None]:
        """As `row`, of each of a few keys: a shard is asked once."""
        points = view.points
        by_shard: dict[int, tuple[list[int], list[bytes]]] = {}
        for number, key in enumerate(keys):
            vnode, encoded = self._keys.encode(key)
            numbers, encoded_keys = by_shard.setdefault(vnode * points.shards // VNODE_COUNT, ([], []))
            numbers.append(number)
            encoded_keys.append(encoded)
        found: list[Datums | None] = [None] * len(keys)
        for shard, (numbers, encoded_keys) in by_shard.items():
            values = points.values(shard, self.relation.table.table_id, encoded_keys)
            for number, stored in zip(numbers, values, strict=True):
                if stored is not None:
                    row = datums(stored, self._column_ids)
                    found[number] = row if self._is_row else self._arranged(row, keys[number])
        return found

    def logged_row(self, chunk: pa.Table, place: int) -> Datums:
        """The outputs of a row of a change chunk of the relation."""
        return [datum_in(chunk.column(1 + column), place) for column in self.columns]

    def _arranged(self, found: Datums, key: Sequence[object]) -> Datums:
        return [
            found[output.place] if output.key_type is None else key_datum(key[output.place], output.key_type)
            for output in self._outputs
        ]


def point_read(plan: BatchPlan) -> PointRead | None:
    """The plan as a point read, if it is one of ordinary types."""
    if plan.custom or not isinstance(plan.answer, Direct):
        return None
    get, schema = plan.answer.get, plan.answer.get.relation.table
    if not can_make_keys(schema):
        return None
    parts = [_key_part(expr, schema.columns[part.index].type) for expr, part in zip(get.key, schema.key, strict=True)]
    key = tuple(part for part in parts if part is not None)
    places = [get.columns[each.index] for each in plan.answer.outputs if isinstance(each, InputRef)]
    if len(key) < len(parts) or len(places) < len(plan.answer.outputs):
        return None
    read = read_of_columns(get.relation, places)
    return None if read is None else replace(read, _key=key)


def read_of_columns(relation: StoredRelation, places: Sequence[int]) -> PointRead | None:
    """The read of these columns of a row whose key is known; None if its key or the columns are not of ordinary types.

    Its `key` must not be called.
    """
    schema = relation.table
    if not can_make_keys(schema):
        return None
    in_value = [column for column in dict.fromkeys(places) if column in schema.value_columns]
    if not has_plain_rows(schema, in_value):
        return None
    in_key = {part.index: place for place, part in enumerate(schema.key)}
    types = tuple(schema.columns[column].type for column in places)
    outputs = tuple(
        _Output(in_value.index(column)) if column in in_value else _Output(in_key[column], type_)
        for column, type_ in zip(places, types, strict=True)
    )
    column_ids = tuple(schema.columns[column].column_id for column in in_value)
    is_row = list(places) == in_value
    return PointRead(relation, tuple(places), (), SingleKeys(schema), column_ids, outputs, is_row)


def _key_part(expr: Expr, type_: SqlType) -> _KeyPart | None:
    if expr.type.kind is not type_.kind or expr.type.system:
        return None
    if isinstance(expr, Literal):
        return 0, expr.value
    number = parameter_alone(expr)
    return None if number is None else (number, None)
