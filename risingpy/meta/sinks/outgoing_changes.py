"""What of an epoch's changes the other side of a sink gets."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.targets.target import SinkSchema, SinkType
from risingpy.executors.change_chunk import consolidated, deletes_first


def can_be_merged(schema: SinkSchema) -> bool:
    """Whether several epochs may go out as one: the rows of an append-only sink add up, and updates of a key replace
    one another. A reader of a change log is to see each of them."""
    return schema.type in (SinkType.APPEND_ONLY, SinkType.UPSERT)


def outgoing_changes(epochs: Sequence[pa.Table], schema: SinkSchema) -> pa.Table:
    """The changes of successive epochs in the sink's columns, retractions first, without pairs that cancel.

    Of an append-only sink these are the new rows of each epoch: one that a later epoch takes back has been there.
    """
    types = [type_ for _, type_ in schema.columns]
    visible = [changes.select(range(1 + len(types))) for changes in epochs]
    if schema.type is not SinkType.APPEND_ONLY:
        return deletes_first(consolidated(pa.concat_tables(visible), types))
    parts = [consolidated(changes, types) for changes in visible]
    return pa.concat_tables([part.filter(pc.greater(part.column(0), 0)) for part in parts])
