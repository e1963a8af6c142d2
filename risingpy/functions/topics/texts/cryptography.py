"""Keyed digests, AES encryption and checksums, as RisingWave has them.

`encrypt(data, key, 'aes[-cbc|-ecb][/pad:pkcs|none]')` begins a chain of blocks from zeros, as pgcrypto's does.
"""

from __future__ import annotations

import hmac
import re
import zlib

import numpy as np
import pyarrow as pa

from risingpy.errors import InvalidParameterValue
from risingpy.functions.topics.calling import Compute, Function, by_row, fail_where, per_constant
from risingpy.functions.topics.texts import cipher_kernels as kernels
from risingpy.functions.topics.texts.byte_strings import Integers, bounds, gathered
from risingpy.functions.topics.texts.cipher_kernels import BLOCK

_KEY_SIZES = (16, 24, 32)
_CIPHER = re.compile(r"aes(?:-(cbc|ecb))?(?:/pad:(pkcs|none))?")
_HMAC_DIGESTS = ("sha1", "sha256")
_INVALID = "22023"


def _hmac(secret: str, digest: str) -> Compute:
    if digest not in _HMAC_DIGESTS:
        raise InvalidParameterValue(f"invalid sha type: {digest}")
    return by_row(lambda data: hmac.digest(secret.encode(), data, digest), pa.binary())


def _cipher(key: bytes, name: str) -> tuple[bool, bool]:
    """Whether blocks are chained, and whether the last one is filled up."""
    found = _CIPHER.fullmatch(name)
    if found is None:
        raise InvalidParameterValue(f"invalid mode: {name}")
    if len(key) not in _KEY_SIZES:
        raise InvalidParameterValue(f"invalid key length: {len(key)}")
    return found[1] != "ecb", found[2] != "none"


def _encrypt(key: bytes, name: str) -> Compute:
    chained, padded = _cipher(key, name)
    keys = kernels.round_keys(key)

    def encrypted(column: pa.Array) -> pa.Array:
        starts, lengths, data = bounds(column)
        sizes = lengths
        if padded:
            sizes = lengths - lengths % BLOCK + BLOCK
        fail_where(sizes % BLOCK != 0, _INVALID, "encrypt error: data is no multiple of the block size")
        offsets = _offsets(sizes)
        blocks = np.repeat((sizes - lengths).astype(np.uint8), sizes)  # the filling says how long it is
        index = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        blocks[np.repeat(offsets[:-1], lengths) + index] = data[np.repeat(starts, lengths) + index]
        kernels.encrypt_blocks(blocks, offsets, keys, kernels.SUBSTITUTES, chained)
        return gathered(blocks, offsets[:-1], sizes)

    return encrypted


def _decrypt(key: bytes, name: str) -> Compute:
    chained, padded = _cipher(key, name)
    keys = kernels.round_keys(key)
    message = "decrypt error: data is no multiple of the block size"

    def decrypted(column: pa.Array) -> pa.Array:
        starts, sizes, data = bounds(column)
        fail_where(sizes % BLOCK != 0, _INVALID, message)
        if padded:
            fail_where(sizes == 0, _INVALID, message)
        offsets = _offsets(sizes)
        index = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)
        blocks = np.ascontiguousarray(data[index])
        kernels.decrypt_blocks(blocks, offsets, keys, kernels.ORIGINALS, chained)
        lengths = sizes - _filling(blocks, offsets) if padded else sizes
        return gathered(blocks, offsets[:-1], lengths)

    return decrypted


def _filling(blocks: np.ndarray, offsets: Integers) -> Integers:
    """How many bytes at the end of each value only fill it up; each of them says so."""
    counts = blocks[offsets[1:] - 1].astype(np.int64)
    wrong = (counts < 1) | (counts > BLOCK)
    for back in range(2, BLOCK + 1):
        wrong |= (back <= counts) & (blocks[offsets[1:] - back] != counts)
    fail_where(wrong, _INVALID, "decrypt error: wrong key or corrupt data")
    return counts


def _offsets(sizes: Integers) -> Integers:
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    return offsets


def _crc32c(column: pa.Array) -> pa.Array:
    starts, lengths, data = bounds(column.cast(pa.binary()))
    out = np.empty(len(starts), np.int64)
    kernels.crc32c(data, starts, lengths, kernels.CRC32C, out)
    return pa.array(out)


def _crc32(column: pa.Array) -> pa.Array:
    return by_row(zlib.crc32, pa.int64())(column.cast(pa.binary()))


def _same(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that does not tell where they differ."""
    return hmac.compare_digest(one.encode(), other.encode())


_keyed = per_constant(_hmac, [0, 1])

CRYPTOGRAPHY: dict[str, Function] = {
    "hmac": Function(lambda secret, data, digest: _keyed(secret, digest, data)),
    "encrypt": Function(per_constant(_encrypt, [1, 2])),
    "decrypt": Function(per_constant(_decrypt, [1, 2])),
    "secure_compare": Function(by_row(_same, pa.bool_())),
    "crc32": Function(_crc32),
    "crc32c": Function(_crc32c),
}
