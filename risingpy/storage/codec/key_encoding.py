"""Storage keys: `table_id (u32) | vnode (u16) | key columns`, big-endian, ordered as the columns are.

The promise: for two rows of a table, a < b in the order of its key columns ⇔ encode(a) < encode(b) as bytes.
Each key column is a tag and, unless NULL, its bytes:

    tag     00 NULL that sorts first    01 value    02 NULL that sorts last

| type                         | bytes after the tag                             | example, with its tag           |
|------------------------------|-------------------------------------------------|---------------------------------|
| boolean                      | 1: 0 or 1                                       | true    01 01                   |
| smallint                     | 2: sign bit flipped                             | 1        01 8001                |
| integer, date                | 4: likewise; a date is days since 1970-01-01    | -1      01 7fffffff             |
| bigint                       | 8: likewise                                     | 258     01 8000000000000102     |
| time, timestamp, timestamptz | 8: likewise; microseconds                       | 00:00:01 01 80000000000f4240    |
| timestamp_ns                 | 8: likewise; nanoseconds                        | 00:00:01 01 800000003b9aca00    |
| real                         | 4: IEEE; not negative: sign bit flipped         | 1.5     01 bfc00000             |
| double precision             | 8: IEEE; negative: all bits flipped             | -2      01 3fffffffffffffff     |
| numeric of at most 38 digits | 16: unscaled, sign bit flipped; the scale       | 1.00 of numeric(5,2)            |
|                              | is the type's                                   | 01 8000000000000000…0064        |
| varchar, bytea               | the bytes, 00 as 00ff; then 0000                | 'a\\0b'  01 61 00ff 62 0000     |
| interval                     | 8: days, a month being 30, sign bit flipped;    | 1 mon 2 days                    |
|                              | 8: nanoseconds of the day;                      | 01 8000000000000020             |
|                              | 4, 4: months and days, as integers              | 00…00 80000001 80000002         |
| numeric, no digits declared  | as bytea, its 42 bytes (`types.wide_numeric`);  | 1       01 01 00ff…00ff 01 00ff…|
|                              | in keys of relations 41, without its scale: the |                                 |
|                              | number itself stands in the value               |                                 |
| uuid, rw_int256, char        | as bytea, bytea, varchar                        |                                 |
| jsonb                        | as bytea: its bytes of `kernels/json_keys`; in  | 1       01 03 02 80 00ff 00ff 01|
|                              | keys of state then its text, and the text's     | 31 00ff 31 01 00ff 00ff 00ff    |
|                              | length (u32, little-endian); in keys of         | 0000                            |
|                              | relations it stands in the value                |                                 |
| array, struct                | as bytea: its elements or fields as ascending   | {1} of int[]                    |
|                              | key columns with NULLs last; 00; its datum, and | 01 01 80000001 00ff 01 01 00ff… |
|                              | the datum's length (u32, little-endian)         |                                 |

An array's order is its elements'; its datum follows them only to be read back. With jsonb inside it stands in the
value of relations, and no datum follows. json and maps are in no key.
A descending column has all bytes after the tag inverted. -0.0 is written as 0.0, every NaN as the one that
is larger than all numbers (real 7fc00000, double 7ff8000000000000): PostgreSQL's order. Intervals order as
PostgreSQL compares them, and keep their months and days to be read back; two that are equal but written
differently (1 mon, 30 days) have different keys, so a key by which rows are grouped or joined takes
`canonical` columns.

The vnode is the low byte of `reference_codec.hash_bytes` over the distribution columns' ascending key
bytes; of byte strings of 42 bytes only the first 41 count, so that 1.0 and 1.00 have one vnode. jsonb is
hashed as bytea. The hash and these layouts are on-disk format: whoever changes one raises its version.

LMDB takes keys of up to 511 bytes. Longer ones, and those of just 511, are stored as their first 495 bytes
and a hash of 16 (`long_key_form`), so that 511 bytes mark them. They sort rightly except among keys that
share those 495 bytes.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.storage.codec.column_buffers import (
    BinaryOutput,
    Bytes,
    ColumnBuffers,
    CorruptData,
    Form,
    Integers,
    Output,
    address,
    buffers_of,
    fixed_array,
    is_integer,
    longest,
    physical,
    whole,
)
from risingpy.storage.codec.json_columns import key_form
from risingpy.storage.codec.plain_columns import (
    change_leaves,
    gather,
    is_nested,
    list_parts,
    nested_datums,
    regrouped,
    struct_fields,
    with_validity,
)
from risingpy.storage.codec.table_schema import VNODE_COUNT, KeyColumn, TableSchema, ValueFormat
from risingpy.storage.kernels import datums, grouping, key_reading, keys, sizing
from risingpy.types import SqlType, wide_numeric

MAX_KEY_BYTES = 511  # LMDB 0.9's limit
LONG_KEY_PREFIX = 495
PREFIX_BYTES = 6

_NULL_FIRST, _NULL_LAST = 0, 2
_BYTES = {Form.DECIMAL: 16, Form.INTERVAL: 24}
_DAY_NANOS = 86_400_000_000_000


def table_prefix(table_id: int) -> bytes:
    """What all keys of a table start with."""
    return struct.pack(">I", table_id)


def vnode_prefix(table_id: int, vnode: int) -> bytes:
    """What all keys of a table's vnode start with."""
    return struct.pack(">IH", table_id, vnode)


def prefix_end(prefix: bytes) -> bytes:
    """The least byte string that is greater than all that start with `prefix`, which is not all ff."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1])


def encode_keys(schema: TableSchema, key_columns: Sequence[pa.Array], vnodes: npt.NDArray[np.uint16]) -> pa.BinaryArray:
    """One key per row. Fewer columns than the key has give prefixes of keys.

    `key_columns` stand in key order and have exactly the schema's Arrow types (TypeError).
    """
    order = schema.key[: len(key_columns)]
    columns = []
    for key_column, column in zip(order, key_columns, strict=True):
        column = whole(column)
        type_, is_relation = schema.columns[key_column.index].type, schema.value_format is ValueFormat.ROW
        if column.type != type_.arrow:
            raise TypeError(f"key column {schema.columns[key_column.index].name} is {type_.arrow}, not {column.type}")
        if type_.has_json and not is_relation:
            column = _read_back(key_form(column, type_), column)
        elif type_.has_json or (is_relation and type_.is_wide):
            column = key_form(column, type_)
        columns.append(_key_buffers(column, to_read=not type_.has_json))
    vnodes = np.ascontiguousarray(vnodes, np.uint16)
    output, zeros = _key_room(columns, len(vnodes), PREFIX_BYTES)
    keys.write_prefixes(output.data, len(vnodes), schema.table_id, address(vnodes), address(output.positions))
    for key_column, column, has_zeros in zip(order, columns, zeros, strict=True):
        _write_column(column, key_column, has_zeros, output)
    return output.finish()


def compute_vnodes(columns: Sequence[pa.Array], n: int, types: Sequence[SqlType] = ()) -> npt.NDArray[np.uint16]:
    """The vnode of each of n rows by its distribution columns; 0 if there are none.

    Equal values have equal vnodes, whatever the order of the key that they stand in. The types count: 1 as
    integer and 1 as bigint have different vnodes. `types` are needed if one has jsonb, which Arrow takes for text.
    """
    vnodes = np.zeros(n, np.uint16)
    if not columns:
        return vnodes
    if len(columns) == 1 and is_integer(columns[0].type):  # most distributions: twice as fast, and no memory
        _integer_vnodes(buffers_of(columns[0]), n, vnodes)
        return vnodes
    known: Sequence[SqlType | None] = types or [None] * len(columns)
    forms = [
        key_form(canonical(column), type_) if type_ is not None and type_.has_json else canonical(column)
        for column, type_ in zip(columns, known, strict=True)
    ]
    buffers = [_key_buffers(_hashed(form), to_read=False) for form in forms]
    output, zeros = _key_room(buffers, n, 0)
    for column, has_zeros in zip(buffers, zeros, strict=True):
        _write_column(column, KeyColumn(0), has_zeros, output)
    encoded = buffers_of(output.finish())
    grouping.hash_vnodes(encoded.data, encoded.offsets, n, VNODE_COUNT - 1, address(vnodes))
    return vnodes


def _hashed(column: pa.Array) -> pa.Array:
    """`column` with what may be a wide numeric without its scale."""
    if not pa.types.is_binary(column.type):
        return column
    may_be = pc.equal(pc.binary_length(column), wide_numeric.BYTES)
    return pc.if_else(may_be, wide_numeric.key_column(column), column)


def _integer_vnodes(column: ColumnBuffers, n: int, vnodes: npt.NDArray[np.uint16]) -> None:
    if column.length != n:
        raise ValueError(f"{column.length} values for {n} rows")
    scratch: Bytes = np.empty(16, np.uint8)
    grouping.hash_integer_vnodes(
        column.data, column.width, column.validity, column.bit_offset, n, _NULL_LAST, VNODE_COUNT - 1,
        address(scratch), address(vnodes),
    )  # fmt: skip


def canonical(column: pa.Array) -> pa.Array:
    """`column` with equal intervals made identical: days under 30 and less than a day of time, one sign for all.

    Other types come back as they are: their equal values have equal keys already.
    """
    column = whole(column)
    if is_nested(column.type):
        return change_leaves(column, canonical)
    if physical(column.type).form is not Form.INTERVAL:
        return column
    parts = np.frombuffer(column.buffers()[1], np.int32).reshape(-1, 4)[column.offset : column.offset + len(column)]
    nanos = np.ascontiguousarray(parts[:, 2:]).view(np.int64)[:, 0]
    days = 30 * parts[:, 0].astype(np.int64) + parts[:, 1] + nanos // _DAY_NANOS
    rest = nanos % _DAY_NANOS
    borrow = (days < 0) & (rest > 0)
    days, rest = days + borrow, rest - _DAY_NANOS * borrow
    months = _clip(np.sign(days) * (np.abs(days) // 30))
    days -= 30 * months
    kept = _clip(days)
    result = np.empty((len(column), 4), np.int32)
    result[:, 0] = months
    result[:, 1] = kept
    result[:, 2:] = (rest + (days - kept) * _DAY_NANOS)[:, None].view(np.int32)
    valid = np.asarray(column.is_valid().to_numpy(zero_copy_only=False), np.uint8)
    return fixed_array(column.type, result.view(np.uint8).reshape(-1), valid)


def _clip(numbers: Integers) -> Integers:
    """The nearest 32-bit integers; what they lose stays in a smaller unit."""
    return np.clip(numbers, -(2**31), 2**31 - 1)


def decode_keys(schema: TableSchema, encoded: pa.BinaryArray) -> list[pa.Array]:
    """The key columns, in key order, of whole keys. CorruptData if they are no keys of this schema."""
    data = buffers_of(encoded)
    positions: Integers = np.empty(data.length, np.int64)
    key_reading.start_positions(data.offsets, data.length, PREFIX_BYTES, address(positions))
    columns = [_read_column(data, schema, key_column, positions) for key_column in schema.key]
    if datums.count_unfinished(data.offsets + 4, 0, 0, data.length, address(positions)):
        raise CorruptData("a stored key is longer than its columns")
    return columns


def long_key_form(encoded: pa.BinaryArray) -> tuple[pa.BinaryArray, npt.NDArray[np.bool_]]:
    """The keys as LMDB stores them, and which of them are long and need the whole key in their value."""
    if longest(encoded) < MAX_KEY_BYTES:
        return encoded, np.zeros(len(encoded), np.bool_)
    is_long = np.asarray(pc.binary_length(encoded).to_numpy(zero_copy_only=False) >= MAX_KEY_BYTES)
    stored = [_short(key) if len(key) >= MAX_KEY_BYTES else key for key in encoded.to_pylist()]
    return pa.array(stored, pa.binary()), is_long


def _short(key: bytes) -> bytes:
    """495 bytes and a cryptographic hash: two different long keys must never meet."""
    return key[:LONG_KEY_PREFIX] + hashlib.blake2b(key, digest_size=MAX_KEY_BYTES - LONG_KEY_PREFIX).digest()


def _key_buffers(column: pa.Array, *, to_read: bool = True) -> ColumnBuffers:
    """A column as a key column's kernels take it; nested values without their datums unless they are `to_read`."""
    return buffers_of(_nested_keys(column, to_read=to_read) if is_nested(column.type) else column)


def _read_back(form: pa.Array, column: pa.Array) -> pa.BinaryArray:
    """The bytes of a `key_form`, and after them the datums of its column."""
    return _with_datums(_nested_keys(form, to_read=False) if is_nested(form.type) else form, column)


def _nested_keys(column: pa.Array, *, to_read: bool) -> pa.BinaryArray:
    """The bytes by which nested values order, and after them their datums."""
    if pa.types.is_struct(column.type):
        ordered = ascending_keys(struct_fields(column), len(column))
    else:
        offsets, parts = list_parts(column)
        ordered = regrouped(ascending_keys(parts, len(parts[0])), offsets)
    keys = with_validity(pc.binary_join_element_wise(ordered, pa.scalar(b"\0"), b""), column)
    return _with_datums(keys, column) if to_read else keys


def _with_datums(keys: pa.BinaryArray, column: pa.Array) -> pa.BinaryArray:
    """The keys of values, each followed by the value's datum and its length. NULL stays NULL."""
    if is_nested(column.type):
        datums_of = nested_datums(change_leaves(column, _without_minus_zero))
    else:
        datums_of = column.cast(pa.binary())
    filled = pc.fill_null(datums_of, b"")
    sizes = np.ascontiguousarray(pc.binary_length(filled).to_numpy(), "<i4")
    lengths = pa.Array.from_buffers(pa.binary(4), len(sizes), [None, pa.py_buffer(sizes)])
    return pc.binary_join_element_wise(keys, filled, lengths.cast(pa.binary()), b"")


def ascending_keys(columns: Sequence[pa.Array], n: int) -> pa.BinaryArray:
    """The bytes by which n rows of key columns order, ascending, one column after the other. Not to be read back."""
    buffers = [_key_buffers(column, to_read=False) for column in columns]
    output, zeros = _key_room(buffers, n, 0)
    for column, has_zeros in zip(buffers, zeros, strict=True):
        _write_column(column, KeyColumn(0), has_zeros, output)
    return output.finish()


def _without_minus_zero(column: pa.Array) -> pa.Array:
    return pc.add(column, pa.scalar(0.0, column.type)) if pa.types.is_floating(column.type) else column


def _nested_values(keys: pa.BinaryArray, arrow_type: pa.DataType) -> pa.Array:
    """What `_with_datums` was given."""
    encoded = buffers_of(keys)
    present = encoded.present
    room = pc.binary_length(keys).to_numpy(zero_copy_only=False)[present] - 5  # the least that there is besides
    ends = encoded.ends.astype(np.int64)[present]
    data = np.frombuffer(keys.buffers()[2] or b"", np.uint8)
    starts: Integers = np.full(encoded.length, -1, np.int64)
    lengths: Integers = np.zeros(encoded.length, np.int64)
    _refuse(int((room < 0).sum()), arrow_type)
    if len(ends):
        sizes = np.ascontiguousarray(data[ends[:, None] + np.arange(-4, 0)]).view("<u4")[:, 0].astype(np.int64)
        _refuse(int((sizes > room).sum()), arrow_type)
        starts[present] = ends - 4 - sizes
        lengths[present] = sizes
    return gather(encoded, arrow_type, starts, lengths)


def _key_room(columns: Sequence[ColumnBuffers], n: int, prefix: int) -> tuple[Output, list[int]]:
    """Room for the keys of `columns`, and per column whether it needs escapes."""
    lengths: Integers = np.full(n, prefix + len(columns), np.int64)
    zeros = []
    for column in columns:
        if column.length != n:
            raise ValueError(f"{column.length} values for {n} rows")
        has_zeros = 0
        if column.form is Form.BINARY:
            has_zeros = sizing.has_zero_byte(*column.data_range)
            sizing.add_binary_lengths(
                column.offsets, column.data, column.validity, column.bit_offset, n, 2, has_zeros, address(lengths)
            )
        elif column.validity:
            width = _BYTES.get(column.form, column.width)
            sizing.add_fixed_lengths(column.validity, column.bit_offset, n, width, address(lengths))
        else:
            lengths += _BYTES.get(column.form, column.width)
        zeros.append(has_zeros)
    return Output(lengths), zeros


def _tag_and_flip(key_column: KeyColumn) -> tuple[int, int]:
    return _NULL_FIRST if key_column.nulls_first else _NULL_LAST, -1 if key_column.descending else 0


def _write_column(column: ColumnBuffers, key_column: KeyColumn, has_zeros: int, output: Output) -> None:
    """Appends one column to the keys in `output`."""
    null_tag, flip = _tag_and_flip(key_column)
    rows = column.validity, column.bit_offset, column.length
    target = output.data, address(output.positions)
    match column.form:
        case Form.INTEGER:
            keys.write_integers(column.data, column.width, *rows, null_tag, flip, *target)
        case Form.FLOAT:
            keys.write_floats(column.data, column.width, *rows, null_tag, flip, *target)
        case Form.DECIMAL:
            keys.write_decimals(column.data, *rows, null_tag, flip, *target)
        case Form.INTERVAL:
            keys.write_intervals(column.data, *rows, null_tag, flip, *target)
        case Form.BINARY:
            keys.write_binaries(column.data, column.offsets, *rows, null_tag, flip, has_zeros, *target)


def _read_column(encoded: ColumnBuffers, schema: TableSchema, key_column: KeyColumn, positions: Integers) -> pa.Array:
    """Takes one column off the keys. What stands in the value comes as the key's bytes, which no caller reads."""
    null_tag, flip = _tag_and_flip(key_column)
    type_ = schema.columns[key_column.index].type
    arrow_type = type_.arrow
    if type_.has_json or is_nested(arrow_type):
        found = _read_binaries(encoded, pa.binary(), null_tag, flip, positions)
        return found if type_.has_json and schema.value_format is ValueFormat.ROW else _nested_values(found, arrow_type)
    shape = physical(arrow_type)
    n = encoded.length
    valid: Bytes = np.empty(n, np.uint8)
    source = encoded.data, encoded.offsets + 4, n
    if shape.form is Form.BINARY:
        return _read_binaries(encoded, arrow_type, null_tag, flip, positions)
    out: Bytes = np.empty(n * shape.width, np.uint8)
    target = address(positions), address(out), address(valid)
    match shape.form:
        case Form.INTEGER:
            malformed = key_reading.read_integers(*source, shape.width, null_tag, flip, *target)
        case Form.FLOAT:
            malformed = key_reading.read_floats(*source, shape.width, null_tag, flip, *target)
        case Form.DECIMAL:
            malformed = key_reading.read_decimals(*source, null_tag, flip, *target)
        case Form.INTERVAL:
            malformed = key_reading.read_intervals(*source, null_tag, flip, *target)
    _refuse(malformed, arrow_type)
    return fixed_array(arrow_type, out, valid)


def _read_binaries(
    encoded: ColumnBuffers, arrow_type: pa.DataType, null_tag: int, flip: int, positions: Integers
) -> pa.Array:
    n = encoded.length
    valid: Bytes = np.empty(n, np.uint8)
    lengths: Integers = np.empty(n, np.int64)
    malformed = key_reading.measure_binaries(
        encoded.data, encoded.offsets + 4, n, null_tag, flip, address(positions), address(lengths), address(valid)
    )
    _refuse(malformed, arrow_type)
    output = BinaryOutput(arrow_type, lengths)
    key_reading.read_binaries(encoded.data, n, flip, output.offsets, address(valid), address(positions), output.data)
    return output.finish(valid)


def _refuse(malformed: int, arrow_type: pa.DataType) -> None:
    if malformed:
        raise CorruptData(f"{malformed} stored keys have no valid column of type {arrow_type}")
