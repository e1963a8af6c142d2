"""Rows as bytes: what the random values of a view are digests of."""

from __future__ import annotations

import pyarrow as pa

from risingpy.functions.topics.calling import Function
from risingpy.storage.codec.column_buffers import whole
from risingpy.storage.codec.key_encoding import ascending_keys


def _ascending_keys(*columns: pa.Array) -> pa.Array:
    """The bytes are of the format on disk, so they stay the same from version to version."""
    return ascending_keys([whole(column) for column in columns], len(columns[0]))


ROW_KEYS: dict[str, Function] = {"ascending_keys": Function(_ascending_keys, takes_nulls=True)}
