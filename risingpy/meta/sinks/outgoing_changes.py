"""What of an epoch's changes the other side of a sink gets."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.targets.encoders.leaves import replace_leaves
from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.executors.change_chunk import consolidated, deletes_first
from risingpy.types import SqlType, TypeKind
from risingpy.types.enums.enumeration import without_enums
from risingpy.types.forms import text_column


def can_be_merged(schema: SinkSchema) -> bool:
    """Whether several epochs may go out as one: the rows of an append-only sink add up, and updates of a key replace
    one another. A reader of a change log is to see each of them."""
    return schema.type in (SinkType.APPEND_ONLY, SinkType.UPSERT)


def outgoing_changes(epochs: Sequence[pa.Table], schema: SinkSchema, stored: Sequence[SqlType] = ()) -> pa.Table:
    """The changes of successive epochs in the sink's columns, retractions first, without pairs that cancel.

    `stored` are the columns' types in storage, where these are others than the schema's: enums, which go out as texts.
    Of an append-only sink these are the new rows of each epoch: one that a later epoch takes back has been there.
    """
    types = [type_ for _, type_ in schema.columns]
    visible = [_with_labels(changes.select(range(1 + len(types))), stored) for changes in epochs]
    if schema.type is not SinkType.APPEND_ONLY:
        return deletes_first(consolidated(pa.concat_tables(visible), types))
    parts = [consolidated(changes, types) for changes in visible]
    return pa.concat_tables([part.filter(pc.greater(part.column(0), 0)) for part in parts])


def _with_labels(changes: pa.Table, stored: Sequence[SqlType]) -> pa.Table:
    """The changes with texts in the places of enums."""
    for place, type_ in enumerate(stored, 1):
        if without_enums(type_) != type_:
            chunks = [replace_leaves(type_, chunk, _label, _label) for chunk in changes.column(place).chunks]
            column = pa.chunked_array(chunks, without_enums(type_).arrow)
            changes = changes.set_column(place, changes.field(place).name, column)
    return changes


def _label(type_: SqlType, array: pa.Array) -> pa.Array:
    return text_column(type_, array) if type_.kind is TypeKind.ENUM else array
