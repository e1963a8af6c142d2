"""jsonb: searches values, by kernels over their texts (`storage/kernels/json.py`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue
from risingpy.functions.topics.calling import Compute, Function, fail_where
from risingpy.storage.codec.column_buffers import ColumnBuffers, address, buffers_of
from risingpy.storage.codec.json_columns import json_key_column
from risingpy.storage.codec.plain_columns import gather
from risingpy.storage.kernels import json as kernels
from risingpy.storage.kernels import json_containment
from risingpy.types.jsonb import quote

Integers = npt.NDArray[np.int64]

_OPENING = {"array": ord("["), "object": ord("{")}
_KINDS = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}
_KIND_OF_BYTE = np.full(256, list(_KINDS.values()).index("null") + 1, np.int8)
_KIND_NAMES = pa.array([*_KINDS.values(), "number"])
for _index, _first in enumerate(_KINDS):
    _KIND_OF_BYTE[ord(_first)] = _index


@dataclass(slots=True)
class Parts:
    """A value per row, as a part of the row's text. A start of -1 is no value."""

    text: ColumnBuffers
    starts: Integers
    lengths: Integers

    @property
    def rows(self) -> int:
        return len(self.starts)

    def json(self) -> pa.Array:
        """The values as jsonb."""
        return gather(self.text, pa.string(), self.starts, np.where(self.starts < 0, 0, self.lengths))

    def plain(self) -> pa.Array:
        """The values as texts: strings without their quotes, NULL for JSON's null."""
        first = self.first_bytes()
        starts = np.where(first == ord("n"), -1, self.starts)
        lengths = np.where(starts < 0, 0, self.lengths)
        out = np.empty(max(int(lengths.sum()), 1), np.uint8)
        sizes = np.empty(self.rows, np.int64)
        kernels.unescape(self.text.data, self.rows, address(starts), address(lengths), address(out), address(sizes))
        offsets = np.zeros(self.rows + 1, np.int32)
        np.cumsum(sizes, out=offsets[1:])
        valid = pa.py_buffer(np.packbits(starts >= 0, bitorder="little"))
        return pa.StringArray.from_buffers(self.rows, pa.py_buffer(offsets), pa.py_buffer(out), valid)

    def first_bytes(self) -> npt.NDArray[np.uint8]:
        """Each value's first byte, which tells its kind; 0 for no value."""
        if not self.rows:
            return np.empty(0, np.uint8)
        data = np.frombuffer(self.text.owner.buffers()[2], np.uint8)
        return np.where(self.starts < 0, 0, data[np.maximum(self.starts, 0)])


def parts_of(values: pa.Array) -> Parts:
    """Each row's whole value."""
    text = buffers_of(values)
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    starts = offsets[:-1].astype(np.int64)
    if values.null_count:
        starts[values.is_null().to_numpy(zero_copy_only=False)] = -1
    return Parts(text, starts, np.diff(offsets).astype(np.int64))


def quoted(texts: pa.Array) -> pa.Array:
    """Texts as JSON strings."""
    special = pc.match_substring_regex(texts, r'["\\\x00-\x1f]')
    shown = pc.binary_join_element_wise('"', texts, '"', "")
    if not pc.any(special).as_py():
        return shown
    escaped = pa.array([quote(text) for text in texts.filter(special).to_pylist()], pa.string())
    return pc.replace_with_mask(shown, special, escaped)


def field(parts: Parts, keys: pa.Array) -> None:
    """Moves each row's part to the value of its key."""
    names = buffers_of(quoted(keys))
    kernels.object_fields(
        parts.text.data, parts.rows, names.data, names.offsets, address(parts.starts), address(parts.lengths)
    )


def element(parts: Parts, indices: pa.Array) -> None:
    """Moves each row's part to the element at its index."""
    numbers = np.ascontiguousarray(indices.to_numpy(zero_copy_only=False), np.int64)
    # To PostgreSQL a scalar is an array of one element here.
    stays = ~np.isin(parts.first_bytes(), (0, ord("["), ord("{"))) & np.isin(numbers, (0, -1))
    starts, lengths = parts.starts[stays], parts.lengths[stays]
    kernels.array_elements(parts.text.data, parts.rows, address(numbers), address(parts.starts), address(parts.lengths))
    parts.starts[stays], parts.lengths[stays] = starts, lengths


def follow(parts: Parts, paths: pa.Array) -> None:
    """Moves each row's part along its path, an array of texts; a NULL in it leads nowhere."""
    lengths = pc.list_value_length(paths).to_numpy(zero_copy_only=False)
    for step in range(int(lengths.max(initial=0))):
        taken = lengths > step
        index = pa.array(np.where(taken, paths.offsets.to_numpy()[:-1] + step, 0), mask=~taken)
        texts = paths.values.take(index)
        nowhere = taken & texts.is_null().to_numpy(zero_copy_only=False)
        texts = pc.fill_null(texts, "")
        keys, plain = buffers_of(quoted(texts)), buffers_of(texts)
        steps = np.ascontiguousarray(taken, np.uint8)
        kernels.path_steps(
            parts.text.data, parts.rows, keys.data, keys.offsets, plain.data, plain.offsets,
            address(steps), address(parts.starts), address(parts.lengths),
        )  # fmt: skip
        parts.starts[nowhere] = -1


def _looking(go: Callable[[Parts, pa.Array], None], *, as_text: bool) -> Function:
    def compute(values: pa.Array, where: pa.Array) -> pa.Array:
        parts = parts_of(values)
        go(parts, where)
        return parts.plain() if as_text else parts.json()

    return Function(compute)


def _along(*, as_text: bool) -> Compute:
    """jsonb_extract_path: the path comes as separate arguments."""

    def compute(values: pa.Array, *steps: pa.Array) -> pa.Array:
        by_row = np.arange(len(values) * len(steps)).reshape(len(steps), -1).T
        flat = pa.concat_arrays(steps).take(pa.array(np.ascontiguousarray(by_row).reshape(-1)))
        offsets = pa.array(np.arange(len(values) + 1, dtype=np.int32) * len(steps))
        parts = parts_of(values)
        follow(parts, pa.ListArray.from_arrays(offsets, flat))
        return parts.plain() if as_text else parts.json()

    return compute


def _typeof(values: pa.Array) -> pa.Array:
    return _KIND_NAMES.take(pa.array(_KIND_OF_BYTE[parts_of(values).first_bytes()]))


def counts_of(parts: Parts, kind: str) -> tuple[Integers, int]:
    """How many parts each array or object has, and how many values are of another kind."""
    counts = np.empty(parts.rows, np.int64)
    others = kernels.count_rows(parts.text.data, parts.rows, address(parts.starts), _OPENING[kind], address(counts))
    return counts, others


def _array_length(values: pa.Array) -> pa.Array:
    parts = parts_of(values)
    first = parts.first_bytes()
    counts, others = counts_of(parts, "array")
    if others:
        fail_where(first == ord("{"), InvalidParameterValue, "cannot get array length of a non-array")
        fail_where(np.ones(1, np.bool_), InvalidParameterValue, "cannot get array length of a scalar")
    return pa.array(counts, pa.int32())


def _exists(values: pa.Array, keys: pa.Array) -> pa.Array:
    parts = parts_of(values)
    names = buffers_of(quoted(keys))
    ends = parts.starts + parts.lengths
    found = np.empty(parts.rows, np.uint8)
    kernels.has_strings(
        parts.text.data, parts.rows, address(parts.starts), address(ends), names.data, names.offsets, address(found)
    )
    return pa.array(found.astype(np.bool_))


def _exists_some(combine: Callable[..., pa.Array], start: bool) -> Compute:
    def compute(values: pa.Array, lists: pa.Array) -> pa.Array:
        lengths = pc.list_value_length(lists).to_numpy(zero_copy_only=False)
        rows = np.repeat(np.arange(len(lists)), lengths)
        keys = lists.flatten()
        known = keys.is_valid().to_numpy(zero_copy_only=False)
        if not known.any():
            return pa.array(np.full(len(lists), start))
        found = _exists(values.take(pa.array(rows[known])), keys.filter(pa.array(known))).to_numpy(zero_copy_only=False)
        hits = np.bincount(rows[known], found, len(lists))
        return pa.array(combine(hits, np.bincount(rows[known], minlength=len(lists))))

    return compute


def _contains(left: pa.Array, right: pa.Array) -> pa.Array:
    a, b = buffers_of(left), buffers_of(right)
    found = np.empty(len(left), np.uint8)
    json_containment.contains_rows(a.data, a.offsets, b.data, b.offsets, len(left), address(found))
    return pa.array(found.astype(np.bool_))


def _equal(left: pa.Array, right: pa.Array) -> pa.Array:
    """Texts are canonical but for zeros at the end of decimals."""
    a, b = buffers_of(left), buffers_of(right)
    found = np.empty(len(left), np.uint8)
    json_containment.equal_rows(a.data, a.offsets, b.data, b.offsets, len(left), address(found))
    return pa.array(found.astype(np.bool_))


def _listed(kind: str, of: str, shape: Callable[[Parts], pa.Array], message: str) -> Function:
    """The elements of arrays, or the keys or values of objects, as lists; `message` is about what has none."""

    def compute(values: pa.Array) -> pa.Array:
        parts = parts_of(values)
        counts, others = counts_of(parts, kind)
        if others:
            first = parts.first_bytes()
            other = "object" if kind == "array" else "array"
            container = first == _OPENING[other]
            fail_where(container, InvalidParameterValue, message.format("an " + other))
            fail_where(np.ones(1, np.bool_), InvalidParameterValue, message.format("a scalar"))
        keys, key_lengths, items, sizes = np.empty((4, int(counts.sum())), np.int64)
        kernels.list_parts(
            parts.text.data, parts.rows, address(parts.starts), address(counts),
            address(keys), address(key_lengths), address(items), address(sizes),
        )  # fmt: skip
        chosen = Parts(parts.text, keys, key_lengths) if of == "keys" else Parts(parts.text, items, sizes)
        offsets = np.zeros(parts.rows + 1, np.int32)
        np.cumsum(counts, out=offsets[1:])
        return pa.ListArray.from_arrays(pa.array(offsets), shape(chosen))

    return Function(compute)


_NO_ELEMENTS, _NO_KEYS = "cannot extract elements from {}", "cannot call jsonb_object_keys on {}"
_EACH, _EACH_TEXT = "cannot call jsonb_each on a non-object", "cannot call jsonb_each_text on a non-object"

JSONB: dict[str, Function] = {
    "jsonb_object_field": _looking(field, as_text=False),
    "jsonb_object_field_text": _looking(field, as_text=True),
    "jsonb_array_element": _looking(element, as_text=False),
    "jsonb_array_element_text": _looking(element, as_text=True),
    "jsonb_at_path": _looking(follow, as_text=False),
    "jsonb_at_path_text": _looking(follow, as_text=True),
    "jsonb_extract_path": Function(_along(as_text=False)),
    "jsonb_extract_path_text": Function(_along(as_text=True)),
    "jsonb_typeof": Function(_typeof),
    "jsonb_array_length": Function(_array_length),
    "jsonb_exists": Function(_exists),
    "jsonb_exists_any": Function(_exists_some(lambda hits, known: hits > 0, start=False)),
    "jsonb_exists_all": Function(_exists_some(lambda hits, known: hits >= known, start=True)),
    "jsonb_contains": Function(_contains),
    "jsonb_contained": Function(lambda left, right: _contains(right, left)),
    "jsonb_equal": Function(_equal),
    "jsonb_key": Function(json_key_column),
    "jsonb_quote": Function(quoted),
    "jsonb_array_elements": _listed("array", "values", Parts.json, _NO_ELEMENTS),
    "jsonb_array_elements_text": _listed("array", "values", Parts.plain, _NO_ELEMENTS),
    "jsonb_object_keys": _listed("object", "keys", Parts.plain, _NO_KEYS),
    "jsonb_each_keys": _listed("object", "keys", Parts.plain, _EACH),
    "jsonb_each_values": _listed("object", "values", Parts.json, _EACH),
    "jsonb_each_text_keys": _listed("object", "keys", Parts.plain, _EACH_TEXT),
    "jsonb_each_text_values": _listed("object", "values", Parts.plain, _EACH_TEXT),
}
