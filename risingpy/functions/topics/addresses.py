"""Functions on inet and cidr (`types.packed.network_address`), on whole columns. Source: PostgreSQL's network.c."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from ipaddress import IPv6Address

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidParameterValue, NumericValueOutOfRange
from risingpy.functions.topics.calling import Compute, Function, by_row
from risingpy.types.packed.network_address import (
    Addresses,
    Integers,
    Mask,
    Words,
    addresses_of,
    column_of,
    host_texts,
    mask_texts,
    masks,
)

_IPV4 = 4
_LOW_BITS_OF_IPV4 = 32  # an IPv4 address stands in the highest 32 bits of the first word
_BIGINT = 1 << 63
_HALF = 1 << 127


def _same_network(one: Addresses, other: Addresses, bits: Integers) -> Mask:
    """Whether the first `bits` of the addresses are the same, and the family is."""
    high, low = masks(bits)
    same: Mask = ((one.high ^ other.high) & high == 0) & ((one.low ^ other.low) & low == 0)
    same &= one.family == other.family
    return same


def _within(compare: Callable[[Integers, Integers], Mask]) -> Callable[[Addresses, Addresses], Mask]:
    """The first network lies in the second, and `compare` holds for the lengths of their masks."""
    return lambda inner, outer: compare(inner.bits, outer.bits) & _same_network(inner, outer, outer.bits)


def _overlaps(one: Addresses, other: Addresses) -> Mask:
    return _same_network(one, other, np.minimum(one.bits, other.bits))


def _test(test: Callable[[Addresses, Addresses], Mask], *, turned: bool = False) -> Compute:
    def computed(left: pa.Array, right: pa.Array) -> pa.Array:
        first, second = addresses_of(left), addresses_of(right)
        return pa.array(test(second, first) if turned else test(first, second))

    return computed


def _of_one(change: Callable[[Addresses], Addresses]) -> Compute:
    return lambda column: column_of(change(addresses_of(column)))


def _within_family(addresses: Addresses, high: Words, low: Words) -> Addresses:
    """The address of these words, without the bits that the family does not have."""
    all_high, all_low = masks(addresses.widths)
    return replace(addresses, high=high & all_high, low=low & all_low)


def _inverted(given: Addresses) -> Addresses:
    return _within_family(given, ~given.high, ~given.low)


def _combined(word: str, operation: Callable[[Words, Words], Words]) -> Compute:
    def computed(left: pa.Array, right: pa.Array) -> pa.Array:
        one, other = addresses_of(left), addresses_of(right)
        if (one.family != other.family).any():
            raise InvalidParameterValue(f"cannot {word} inet values of different sizes")
        words = operation(one.high, other.high), operation(one.low, other.low)
        return column_of(Addresses(one.family, *words, np.maximum(one.bits, other.bits)))

    return computed


def _whole_mask(given: Addresses) -> Addresses:
    return replace(given, bits=given.widths)


def _broadcast(given: Addresses) -> Addresses:
    high, low = masks(given.bits)
    return _within_family(given, given.high | ~high, given.low | ~low)


def _netmask(given: Addresses) -> Addresses:
    return _whole_mask(_within_family(given, *masks(given.bits)))


def _hostmask(given: Addresses) -> Addresses:
    high, low = masks(given.bits)
    return _whole_mask(_within_family(given, ~high, ~low))


def _set_mask(column: pa.Array, lengths: pa.Array) -> pa.Array:
    """-1 stands for the whole address."""
    given, bits = addresses_of(column), lengths.to_numpy(zero_copy_only=False).astype(np.int64)
    wrong = (bits < -1) | (bits > given.widths)
    if wrong.any():
        raise InvalidParameterValue(f"invalid mask length: {bits[wrong][0]}")
    return column_of(replace(given, bits=np.where(bits == -1, given.widths, bits)))


def _numbers(column: pa.Array) -> list[int]:
    """The addresses as numbers of as many bits as their family has."""
    given = addresses_of(column)
    pairs = zip(given.family.tolist(), given.high.tolist(), given.low.tolist(), strict=True)
    return [high >> _LOW_BITS_OF_IPV4 if family == _IPV4 else high << 64 | low for family, high, low in pairs]


def _moved(column: pa.Array, offsets: pa.Array, direction: int) -> pa.Array:
    """The address so many places further. Raises 22003 where the family has none there."""
    given = addresses_of(column)
    by = direction * offsets.to_numpy(zero_copy_only=False).astype(np.int64)  # as in PostgreSQL, -2^63 turns to itself
    if (given.family == _IPV4).all() and (np.abs(by) < 1 << 40).all():
        numbers = (given.high >> np.uint64(_LOW_BITS_OF_IPV4)).astype(np.int64) + by
        if ((numbers < 0) | (numbers >= 1 << _LOW_BITS_OF_IPV4)).any():
            raise NumericValueOutOfRange("result is out of range")
        return column_of(replace(given, high=numbers.astype(np.uint64) << np.uint64(_LOW_BITS_OF_IPV4)))
    moved = []
    for number, offset, width in zip(_numbers(column), by.tolist(), given.widths.tolist(), strict=True):
        number += offset
        if not 0 <= number < 1 << width:
            raise NumericValueOutOfRange("result is out of range")
        moved.append(number << 128 - width)
    high = np.array([number >> 64 for number in moved], np.uint64)
    low = np.array([number & (1 << 64) - 1 for number in moved], np.uint64)
    return column_of(replace(given, high=high, low=low))


def _difference(left: pa.Array, right: pa.Array) -> pa.Array:
    families = addresses_of(left).family
    if (families != addresses_of(right).family).any():
        raise InvalidParameterValue("cannot subtract inet values of different sizes")
    # Of IPv6 addresses PostgreSQL takes the difference in 128 bits, where the highest address is -1.
    differences = [
        a - b if family == _IPV4 else (a - b + _HALF) % (2 * _HALF) - _HALF
        for a, b, family in zip(_numbers(left), _numbers(right), families.tolist(), strict=True)
    ]
    if any(not -_BIGINT <= difference < _BIGINT for difference in differences):
        raise NumericValueOutOfRange("result is out of range")
    return pa.array(differences, pa.int64())


def _merged(left: pa.Array, right: pa.Array) -> pa.Array:
    """The smallest network that has both addresses in it."""
    one, other = addresses_of(left), addresses_of(right)
    if (one.family != other.family).any():
        raise InvalidParameterValue("cannot merge addresses from different families")
    differ = np.minimum(_leading_zeros(one.high ^ other.high, one.low ^ other.low), np.minimum(one.bits, other.bits))
    return column_of(replace(one, bits=differ).masked())


def _leading_zeros(high: Words, low: Words) -> Integers:
    """How many of the first bits of two words are 0."""
    bits = np.zeros(len(high), np.int64)
    open_ = np.ones(len(high), np.bool_)
    for word in (high, low):
        for place in range(63, -1, -1):
            open_ &= (word >> np.uint64(place)) & np.uint64(1) == 0
            bits += open_
    return bits


def _shown(column: pa.Array) -> pa.Array:
    """With the mask, also of a whole address: the cast to text."""
    given = addresses_of(column)
    return pc.binary_join_element_wise(host_texts(given), mask_texts(given.bits, np.zeros(len(column), np.bool_)), "")


def _abbreviated(column: pa.Array) -> pa.Array:
    given = addresses_of(column)
    return pc.binary_join_element_wise(host_texts(given), mask_texts(given.bits, given.bits == given.widths), "")


def _abbreviated_cidr(text: str) -> str:
    """Without the octets, or the groups, that are 0 because of the mask."""
    host, _, mask = text.partition("/")
    if ":" not in host:
        octets = host.split(".")[: max(-(-int(mask) // 8), 1)]
        return f"{'.'.join(octets)}/{mask}"
    return f"{_abbreviated_ipv6(IPv6Address(host).packed, int(mask)) if int(mask) else '::'}/{mask}"


def _abbreviated_ipv6(octets: bytes, bits: int) -> str:
    """PostgreSQL's inet_cidr_ntop_ipv6: the groups that the mask touches, at least two of them."""
    count = max(-(-bits // 16), 2)
    words = [int.from_bytes(octets[i : i + 2], "big") for i in range(0, 2 * count, 2)]
    start, length = _longest_zeros(words)
    ends_in_ipv4 = start == 0 and length != count
    if length == 7:
        ends_in_ipv4 &= octets[14] != 0 and octets[15] != 1
    else:
        ends_in_ipv4 &= length == 6 or (length == 5 and words[5] == 0xFFFF)
    shown = ""
    for place, word in enumerate(words):
        if length and start <= place < start + length:
            shown += ":" * ((place == start) + (place == count - 1))
        elif ends_in_ipv4 and place > 5:
            shown += f"{':' if place == 6 else '.'}{word >> 8}"
            if place != 7 or bits > 120:
                shown += f".{word & 255}"
        else:
            shown += f"{':' if shown else ''}{word:x}"
    return shown


def _longest_zeros(words: Sequence[int]) -> tuple[int, int]:
    """(Where the longest run of zeros begins, its length). As in PostgreSQL, a shorter run after it counts on."""
    best, run = (0, 0), (0, 0)
    for place, word in enumerate(words):
        if word == 0:
            run = (run[0] if run[1] else place, run[1] + 1)
        elif run[1] > best[1]:
            best, run = run, (0, 0)
    return max(best, run, key=lambda each: each[1])


def _cidr_texts(column: pa.Array) -> pa.Array:
    return by_row(_abbreviated_cidr, pa.string())(_shown(column))


def _family_numbers(column: pa.Array) -> pa.Array:
    return pa.array(addresses_of(column).family, pa.int32())


def _mask_lengths(column: pa.Array) -> pa.Array:
    return pa.array(addresses_of(column).bits, pa.int32())


def _same_families(one: Addresses, other: Addresses) -> Mask:
    same: Mask = one.family == other.family
    return same


ADDRESSES: dict[str, Function] = {
    "inet_within": Function(_test(_within(np.greater))),
    "inet_within_equal": Function(_test(_within(np.greater_equal))),
    "inet_contains": Function(_test(_within(np.greater), turned=True)),
    "inet_contains_equal": Function(_test(_within(np.greater_equal), turned=True)),
    "inet_overlaps": Function(_test(_overlaps)),
    "inet_same_family": Function(_test(_same_families)),
    "inet_not": Function(_of_one(_inverted)),
    "inet_and": Function(_combined("AND", np.bitwise_and)),
    "inet_or": Function(_combined("OR", np.bitwise_or)),
    "inet_add": Function(lambda column, offsets: _moved(column, offsets, 1)),
    "inet_add_to": Function(lambda offsets, column: _moved(column, offsets, 1)),
    "inet_subtract": Function(lambda column, offsets: _moved(column, offsets, -1)),
    "inet_difference": Function(_difference),
    "inet_merge": Function(_merged),
    "inet_shown": Function(_shown),
    "abbrev": Function(_abbreviated),
    "abbrev_cidr": Function(_cidr_texts),
    "broadcast": Function(_of_one(_broadcast)),
    "family": Function(_family_numbers),
    "host": Function(lambda column: host_texts(addresses_of(column))),
    "hostmask": Function(_of_one(_hostmask)),
    "masklen": Function(_mask_lengths),
    "netmask": Function(_of_one(_netmask)),
    "network": Function(_of_one(Addresses.masked)),
    "set_masklen": Function(_set_mask),
    "set_masklen_cidr": Function(lambda column, lengths: _of_one(Addresses.masked)(_set_mask(column, lengths))),
}
