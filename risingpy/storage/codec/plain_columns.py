"""Columns as flags and datums, one after the other in each row: what plain rows and nested values are made of.

    column    00 for NULL, or 01 and the datum; a datum of varying size has a u32 length before it

A nested value is itself a datum of varying size, made of columns again:

    array     each element as a column                  {1,NULL} of int[]       01 01000000 00
    struct    each field as a column                    (1,'a')                 01 01000000 01 01000000 61
    map       key and value of each entry as columns    {'a': true}             01 01000000 61 01 01

Elements of consecutive arrays follow each other in Arrow's memory, so an array's datum is a slice of what its
elements give as one long column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.storage.codec.column_buffers import (
    BinaryOutput,
    Bytes,
    ColumnBuffers,
    CorruptData,
    Integers,
    Output,
    address,
    buffers_of,
    fixed_array,
    physical,
    whole,
)
from risingpy.storage.kernels import datums, key_reading, row_writing

_ITEM = pa.int64()  # of any type
_NESTED = frozenset(each.id for each in (pa.list_(_ITEM), pa.struct([]), pa.map_(_ITEM, _ITEM)))


def is_nested(arrow_type: pa.DataType) -> bool:
    """True for arrays, structs and maps."""
    return arrow_type.id in _NESTED


def datum_width(arrow_type: pa.DataType) -> int:
    """A datum's bytes; 0 where they vary."""
    return 0 if is_nested(arrow_type) else physical(arrow_type).width


def datums_of(column: pa.Array | pa.ChunkedArray) -> ColumnBuffers:
    """The datums of a column of any type of ours."""
    column = whole(column)
    return buffers_of(nested_datums(column) if is_nested(column.type) else column)


def nested_datums(column: pa.Array) -> pa.BinaryArray:
    """Each nested value as one datum; NULL stays NULL."""
    if pa.types.is_struct(column.type):
        rows = encode_columns(struct_fields(column), rows=len(column))
        return with_validity(rows, column)
    offsets, parts = list_parts(column)
    return with_validity(regrouped(encode_columns(parts, rows=len(parts[0])), offsets), column)


def struct_fields(column: pa.StructArray) -> list[pa.Array]:
    """A struct column's fields; where the struct is NULL they are anything."""
    return [column.field(k) for k in range(column.type.num_fields)]


def list_parts(column: pa.ListArray | pa.MapArray) -> tuple[Integers, list[pa.Array]]:
    """An array or map column's elements as flat columns (keys and values of a map), and where each row's begin."""
    offsets = column.offsets.to_numpy().astype(np.int64)
    first, size = int(offsets[0]), int(offsets[-1] - offsets[0])
    flat = [column.keys, column.items] if pa.types.is_map(column.type) else [column.values]
    return offsets - first, [part.slice(first, size) for part in flat]


def regrouped(items: pa.BinaryArray, offsets: Integers) -> pa.BinaryArray:
    """Byte strings of consecutive items joined: row k is of the items from `offsets[k]` to `offsets[k + 1]`."""
    ends = np.frombuffer(items.buffers()[1], np.int32)[items.offset : items.offset + len(items) + 1]
    joined = pa.py_buffer(np.ascontiguousarray(ends[offsets]))
    return pa.BinaryArray.from_buffers(pa.binary(), len(offsets) - 1, [None, joined, items.buffers()[2]])


def with_validity(rows: pa.BinaryArray, column: pa.Array) -> pa.BinaryArray:
    """`rows`, which has no NULLs, with those of `column`."""
    if column.null_count == 0:
        return rows
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(rows), [column.is_valid().buffers()[1], *rows.buffers()[1:]], offset=rows.offset
    )


def encode_columns(
    columns: Sequence[pa.Array], *, rows: int | None = None, prefix: int | None = None
) -> pa.BinaryArray:
    """The columns of each row one after the other, following the byte `prefix` if there is one."""
    buffers = [datums_of(column) for column in columns]
    n = row_count(buffers, rows)
    described = describe([(0, column) for column in buffers])
    k = len(buffers)
    lengths: Integers = np.full(n, 0 if prefix is None else 1, np.int64)
    row_writing.measure_plain_rows(address(described), k, n, address(lengths))
    output = Output(lengths)
    if prefix is not None:
        datums.write_first_bytes(prefix, n, output.data, address(output.positions))
    row_writing.write_plain_rows(address(described), k, n, address(output.positions), output.data)
    return output.finish()


def describe(columns: Sequence[tuple[int, ColumnBuffers]]) -> Integers:
    """Columns with their ids, as the kernels of `row_writing` take them. The caller keeps the buffers alive."""
    words = [(i, c.width, c.offsets, c.validity, c.bit_offset, c.data) for i, c in columns]
    return np.array(words, np.int64).reshape(len(words), row_writing.COLUMN_WORDS)


def row_count(buffers: Sequence[ColumnBuffers], rows: int | None) -> int:
    """The number of rows that all columns have; ValueError if they differ or nothing tells it."""
    counts = {column.length for column in buffers} | ({rows} if rows is not None else set())
    if len(counts) != 1:
        raise ValueError(f"columns of different lengths, or no columns and no row count: {sorted(counts)}")
    return counts.pop()


def gather(encoded: ColumnBuffers, arrow_type: pa.DataType, starts: Integers, lengths: Integers) -> pa.Array:
    """A column of the datums at `starts` (-1: NULL); `lengths` count where datums are of varying size."""
    if is_nested(arrow_type):
        return restored(gather(encoded, pa.binary(), starts, lengths), arrow_type)
    width = physical(arrow_type).width
    n = len(starts)
    valid: Bytes = np.empty(n, np.uint8)
    if width == 0:
        output = BinaryOutput(arrow_type, lengths)
        missing = datums.gather_binary(encoded.data, address(starts), output.offsets, n, output.data, address(valid))
        return output.finish(valid, missing)
    out: Bytes = np.empty(n * width, np.uint8)
    missing = datums.gather_fixed(encoded.data, address(starts), width, n, address(out), address(valid))
    return fixed_array(arrow_type, out, valid, missing)


def read_column(encoded: ColumnBuffers, arrow_type: pa.DataType, positions: Integers) -> pa.Array:
    """Takes one column off every row that is there. `positions` say where the rows go on, and are moved."""
    n = encoded.length
    starts: Integers = np.empty(n, np.int64)
    lengths: Integers = np.empty(n, np.int64)
    malformed = datums.read_flags(
        encoded.data, encoded.offsets + 4, n, datum_width(arrow_type), encoded.validity, encoded.bit_offset,
        address(positions), address(starts), address(lengths),
    )  # fmt: skip
    _refuse(malformed, arrow_type)
    return gather(encoded, arrow_type, starts, lengths)


def refuse_unfinished(encoded: ColumnBuffers, positions: Integers, message: str) -> None:
    """CorruptData if rows go on after all their columns were taken off."""
    rows = encoded.offsets + 4, encoded.validity, encoded.bit_offset, encoded.length
    if datums.count_unfinished(*rows, address(positions)):
        raise CorruptData(message)


def restored(values: pa.BinaryArray, arrow_type: pa.DataType) -> pa.Array:
    """The nested column of datums; the inverse of `nested_datums`."""
    encoded = buffers_of(values)
    missing = values.is_null() if values.null_count else None
    if pa.types.is_struct(arrow_type):
        return _restored_struct(encoded, arrow_type, missing)
    types = [arrow_type.key_type, arrow_type.item_type] if pa.types.is_map(arrow_type) else [arrow_type.value_type]
    offsets, flat = _read_items(encoded, types)
    if pa.types.is_map(arrow_type):
        return pa.MapArray.from_arrays(offsets, *flat, type=arrow_type, mask=missing)
    return pa.ListArray.from_arrays(offsets, *flat, type=arrow_type, mask=missing)


def _restored_struct(encoded: ColumnBuffers, arrow_type: pa.DataType, missing: pa.Array | None) -> pa.Array:
    positions: Integers = np.empty(encoded.length, np.int64)
    key_reading.start_positions(encoded.offsets, encoded.length, 0, address(positions))
    fields = list(arrow_type)
    columns = [read_column(encoded, field.type, positions) for field in fields]
    refuse_unfinished(encoded, positions, "a stored struct is longer than its fields")
    return pa.StructArray.from_arrays(columns, fields=fields, mask=missing)


def _read_items(encoded: ColumnBuffers, types: Sequence[pa.DataType]) -> tuple[pa.Array, list[pa.Array]]:
    """Offsets of each row's items, and the items' columns: one type for arrays, two for maps."""
    widths = [datum_width(item_type) for item_type in types]
    rows = encoded.offsets, encoded.validity, encoded.bit_offset, encoded.length
    counts: Integers = np.empty(encoded.length, np.int64)
    malformed = datums.count_items(encoded.data, *rows, widths[0], widths[-1], address(counts))
    _refuse(malformed + int((counts % len(types)).any()), types[0])
    starts, lengths = np.empty((2, int(counts.sum())), np.int64)
    datums.locate_items(encoded.data, *rows, widths[0], widths[-1], address(starts), address(lengths))
    offsets = np.zeros(encoded.length + 1, np.int32)
    np.cumsum(counts // len(types), out=offsets[1:])
    step = len(types)
    parts = [np.ascontiguousarray(starts[k::step]) for k in range(step)]
    sizes = [np.ascontiguousarray(lengths[k::step]) for k in range(step)]
    flat = [gather(encoded, type_, start, size) for type_, start, size in zip(types, parts, sizes, strict=True)]
    return pa.array(offsets), flat


def change_leaves(column: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """A nested column with each of its innermost columns changed; `change` keeps length and type."""
    if not is_nested(column.type):
        return change(column)
    missing = column.is_null() if column.null_count else None
    if pa.types.is_struct(column.type):
        fields = [change_leaves(field, change) for field in struct_fields(column)]
        return pa.StructArray.from_arrays(fields, fields=list(column.type), mask=missing)
    offsets, parts = list_parts(column)
    flat = [change_leaves(part, change) for part in parts]
    kind = pa.MapArray if pa.types.is_map(column.type) else pa.ListArray
    return kind.from_arrays(pc.cast(pa.array(offsets), pa.int32()), *flat, type=column.type, mask=missing)


def _refuse(malformed: int, arrow_type: pa.DataType) -> None:
    if malformed:
        raise CorruptData(f"{malformed} stored values have no valid column of type {arrow_type}")
