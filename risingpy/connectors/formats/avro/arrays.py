"""What the kernel has written, as Arrow arrays of the SQL types of the schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.avro.kernel import REASONS, gather, run
from risingpy.connectors.formats.avro.program import Program, Slot
from risingpy.connectors.formats.avro.schema import sql_type
from risingpy.connectors.formats.big_endian import DIGITS, as_decimals
from risingpy.connectors.formats.columns import Positions, Reasons
from risingpy.connectors.formats.map_keys import refuse_repeated
from risingpy.types import TIMESTAMP_NS, SqlType, array_of, map_of, numeric, struct_of
from risingpy.types.clocks.nano_moments import FIRST_NANOS, LAST_NANOS, NANOS

Words = npt.NDArray[np.int64]

_UNITS = {"millis": 1_000, "micros": 1}  # in microseconds
_LOCAL_NANOS = "local-timestamp-nanos"  # the other moments of nanoseconds are timestamptz, of microseconds
_DAY = 86_400 * 10**6
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896  # of the years 1 to 9999, since 1970


@dataclass(frozen=True, slots=True)
class AvroValues:
    """A column as its schema has it: of `type`, which is not always that of the source's column.

    `array` may be of a narrower numeric than its type says: see `sql` there.
    """

    type: SqlType
    array: pa.Array


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A program's run over messages: words by slot, of those messages that are good."""

    data: npt.NDArray[np.uint8]
    first: Words
    second: Words
    base: Words
    counts: Words
    status: npt.NDArray[np.uint8]

    def words(self, slot: Slot) -> tuple[Words, Words]:
        """The two words of each value of a slot."""
        begin = self.base[slot.number]
        end = begin + self.counts[slot.number]
        return self.first[begin:end], self.second[begin:end]


def run_program(program: Program, data: npt.NDArray[np.uint8], starts: Words, ends: Words) -> ProgramRun:
    """Runs a program over the messages `data[starts:ends]`."""
    count = program.slot_count
    counts, status = np.zeros(count, np.int64), np.zeros(len(starts), np.uint8)
    base, none = np.arange(count, dtype=np.int64) * len(starts), np.empty(0, np.int64)
    room = len(starts) * count
    messages = (data, starts, ends, program.code, program.jumps)
    if program.has_lists:  # how many values there are is known when all messages have been read
        run()(*messages, (base, none, none, counts), status, False)
        base = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        room = int(counts.sum())
        counts = np.zeros(count, np.int64)
    first, second = np.empty(room, np.int64), np.empty(room, np.int64)
    run()(*messages, (base, first, second, counts), status, True)
    return ProgramRun(data, first, second, base, counts, status)


def add_reasons(found: ProgramRun, messages: Positions, reasons: Reasons) -> None:
    """Says why messages are bad."""
    for row in np.flatnonzero(found.status):
        reasons.add(int(messages[row]), REASONS[int(found.status[row])])


class ArrayBuilder:
    """Makes arrays of a run. `owners` are the positions of the messages that a slot's values are from."""

    def __init__(self, found: ProgramRun, reasons: Reasons) -> None:
        self._run = found
        self._reasons = reasons

    def values(self, slot: Slot, owners: Positions) -> AvroValues:
        """A slot's values, NULL where they are."""
        if slot.type.kind == "union":
            return self._union(slot, owners)
        if slot.type.kind == "record":
            parts = [self.values(child, owners) for child in slot.children]
            names = [field.name for field in slot.type.fields]
            type_ = struct_of(names, [part.type for part in parts])
            return AvroValues(type_, _struct(type_, [part.array for part in parts], len(owners)))
        if slot.type.kind in ("array", "map"):
            return self._list(slot, owners)
        first, second = self._run.words(slot)
        null = second < 0 if slot.nullable else None
        if slot.type.logical == "decimal":
            return self._decimals(slot, first, second, null, owners)
        type_ = TIMESTAMP_NS if slot.type.logical == _LOCAL_NANOS else sql_type(slot.type)
        if slot.type.logical:
            return AvroValues(type_, self._logical(slot, type_, first, second, null, owners))
        return AvroValues(type_, self._plain(slot, type_, first, second, null, owners))

    def _bad(self, name: str, wrong: npt.NDArray[np.bool_], owners: Positions) -> None:
        for row in np.flatnonzero(wrong):
            self._reasons.add(int(owners[row]), f"a {name} is out of range")

    def _union(self, slot: Slot, owners: Positions) -> AvroValues:
        branches, _ = self._run.words(slot)
        parts: list[AvroValues] = []
        kept = [k for k, item in enumerate(slot.type.items) if item.kind != "null"]
        children = iter(slot.children)
        for k in range(len(slot.type.items)):
            chosen = branches == k
            part = self.values(next(children), owners[chosen])
            if k in kept:
                places = pa.array(np.cumsum(chosen) - 1, mask=~chosen)
                parts.append(AvroValues(part.type, part.array.take(places)))
        if len(parts) == 1:
            return parts[0]
        type_ = sql_type(slot.type)
        if not parts:
            return AvroValues(type_, pa.nulls(len(owners), type_.arrow))
        type_ = struct_of(type_.names, [part.type for part in parts])
        null = ~np.isin(branches, kept)
        return AvroValues(type_, _struct(type_, [part.array for part in parts], len(owners), null))

    def _list(self, slot: Slot, owners: Positions) -> AvroValues:
        lengths, _ = self._run.words(slot)
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        of_items = np.repeat(owners, lengths)
        parts = [self.values(child, of_items) for child in slot.children]
        if slot.type.kind == "array":
            (items,) = parts
            return AvroValues(array_of(items.type), pa.ListArray.from_arrays(offsets, items.array))
        keys, items = parts
        texts = pc.fill_null(keys.array, "")  # NULL is a key that is no text: its message is bad
        refuse_repeated(texts, lengths, of_items, self._reasons)
        type_ = map_of(keys.type, items.type)
        return AvroValues(type_, pa.MapArray.from_arrays(offsets, texts, items.array).cast(type_.arrow))

    def _plain(
        self,
        slot: Slot,
        type_: SqlType,
        first: Words,
        second: Words,
        null: npt.NDArray[np.bool_] | None,
        owners: Positions,
    ) -> pa.Array:
        match slot.type.kind:
            case "null":
                return pa.nulls(len(first), type_.arrow)
            case "boolean":
                return pa.array(first != 0, mask=null)
            case "int":
                return pa.array(first.astype(np.int32), mask=null)
            case "long":
                return pa.array(first, mask=null)
            case "float":
                return pa.array(first.astype(np.int32).view(np.float32), mask=null, from_pandas=False)
            case "double":
                return pa.array(first.view(np.float64), mask=null, from_pandas=False)
            case "enum":
                symbols = pa.array(slot.type.symbols, pa.string())
                return symbols.take(pa.array(first, mask=null))
            case "string":
                return self._texts(first, second, null, owners)
        return self._bytes(first, second, null)

    def _bytes(self, first: Words, second: Words, null: npt.NDArray[np.bool_] | None) -> pa.Array:
        lengths = second if null is None else np.maximum(second, 0)
        ends = np.concatenate([[0], np.cumsum(lengths)])
        copied = np.empty(int(ends[-1]), np.uint8)
        gather()(self._run.data, first, ends, copied)
        valid = None if null is None else pa.array(~null).buffers()[1]
        buffers = [valid, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(copied)]
        return pa.Array.from_buffers(pa.binary(), len(first), buffers)

    def _texts(self, first: Words, second: Words, null: npt.NDArray[np.bool_] | None, owners: Positions) -> pa.Array:
        values = self._bytes(first, second, null)
        texts = pa.Array.from_buffers(pa.string(), len(values), values.buffers())
        try:
            texts.validate(full=True)
        except pa.ArrowInvalid:
            texts = pa.array(
                [self._utf8(value, owner) for value, owner in zip(values.to_pylist(), owners, strict=True)]
            )
        return texts.cast(pa.string())

    def _utf8(self, value: bytes | None, owner: int) -> str | None:
        try:
            return None if value is None else value.decode()
        except UnicodeDecodeError as error:
            self._reasons.add(int(owner), f"invalid byte sequence for encoding UTF8: byte {error.start} of a string")
            return None

    def _decimals(
        self, slot: Slot, first: Words, second: Words, null: npt.NDArray[np.bool_] | None, owners: Positions
    ) -> AvroValues:
        array, too_large = as_decimals(self._bytes(first, second, null), slot.type.scale)
        self._bad("decimal", too_large, owners)
        return AvroValues(numeric(DIGITS, slot.type.scale), array)

    def _logical(
        self,
        slot: Slot,
        type_: SqlType,
        first: Words,
        second: Words,
        null: npt.NDArray[np.bool_] | None,
        owners: Positions,
    ) -> pa.Array:
        """AvroValues of a logical type but decimal."""
        family, _, unit = slot.type.logical.rpartition("-")
        match family or unit:
            case "uuid":
                if slot.type.kind == "string":
                    return self._texts(first, second, null, owners)
                return _uuid_texts(self._bytes(first, second, null))
            case "duration":
                return self._durations(first, null)
            case "date":
                wrong = (first < _FIRST_DAY) | (first > _LAST_DAY)
                found = pa.array(np.where(wrong, 0, first).astype(np.int32), mask=null).cast(pa.date32())
            case "time":
                counts = first * _UNITS[unit] if unit == "millis" else first
                wrong = (first < 0) | (first >= _DAY) | (counts >= _DAY)
                found = pa.array(np.where(wrong, 0, counts), mask=null).cast(pa.time64("us"))
            case "local-timestamp" if unit == "nanos":
                wrong = (first < FIRST_NANOS) | (first > LAST_NANOS)
                found = pa.array(np.where(wrong, 0, first), mask=null).cast(NANOS)
            case _:
                scale = _UNITS.get(unit, 1)
                counts = first // 1_000 if unit == "nanos" else first
                wrong = (counts < _FIRST_DAY * _DAY // scale) | (counts >= (_LAST_DAY + 1) * _DAY // scale)
                counts = np.where(wrong, 0, counts) * scale
                found = pa.array(counts, mask=null).cast(pa.timestamp("us")).cast(type_.arrow)
        self._bad(slot.type.logical, wrong if null is None else wrong & ~null, owners)
        return found

    def _durations(self, first: Words, null: npt.NDArray[np.bool_] | None) -> pa.Array:
        """Months, days and milliseconds, as three unsigned numbers of four bytes, little-endian."""
        places = first if null is None else np.where(null, 0, first)
        words = np.zeros((len(first), 16), np.uint8)
        if len(first) and len(self._run.data) >= 12:
            taken = self._run.data[np.minimum(places[:, None] + np.arange(12), len(self._run.data) - 1)]
            words[:, :8] = taken[:, :8]
            millis = np.ascontiguousarray(taken[:, 8:]).view("<u4").ravel().astype(np.int64)
            words[:, 8:] = (millis * 10**6).view(np.uint8).reshape(-1, 8)
        valid = None if null is None else pa.array(~null).buffers()[1]
        return pa.Array.from_buffers(pa.month_day_nano_interval(), len(first), [valid, pa.py_buffer(words)])


def _struct(
    type_: SqlType, parts: Sequence[pa.Array], length: int, null: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    if not type_.names:
        return pa.array([{}] * length, type_.arrow)
    mask = None if null is None else pa.array(null)
    return pa.StructArray.from_arrays(list(parts), fields=list(type_.arrow), mask=mask)


def _uuid_texts(values: pa.Array) -> pa.Array:
    """16 bytes each as the text of a uuid."""
    raw = np.frombuffer(values.buffers()[2] or b"", np.uint8)
    digits = np.stack([raw >> 4, raw & 15], axis=1).reshape(-1, 32)
    characters = np.frombuffer(b"0123456789abcdef", np.uint8)[digits]
    shown = np.insert(characters, (8, 12, 16, 20), ord("-"), axis=1)
    lengths = pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False)
    ends = np.concatenate([[0], np.cumsum(np.where(lengths > 0, 36, 0))]).astype(np.int32)
    buffers = [values.buffers()[0], pa.py_buffer(ends), pa.py_buffer(np.ascontiguousarray(shown))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)
