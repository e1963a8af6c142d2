"""inet and cidr: `10.1.2.3/16`, `2001:db8::/32`; binary the family, the length of the mask, 1 for cidr, the address.

A value is a family, the address without the bits after its mask, the length of the mask, and the address:

    10.1.2.3/16     04 0a010000 10 0a010203
    ::1             06 00…01 80 00…01

Bytes order as PostgreSQL orders addresses: by family, by the bits that both masks have, by the masks, by the rest.

`Addresses` are a column as numbers. An IPv4 address stands in the highest 32 of 128 bits, so that masks and
comparisons are the same for both families. Source: PostgreSQL's inet_net_pton.c, inet_cidr_ntop.c, network.c.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.errors import InvalidTextRepresentation, SqlError
from risingpy.types.bytea import offsets_and_bytes
from risingpy.types.families import TypeKind
from risingpy.types.sql_type import SqlType

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

_IPV4, _IPV6 = 4, 6
BITS = {_IPV4: 32, _IPV6: 128}
_SIZES = {_IPV4: 10, _IPV6: 34}  # bytes of a value
_WIDTH = 16  # bytes of an IPv6 address
_ON_WIRE = {_IPV4: 2, _IPV6: 3}  # PGSQL_AF_INET, PGSQL_AF_INET6
_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_PLAIN = rf"^(?P<a>{_OCTET})\.(?P<b>{_OCTET})\.(?P<c>{_OCTET})\.(?P<d>{_OCTET})(?:/(?P<m>3[0-2]|[12][0-9]|[0-9]))?$"
_DOTTED = re.compile(r"([0-9]+(?:\.[0-9]+){0,3})(?:/([0-9]+))?", re.ASCII)
_COLONS = re.compile(r"([0-9a-fA-F:.]+)(?:/(0|[1-9][0-9]*))?", re.ASCII)
_OCTETS = pa.array([str(octet) for octet in range(256)])
_MASKS = pa.array([f"/{bits}" for bits in range(129)])
# IPv4 networks without a mask: the first octet from which on a class begins, and its mask.
_CLASSES = ((240, 32), (224, 8), (192, 24), (128, 16), (0, 8))
_MULTICAST, _MULTICAST_BITS = 224, 4


@dataclass(frozen=True, slots=True)
class Addresses:
    """A column: `high` and `low` are 64 bits each of the address, which begins at the highest."""

    family: Integers
    high: Words
    low: Words
    bits: Integers

    @property
    def widths(self) -> Integers:
        """How many bits an address of the row's family has."""
        return np.where(self.family == _IPV4, BITS[_IPV4], BITS[_IPV6])

    def masked(self) -> Addresses:
        """The networks: the bits after the masks are 0."""
        high, low = masks(self.bits)
        return Addresses(self.family, self.high & high, self.low & low, self.bits)

    def octets(self) -> npt.NDArray[np.uint8]:
        """The addresses as rows of 16 bytes; an IPv4 address has the first four."""
        words = np.empty((len(self.high), 2), ">u8")
        words[:, 0], words[:, 1] = self.high, self.low
        return words.view(np.uint8).reshape(-1, _WIDTH)


def masks(bits: Integers) -> tuple[Words, Words]:
    """The words of the masks with so many leading ones."""
    return _ones(np.clip(bits, 0, 64)), _ones(np.clip(bits - 64, 0, 64))


def _ones(count: Integers) -> Words:
    # NumPy's shift by 64 is not defined: it is done in two steps.
    shift = (64 - count).astype(np.uint64)
    half = shift >> np.uint64(1)
    full: Words = np.full(len(count), 2**64 - 1, np.uint64)
    once: Words = np.left_shift(full, half)
    return np.left_shift(once, shift - half)


def addresses_of(array: pa.Array) -> Addresses:
    """The column as numbers; NULL is 0.0.0.0/0."""
    offsets, data = offsets_and_bytes(array)
    starts = (offsets[:-1] - offsets[0]).astype(np.int64)
    lengths = np.diff(offsets)
    six, four = lengths == _SIZES[_IPV6], lengths == _SIZES[_IPV4]
    octets = np.zeros((len(array), _WIDTH), np.uint8)
    bits = np.zeros(len(array), np.int64)
    octets[four, :4] = data[starts[four, None] + np.arange(6, 10)]
    octets[six] = data[starts[six, None] + np.arange(18, 34)]
    bits[four], bits[six] = data[starts[four] + 5], data[starts[six] + 17]
    words = octets.view(">u8").astype(np.uint64)
    return Addresses(np.where(six, _IPV6, _IPV4), words[:, 0], words[:, 1], bits)


def column_of(addresses: Addresses, valid: pa.Buffer | None = None) -> pa.Array:
    """The column of addresses, whose bits after the mask a cidr does not have."""
    rows = len(addresses.bits)
    laid = np.empty((rows, _SIZES[_IPV6]), np.uint8)
    laid[:, 0] = addresses.family
    laid[:, 1:17] = addresses.masked().octets()
    laid[:, 17] = addresses.bits
    laid[:, 18:] = addresses.octets()
    in_four = np.zeros(_SIZES[_IPV6], np.bool_)
    in_four[[*range(5), *range(17, 22)]] = True
    keep = in_four | (addresses.family == _IPV6)[:, None]
    return _packed(laid, keep, valid)


def _packed(laid: npt.NDArray[np.uint8], keep: Mask, valid: pa.Buffer | None) -> pa.Array:
    """The bytes of each row that are kept, as Arrow binary."""
    offsets = np.zeros(len(laid) + 1, np.int32)
    np.cumsum(keep.sum(axis=1), out=offsets[1:])
    return pa.Array.from_buffers(pa.binary(), len(laid), [valid, pa.py_buffer(offsets), pa.py_buffer(laid[keep])])


def parse(type_: SqlType, text: str, time_zone: str) -> bytes:
    """Raises 22P02, also for a cidr with bits after its mask."""
    is_cidr = type_.kind is TypeKind.CIDR
    read = _ipv6(text) if ":" in text else _ipv4(text, is_cidr)
    if read is None:
        raise InvalidTextRepresentation(f'invalid input syntax for type {type_.name}: "{text}"')
    family, octets, bits = read
    value = _value(family, octets, bits)
    if is_cidr and _network(octets, bits) != octets:
        detail = "Value has bits set to right of mask."
        raise InvalidTextRepresentation(f'invalid cidr value: "{text}"', detail=detail)
    return value


def _ipv4(text: str, is_cidr: bool) -> tuple[int, bytes, int] | None:
    found = _DOTTED.fullmatch(text)
    if found is None:
        return None
    octets = [int(octet) for octet in found[1].split(".")]
    given = None if found[2] is None else int(found[2])
    if max(octets) > 255 or (given or 0) > BITS[_IPV4]:
        return None
    if given is None and is_cidr:
        given = max(next(bits for first, bits in _CLASSES if octets[0] >= first), 8 * len(octets))
        if given == 8 and octets[0] == _MULTICAST:
            given = _MULTICAST_BITS
    if given is None:
        if len(octets) < 4:
            return None
        given = BITS[_IPV4]
    if not is_cidr and given // 8 > len(octets):
        return None
    return _IPV4, bytes(octets).ljust(4, b"\0"), given


def _ipv6(text: str) -> tuple[int, bytes, int] | None:
    found = _COLONS.fullmatch(text)
    if found is None:
        return None
    bits = BITS[_IPV6] if found[2] is None else int(found[2])
    if bits > BITS[_IPV6]:
        return None
    try:
        return _IPV6, IPv6Address(found[1]).packed, bits
    except AddressValueError:
        return None


def _value(family: int, octets: bytes, bits: int) -> bytes:
    return bytes([family]) + _network(octets, bits) + bytes([bits]) + octets


def _network(octets: bytes, bits: int) -> bytes:
    size = 8 * len(octets)
    return (int.from_bytes(octets, "big") >> (size - bits) << (size - bits)).to_bytes(len(octets), "big")


def format_value(type_: SqlType, value: object, time_zone: str) -> str:
    """The address, and the mask unless it is an inet's whole address."""
    assert isinstance(value, bytes)
    size = (len(value) - 2) // 2
    bits, octets = value[1 + size], value[2 + size :]
    shown = ".".join(map(str, octets)) if value[0] == _IPV4 else shown_ipv6(octets)
    return shown if type_.kind is TypeKind.INET and bits == 8 * size else f"{shown}/{bits}"


def shown_ipv6(octets: bytes) -> str:
    """The first of the longest runs of zeros as `::`; an IPv4 address at the end of zeros with its dots."""
    words = [int.from_bytes(octets[i : i + 2], "big") for i in range(0, _WIDTH, 2)]
    digits = "".join("0" if word == 0 else "x" for word in words)
    run = max((found for found in re.findall("0{2,}", digits)), key=len, default="")
    start = digits.find(run) if run else -1
    zeros = len(run)
    tail = [f"{word:x}" for word in words]
    if start == 0 and (zeros == 6 or (zeros == 5 and words[5] == 0xFFFF)):
        tail = [*tail[:6], ".".join(map(str, octets[12:]))]
    if start < 0:
        return ":".join(tail)
    return f"{':'.join(tail[:start])}::{':'.join(tail[start + zeros :])}"


def encode(type_: SqlType, value: object) -> bytes:
    """As inet_send and cidr_send write it."""
    assert isinstance(value, bytes)
    size = (len(value) - 2) // 2
    return bytes([_ON_WIRE[value[0]], value[1 + size], type_.kind is TypeKind.CIDR, size]) + value[2 + size :]


def decode(type_: SqlType, data: bytes) -> bytes:
    """Raises 22P03 for bytes that are no address."""
    name = type_.name
    families = {code: family for family, code in _ON_WIRE.items()}
    if len(data) < 4 or data[0] not in families:
        raise SqlError(f'invalid address family in external "{name}" value', sqlstate="22P03")
    family = families[data[0]]
    if data[1] > BITS[family]:
        raise SqlError(f'invalid bits in external "{name}" value', sqlstate="22P03")
    if not data[3] == len(data) - 4 == BITS[family] // 8:
        raise SqlError(f'invalid length in external "{name}" value', sqlstate="22P03")
    octets = bytes(data[4:])
    if type_.kind is TypeKind.CIDR and _network(octets, data[1]) != octets:
        detail = "Value has bits set to right of mask."
        raise SqlError('invalid external "cidr" value', sqlstate="22P03", detail=detail)
    return _value(family, octets, data[1])


def text_column(type_: SqlType, array: pa.Array, time_zone: str) -> pa.Array:
    """As `format_value` writes them; NULLs stay. Each IPv6 address is written once."""
    addresses = addresses_of(array)
    shown = host_texts(addresses)
    whole = addresses.bits == addresses.widths
    hidden = whole if type_.kind is TypeKind.INET else np.zeros(len(whole), np.bool_)
    texts = pc.binary_join_element_wise(shown, mask_texts(addresses.bits, hidden), "")
    return pc.if_else(pc.is_valid(array), texts, pa.scalar(None, pa.string())) if array.null_count else texts


def mask_texts(bits: Integers, hidden: Mask) -> pa.Array:
    """`/16`; empty where it is hidden."""
    return pc.if_else(pa.array(hidden), "", _MASKS.take(pa.array(bits)))


def host_texts(addresses: Addresses) -> pa.Array:
    """The addresses without their masks."""
    octets = addresses.octets()
    parts = [_OCTETS.take(pa.array(octets[:, place])) for place in range(4)]
    texts = pc.binary_join_element_wise(*parts, ".")
    six = addresses.family == _IPV6
    if not six.any():
        return texts
    packed = pa.array([row.tobytes() for row in octets[six]], pa.binary()).dictionary_encode()
    shown = pa.array([shown_ipv6(each) for each in packed.dictionary.to_pylist()], pa.string()).take(packed.indices)
    return pc.replace_with_mask(texts, pa.array(six), shown)


def binary_column(type_: SqlType, array: pa.Array) -> pa.Array:
    """As `encode` writes them, as Arrow binary; NULLs stay."""
    addresses = addresses_of(array)
    six = addresses.family == _IPV6
    laid = np.empty((len(array), 4 + _WIDTH), np.uint8)
    laid[:, 0] = np.where(six, _ON_WIRE[_IPV6], _ON_WIRE[_IPV4])
    laid[:, 1] = addresses.bits
    laid[:, 2] = type_.kind is TypeKind.CIDR
    laid[:, 3] = addresses.widths // 8
    laid[:, 4:] = addresses.octets()
    keep = (np.arange(laid.shape[1]) < 8) | six[:, None]
    return _packed(laid, keep, None if array.null_count == 0 else pc.is_valid(array).buffers()[1])


def parse_plain(type_: SqlType, texts: pa.Array) -> tuple[pa.Array, pa.Array | None]:
    """IPv4 addresses of four octets, a cidr with its mask; see `forms.parse_column`."""
    if not len(texts):
        return pa.array([], pa.binary()), None
    parts = pc.extract_regex(texts, _PLAIN)
    octets = np.zeros((len(texts), _WIDTH), np.uint8)
    for place, name in enumerate("abcd"):
        octets[:, place] = _numbers(parts, name, "0")
    written = pc.struct_field(parts, "m")
    bits = _numbers(parts, "m", str(BITS[_IPV4]))
    words = octets.view(">u8").astype(np.uint64)
    addresses = Addresses(np.full(len(texts), _IPV4), words[:, 0], words[:, 1], bits)
    plain = parts.is_valid()
    if type_.kind is TypeKind.CIDR:
        network = addresses.masked()
        exact = (network.high == addresses.high) & (network.low == addresses.low)
        plain = pc.and_(plain, pc.and_(pc.fill_null(pc.not_equal(written, ""), False), pa.array(exact)))
    valid = None if texts.null_count == 0 else pc.is_valid(texts).buffers()[1]
    return column_of(addresses, valid), pc.or_(plain, pc.is_null(texts))


def _numbers(parts: pa.Array, name: str, absent: str) -> Integers:
    digits = pc.fill_null(pc.struct_field(parts, name), absent)
    filled = pc.if_else(pc.equal(digits, ""), absent, digits)
    return np.asarray(filled.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)
