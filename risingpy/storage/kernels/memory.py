"""Loads, stores and copies at an address: the words that the kernels are written in.

An address and every value are int64 in Numba and `int` to the type checker. Loads of fewer than 8 bytes
widen to int64, stores keep the low bytes. Nothing here checks bounds. Addresses need no alignment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from risingpy.storage.kernels.compile import inlined

_WORD = ir.IntType(64)


def _load(bits: int, *, signed: bool) -> Any:
    @intrinsic
    def load(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            value = builder.load(builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()))
            value.align = 1
            if bits == 64:
                return value
            return builder.sext(value, _WORD) if signed else builder.zext(value, _WORD)

        return types.int64(types.int64), generate

    return load


def _store(bits: int) -> Any:
    @intrinsic
    def store(typing_context: Any, address: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number = arguments[1] if bits == 64 else builder.trunc(arguments[1], ir.IntType(bits))
            builder.store(number, builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), generate

    return store


Load = Callable[[int], int]
Store = Callable[[int, int], None]

load_u8: Load = _load(8, signed=False)
load_u16: Load = _load(16, signed=False)
load_u32: Load = _load(32, signed=False)
load_i32: Load = _load(32, signed=True)
load_i64: Load = _load(64, signed=True)
store_u8: Store = _store(8)
store_u16: Store = _store(16)
store_u32: Store = _store(32)
store_i64: Store = _store(64)


def _word_function(emit: Callable[[Any, Any], Any]) -> Any:
    """A function of a word that is one instruction, which `emit(builder, word)` makes."""

    @intrinsic
    def apply(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return emit(builder, arguments[0])

        return types.int64(types.int64), generate

    return apply


swap_bytes: Callable[[int], int] = _word_function(lambda builder, word: builder.bswap(word))
trailing_zeros: Callable[[int], int] = _word_function(
    lambda builder, word: builder.cttz(word, ir.Constant(ir.IntType(1), 0))
)

_LOW_BITS = 0x0101010101010101
_HIGH_BITS = -0x7F7F7F7F7F7F7F80  # 0x8080808080808080 as int64


@inlined
def zero_bytes(word: int) -> int:
    """Non-zero if a byte of `word` is zero; the lowest set bit then lies in the first such byte of memory."""
    return (word - _LOW_BITS) & ~word & _HIGH_BITS


@inlined
def is_valid(validity: int, bit: int) -> bool:
    """Bit `bit` of an Arrow validity bitmap; a bitmap at address 0 is all ones."""
    return validity == 0 or (load_u8(validity + (bit >> 3)) >> (bit & 7)) & 1 != 0


@inlined
def copy_flipped(target: int, source: int, length: int, flip: int) -> None:
    """Copies `length` bytes, each xor-ed with the byte that `flip` (0 or -1) repeats."""
    if length >= 8:
        k = 0
        while k + 8 <= length:
            store_i64(target + k, load_i64(source + k) ^ flip)
            k += 8
        # The last word again, overlapping what is done: cheaper than up to 7 single bytes.
        store_i64(target + length - 8, load_i64(source + length - 8) ^ flip)
    elif length >= 4:
        store_u32(target, load_u32(source) ^ flip)
        store_u32(target + length - 4, load_u32(source + length - 4) ^ flip)
    else:
        for k in range(length):
            store_u8(target + k, load_u8(source + k) ^ flip)


@inlined
def copy(target: int, source: int, length: int) -> None:
    """Copies `length` bytes."""
    copy_flipped(target, source, length, 0)


SIGN = -0x8000000000000000  # its flip makes signed words compare as unsigned ones


@inlined
def compare(a: int, a_length: int, b: int, b_length: int) -> int:
    """Below 0, 0 or above 0 as the byte string a sorts before b, equals it, or sorts after it."""
    length = min(a_length, b_length)
    k = 0
    while k + 8 <= length:
        left = load_i64(a + k)
        right = load_i64(b + k)
        if left != right:
            return -1 if swap_bytes(left) ^ SIGN < swap_bytes(right) ^ SIGN else 1
        k += 8
    while k < length:
        difference = load_u8(a + k) - load_u8(b + k)
        if difference != 0:
            return difference
        k += 1
    return a_length - b_length
