"""Values of one SQL type as those of a column's type."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Positions, Reasons
from risingpy.types import TIMESTAMP, SqlType, TypeKind
from risingpy.types.forms import parse_rows, text_column

_WIDER = frozenset(
    {
        (TypeKind.INTEGER, TypeKind.BIGINT),
        (TypeKind.INTEGER, TypeKind.DOUBLE),
        (TypeKind.REAL, TypeKind.DOUBLE),
        (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ),
        (TypeKind.TIMESTAMPTZ, TypeKind.TIMESTAMP),
    }
)
_OF_MICROS = (TypeKind.TIMESTAMP, TypeKind.TIMESTAMPTZ)


def converted(
    name: str, found: pa.Array, source: SqlType, target: SqlType, owners: Positions, reasons: Reasons
) -> pa.Array:
    """An array of the type `source` as one of `target`.

    What has no cast of its own goes through its text, as a literal of the column would be read. `owners` are the
    positions of the messages that the values are from.
    """
    if source == target or (source.is_text and target.kind is TypeKind.VARCHAR and target.length is None):
        return found
    if source.kind is TypeKind.TIMESTAMP_NS and target.kind in _OF_MICROS:
        micros = pc.cast(pc.floor_temporal(found, unit="microsecond"), TIMESTAMP.arrow)
        return converted(name, micros, TIMESTAMP, target, owners, reasons)
    kinds = (source.kind, target.kind)
    if kinds in _WIDER and target.length is None:
        return found.cast(target.arrow)
    match kinds:
        case (TypeKind.STRUCT, TypeKind.STRUCT):
            return _struct(name, found, source, target, owners, reasons)
        case (TypeKind.ARRAY, TypeKind.ARRAY):
            items = found.flatten()
            of_items = owners[pc.list_parent_indices(found).to_numpy()]
            made = converted(name, items, source.element, target.element, of_items, reasons)
            return pa.ListArray.from_arrays(list_offsets(found), made, mask=found.is_null())
        case (TypeKind.MAP, TypeKind.MAP):
            return _map(name, found, source, target, owners, reasons)
        case (TypeKind.STRUCT | TypeKind.ARRAY | TypeKind.MAP, TypeKind.JSONB):
            texts = _as_json(found)
        case _:
            texts = text_column(source, found)
    values, wrong = parse_rows(target, texts)
    for row, reason in wrong.items():
        reasons.add(int(owners[row]), f'column "{name}": {reason}')
    return values


def _struct(
    name: str, found: pa.Array, source: SqlType, target: SqlType, owners: Positions, reasons: Reasons
) -> pa.Array:
    """Fields are found by their names; one that is missing is NULL."""
    parts = []
    for part, type_ in zip(target.names, target.items, strict=True):
        if part not in source.names:
            parts.append(pa.nulls(len(found), type_.arrow))
            continue
        k = source.names.index(part)
        field = pc.struct_field(found, [k])
        parts.append(converted(f"{name}.{part}", field, source.items[k], type_, owners, reasons))
    return pa.StructArray.from_arrays(parts, fields=list(target.arrow), mask=found.is_null())


def _map(name: str, found: pa.Array, source: SqlType, target: SqlType, owners: Positions, reasons: Reasons) -> pa.Array:
    lists = found.cast(pa.list_(pa.struct([("key", source.items[0].arrow), ("value", source.items[1].arrow)])))
    entries, of_entries = lists.flatten(), owners[pc.list_parent_indices(lists).to_numpy()]
    keys, items = (
        converted(name, pc.struct_field(entries, [k]), source.items[k], target.items[k], of_entries, reasons)
        for k in (0, 1)
    )
    offsets = list_offsets(lists)
    if lists.null_count:  # a NULL among the offsets is a NULL map
        offsets = pa.array(offsets.to_numpy(), mask=np.append(lists.is_null().to_numpy(zero_copy_only=False), False))
    return pa.MapArray.from_arrays(offsets, keys, items).cast(target.arrow)


def list_offsets(lists: pa.Array) -> pa.Array:
    """Offsets of the flattened items."""
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    return pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))


def _as_json(found: pa.Array) -> pa.Array:
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("nested", pa.table({"v": found}))
        query = "SELECT CASE WHEN v IS NOT NULL THEN to_json(v)::VARCHAR END AS t FROM nested"
        return connection.sql(query).to_arrow_table()["t"].combine_chunks()
