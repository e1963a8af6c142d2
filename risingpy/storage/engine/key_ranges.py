"""Ranges of a table's rows by the first column of their key, through all vnodes: what a watermark has passed.

A vnode's rows lie together in the order of their keys, so those below a value are a range in each vnode. Their values
are not read to delete them.
"""

from __future__ import annotations

import lmdb

from risingpy.storage.codec.key_encoding import prefix_end, table_prefix

VNODE_PREFIX_BYTES = 6  # of a key: the table's id and the vnode
_VALUE = b"\x01"  # the tag of a key column that is not NULL


def ranges_below(transaction: lmdb.Transaction, table_id: int, bound: bytes) -> list[tuple[bytes, bytes]]:
    """For each vnode that has rows, where those begin and end whose first key column, not NULL, is below `bound`.

    `bound` is the column's key bytes, tag included. Only ranges that hold something are given.
    """
    prefix = table_prefix(table_id)
    end = prefix_end(prefix)
    found = []
    at = prefix
    with transaction.cursor() as cursor:
        while cursor.set_range(at):
            key = bytes(cursor.key())
            if key >= end:
                break
            vnode = key[:VNODE_PREFIX_BYTES]
            start, stop = vnode + _VALUE, vnode + bound
            if key < start and cursor.set_range(start):
                key = bytes(cursor.key())
            if start <= key < stop:
                found.append((start, stop))
            at = prefix_end(vnode)
    return found


def keys_in(transaction: lmdb.Transaction, start: bytes, stop: bytes, limit: int) -> list[bytes]:
    """At most `limit` stored keys from `start` on, before `stop`."""
    keys: list[bytes] = []
    with transaction.cursor() as cursor:
        if cursor.set_range(start):
            for key in cursor.iternext(keys=True, values=False):
                if bytes(key) >= stop or len(keys) >= limit:
                    break
                keys.append(bytes(key))
    return keys
