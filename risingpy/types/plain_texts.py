"""Columns of texts that Arrow reads as they are: one look at all bytes shows it, in place of a pattern for each text.

Arrow takes texts that PostgreSQL refuses, such as `0x1F`, and refuses others that PostgreSQL takes. So a type says of
which characters its ordinary texts are, such that Arrow means the same by all that are made of them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def content_of(texts: pa.StringArray) -> bytes:
    """The bytes of all texts, one after the other."""
    _, offsets, content = texts.buffers()
    if not len(texts) or content is None:
        return b""
    ends = np.frombuffer(offsets, np.int32)
    begin, end = int(ends[texts.offset]), int(ends[texts.offset + len(texts)])
    found: bytes = content.slice(begin, end - begin).to_pybytes()
    return found


def read_as_they_are(texts: pa.Array, type_: pa.DataType, characters: bytes, *, shortest: int = 0) -> pa.Array | None:
    """The values of the texts; NULLs stay. None if a text has another character, fewer than `shortest` or no value."""
    if texts.type != pa.string() or content_of(texts).translate(None, characters):
        return None
    if shortest and (pc.min(pc.binary_length(texts)).as_py() or 0) < shortest:
        return None
    try:
        return pc.cast(texts, type_)
    except pa.ArrowInvalid:
        return None
