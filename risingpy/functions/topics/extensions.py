"""Functions of PostgreSQL's extensions uuid-ossp and pgcrypto, which are always there.

What these extensions have besides is refused by name (`binder/functions/calls.py`).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from uuid import NAMESPACE_DNS, NAMESPACE_OID, NAMESPACE_URL, NAMESPACE_X500, UUID, uuid3, uuid5

import pyarrow as pa

from risingpy.errors import InvalidParameterValue, SqlError
from risingpy.functions.topics.calling import Compute, Function, by_row, per_constant
from risingpy.types import UUID as UUID_TYPE

_ALGORITHMS = frozenset({"md5", "sha1", "sha224", "sha256", "sha384", "sha512"})
_MOST_BYTES = 1024

UUID_CONSTANTS = {
    "uuid_nil": UUID(int=0),
    "uuid_ns_dns": NAMESPACE_DNS,
    "uuid_ns_url": NAMESPACE_URL,
    "uuid_ns_oid": NAMESPACE_OID,
    "uuid_ns_x500": NAMESPACE_X500,
}


def _digest(name: str) -> Compute:
    algorithm = name.lower()
    if algorithm not in _ALGORITHMS:
        raise InvalidParameterValue(f'Cannot use "{name}": No such hash algorithm')

    def one(data: str | bytes) -> bytes:
        encoded = data.encode() if isinstance(data, str) else data
        return hashlib.new(algorithm, encoded, usedforsecurity=False).digest()

    return by_row(one, pa.binary())


def _named(make: Callable[[UUID, str], UUID]) -> Function:
    """A uuid of a namespace and a name."""
    return Function(by_row(lambda space, name: make(UUID(bytes=space), name).bytes, UUID_TYPE.arrow))


def _random_bytes(lengths: pa.Array, _random: pa.Array) -> pa.Array:
    """Other bytes for each row. Raises 39000 for a length that pgcrypto does not give."""
    counts = lengths.to_pylist()
    if any(not 1 <= count <= _MOST_BYTES for count in counts):
        raise SqlError("Length not in range", sqlstate="39000")
    return pa.array([os.urandom(count) for count in counts], pa.binary())


EXTENSIONS: dict[str, Function] = {
    "digest": Function(per_constant(_digest, [1])),
    "gen_random_bytes": Function(_random_bytes),
    "uuid_generate_v3": _named(uuid3),
    "uuid_generate_v5": _named(uuid5),
}
