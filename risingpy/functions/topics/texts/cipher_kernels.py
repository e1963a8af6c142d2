"""AES (FIPS 197) and CRC-32C (RFC 3720) over the bytes of many values, compiled.

Value i is `data[offsets[i] : offsets[i + 1]]`. Blocks have 16 bytes, the state's columns one after another, as the
standard numbers them; chained blocks (CBC) begin from zeros. Tables are arguments: a compiled function would copy them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import types

from risingpy.storage.kernels.compile import compiled

Bytes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

BLOCK = 16
_CASTAGNOLI = 0x82F63B78
_IN = types.Array(types.uint8, 1, "C", readonly=True)
_OFFSETS = types.Array(types.int64, 1, "C", readonly=True)
_OUT = types.Array(types.uint8, 1, "C")
_NUMBERS = types.Array(types.int64, 1, "C")


def _doubled(value: int) -> int:
    """Twice a byte in AES's field of 256 elements."""
    return (value << 1) ^ (0x11B if value & 0x80 else 0)


def _substitutions() -> tuple[Bytes, Bytes]:
    """AES's S-box and its inverse: the inverse in the field, then an affine map of the bits."""
    powers = [1]
    for _ in range(254):
        powers.append(powers[-1] ^ _doubled(powers[-1]))  # 3 generates the field
    logarithms = {power: k for k, power in enumerate(powers)}
    box, inverse = np.empty(256, np.uint8), np.empty(256, np.uint8)
    for value in range(256):
        inverted = powers[-logarithms[value] % 255] if value else 0
        turned = inverted
        for shift in range(1, 5):
            turned ^= (inverted << shift | inverted >> (8 - shift)) & 0xFF
        box[value] = turned ^ 0x63
        inverse[box[value]] = value
    return box, inverse


def _remainders() -> Integers:
    table = np.empty(256, np.int64)
    for value in range(256):
        crc = value
        for _ in range(8):
            crc = crc >> 1 ^ (_CASTAGNOLI if crc & 1 else 0)
        table[value] = crc
    return table


SUBSTITUTES, ORIGINALS = _substitutions()
CRC32C = _remainders()


def round_keys(key: bytes) -> Bytes:
    """The keys of all rounds, 16 bytes each, of a key of 16, 24 or 32 bytes."""
    words = [list(key[k : k + 4]) for k in range(0, len(key), 4)]
    count, constant = len(words), 1
    while len(words) < 4 * (count + 7):
        word = words[-1]
        if len(words) % count == 0:
            word = [int(SUBSTITUTES[b]) for b in (*word[1:], word[0])]
            word[0] ^= constant
            constant = _doubled(constant)
        elif count > 6 and len(words) % count == 4:
            word = [int(SUBSTITUTES[b]) for b in word]
        words.append([a ^ b for a, b in zip(word, words[-count], strict=True)])
    return np.array(words, np.uint8).reshape(-1)


@compiled(_OUT, _OFFSETS, _IN, _IN, types.boolean)
def encrypt_blocks(data: Bytes, offsets: Integers, keys: Bytes, box: Bytes, chained: bool) -> None:
    """Encrypts the values, whole blocks, in place."""
    rounds = len(keys) // BLOCK - 1
    state = np.empty(BLOCK, np.int64)
    moved = np.empty(BLOCK, np.int64)
    for i in range(len(offsets) - 1):
        for at in range(offsets[i], offsets[i + 1], BLOCK):
            for k in range(BLOCK):
                state[k] = data[at + k] ^ keys[k]
                if chained and at > offsets[i]:
                    state[k] ^= data[at + k - BLOCK]
            for turn in range(1, rounds + 1):
                for k in range(BLOCK):  # row r of the state moves r columns to the left
                    moved[k] = box[state[(k + 4 * (k % 4)) % BLOCK]]
                for k in range(BLOCK):
                    mixed = moved[k]
                    if turn < rounds:
                        first = k - k % 4
                        a, b = moved[k], moved[first + (k + 1) % 4]
                        mixed = moved[first] ^ moved[first + 1] ^ moved[first + 2] ^ moved[first + 3] ^ a
                        both = a ^ b
                        mixed ^= (both << 1) ^ (0x11B if both & 0x80 else 0)
                    state[k] = mixed ^ keys[BLOCK * turn + k]
            for k in range(BLOCK):
                data[at + k] = state[k]


@compiled(_OUT, _OFFSETS, _IN, _IN, types.boolean)
def decrypt_blocks(data: Bytes, offsets: Integers, keys: Bytes, inverse: Bytes, chained: bool) -> None:
    """Decrypts the values, whole blocks, in place: from the last on, which needs the one before as it came."""
    rounds = len(keys) // BLOCK - 1
    state = np.empty(BLOCK, np.int64)
    moved = np.empty(BLOCK, np.int64)
    times = np.empty((4, BLOCK), np.int64)  # 9, 11, 13 and 14 times each byte
    for i in range(len(offsets) - 1):
        for at in range(offsets[i + 1] - BLOCK, offsets[i] - 1, -BLOCK):
            for k in range(BLOCK):
                state[k] = data[at + k] ^ keys[BLOCK * rounds + k]
            for turn in range(rounds - 1, -1, -1):
                for k in range(BLOCK):
                    moved[k] = inverse[state[(k - 4 * (k % 4)) % BLOCK]] ^ keys[BLOCK * turn + k]
                if turn == 0:
                    state[:] = moved
                    continue
                for k in range(BLOCK):
                    one = moved[k]
                    two = (one << 1) ^ (0x11B if one & 0x80 else 0)
                    four = (two << 1) ^ (0x11B if two & 0x80 else 0)
                    eight = (four << 1) ^ (0x11B if four & 0x80 else 0)
                    times[0, k] = eight ^ one
                    times[1, k] = eight ^ two ^ one
                    times[2, k] = eight ^ four ^ one
                    times[3, k] = eight ^ four ^ two
                for k in range(BLOCK):
                    first = k - k % 4
                    one, two, three = first + (k + 1) % 4, first + (k + 2) % 4, first + (k + 3) % 4
                    state[k] = times[3, k] ^ times[1, one] ^ times[2, two] ^ times[0, three]
            for k in range(BLOCK):
                before = data[at + k - BLOCK] if chained and at > offsets[i] else 0
                data[at + k] = state[k] ^ before


@compiled(_IN, _OFFSETS, _OFFSETS, _OFFSETS, _NUMBERS)
def crc32c(data: Bytes, starts: Integers, lengths: Integers, table: Integers, out: Integers) -> None:
    """The checksum of each value."""
    for i in range(len(starts)):
        crc = 0xFFFFFFFF
        for k in range(starts[i], starts[i] + lengths[i]):
            crc = crc >> 8 ^ table[(crc ^ data[k]) & 0xFF]
        out[i] = crc ^ 0xFFFFFFFF
