"""Functions whose results may be far larger than their arguments. They check the memory before they make a result.

DuckDB makes the results of 2,048 rows at once, does not count their memory, and checks nothing meanwhile. So the SQL of
such a function calls these if a result may be large, and DuckDB's own function if it is certainly small.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.functions.topics.calling import Compute, Function
from risingpy.statement_limits import current_limits

_SLICE = 1 << 20  # characters, which Arrow splits in some tens of milliseconds
_BYTES_OF_PART = 40  # what Arrow and DuckDB take for a short text


def _repeat(texts: pa.Array, times: pa.Array) -> pa.Array:
    counts = pc.max_element_wise(times.cast(pa.int64()), 0)
    size = pc.sum(pc.multiply(pc.binary_length(texts).cast(pa.int64()), counts)).as_py()
    current_limits().check(size, "repeat()")
    return pc.binary_repeat(texts.cast(pa.large_string()), counts).cast(pa.string())


def _padded(pad: Callable[[str, str], str]) -> Compute:
    """Rows with lengths that are worth a loop: thousands of characters each."""

    def computed(texts: pa.Array, lengths: pa.Array, fills: pa.Array) -> pa.Array:
        limits, made, size = current_limits(), [], 0
        for text, length, fill in zip(texts.to_pylist(), lengths.to_pylist(), fills.to_pylist(), strict=True):
            size += length
            limits.check(size, "padding")
            limits.look()
            missing = length - len(text)
            made.append(text[:length] if missing <= 0 else pad(text, (fill * (missing // len(fill) + 1))[:missing]))
        return pa.array(made, pa.string())

    return computed


def _replace(texts: pa.Array, old: pa.Array, new: pa.Array) -> pa.Array:
    """Rows of long texts."""
    limits, made, size = current_limits(), [], 0
    for text, before, after in zip(texts.to_pylist(), old.to_pylist(), new.to_pylist(), strict=True):
        size += len(text) + (text.count(before) * (len(after) - len(before)) if before else 0)
        limits.check(size, "replace()")
        limits.look()
        made.append(text.replace(before, after) if before else text)
    return pa.array(made, pa.string())


def _split(texts: pa.Array, separators: pa.Array) -> pa.Array:
    """The parts of rows of long texts between separators, none of which is empty; slice by slice."""
    limits, ends, pieces = current_limits(), [0], [pa.nulls(0, pa.string())]
    for text, separator in zip(texts.to_pylist(), separators.to_pylist(), strict=True):
        parts = text.count(separator) + 1
        limits.check((ends[-1] + parts) * _BYTES_OF_PART, "string_to_array()")
        ends.append(ends[-1] + parts)
        begin = 0
        while begin >= 0:
            limits.look()
            end = text.find(separator, begin + _SLICE)
            part = text[begin:] if end < 0 else text[begin:end]
            pieces.append(pc.split_pattern(pa.array([part], pa.string()), separator).values)
            begin = end if end < 0 else end + len(separator)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.concat_arrays(pieces))


def _fits(sizes: pa.Array) -> pa.Array:
    """True, or OutOfMemory: whether the values of these sizes, all together, can be made."""
    current_limits().check(pc.sum(sizes).as_py(), "the value")
    return pa.array([True] * len(sizes))


def _looked(values: pa.Array) -> pa.Array:
    """The same. Any call of a function of ours looks whether the statement was cancelled."""
    return values


LARGE_TEXTS: dict[str, Function] = {
    "large_repeat": Function(_repeat),
    "large_lpad": Function(_padded(lambda text, filling: filling + text)),
    "large_rpad": Function(_padded(lambda text, filling: text + filling)),
    "large_replace": Function(_replace),
    "large_split": Function(_split),
    "fits": Function(_fits),
    "looked": Function(_looked, takes_nulls=True),
}
