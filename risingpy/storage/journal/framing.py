"""The form of an object with a head in JSON and bytes behind it: a record of the journal, a version.

    magic 8 bytes | crc u32 of all that follows | bytes of the head u32 | head | payloads …

Integers are little-endian.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable
from typing import Any

_START = struct.Struct("<8sII")
_CRC_FROM = 12  # after the magic and the crc


def framed(magic: bytes, head: object, payloads: Iterable[bytes]) -> bytes:
    """The bytes of an object."""
    text = json.dumps(head).encode()
    rest = b"".join([struct.pack("<I", len(text)), text, *payloads])
    return b"".join([magic, struct.pack("<I", zlib.crc32(rest)), rest])


def unframed(magic: bytes, data: bytes) -> tuple[Any, int]:
    """The head, and where the payloads begin. Raises ValueError or struct.error for other or damaged bytes."""
    found, crc, size = _START.unpack_from(data)
    if found != magic or crc != zlib.crc32(memoryview(data)[_CRC_FROM:]):
        raise ValueError("it is not what was written")
    payloads = _START.size + size
    return json.loads(data[_START.size : payloads]), payloads
