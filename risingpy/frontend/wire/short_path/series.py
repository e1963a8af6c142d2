"""A series of extended messages that arrived together, cut where its values are. No I/O.

    B length "" statement formats… count | values | result formats…  [D P ""]  E "" limit  S

What a driver sends for one statement differs in the values only. So the bytes before them and after them, the head and
the tail, are what a statement is found by; they are read once. Where a Parse comes before, its bytes are, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from buenavista.postgres import ClientCommand

from risingpy.errors import SqlError
from risingpy.frontend.wire.payload import Payload
from risingpy.frontend.wire.server_messages import message

PARSE, BIND, QUERY = ClientCommand.PARSE[0], ClientCommand.BIND[0], ClientCommand.QUERY[0]
_DESCRIBE = message(ClientCommand.DESCRIBE, b"P\0")
_EXECUTE = message(ClientCommand.EXECUTE, b"\0" + bytes(4))[:-4]  # and the limit
_SYNC = message(ClientCommand.SYNC)
_HEADER_BYTES = 5  # a message's type and length
_LIMIT_BYTES = 4
_NULL = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class SeriesForm:
    """What head and tail mean: the statement's name, and the formats as Bind has them."""

    statement: str
    parameter_formats: list[int]
    result_formats: list[int]
    describes: bool
    limit: int  # of rows; 0 or less: none


def cut_series(data: bytes) -> tuple[bytes, list[bytes | None], bytes, int] | None:
    """Head, values, tail, and how many bytes of the tail are Bind's; None if the unnamed portal is not bound.

    What the lengths say is not checked: `form_of` knows which tails are whole series.
    """
    name_end = data.find(0, _HEADER_BYTES + 1)
    if data[_HEADER_BYTES : _HEADER_BYTES + 1] != b"\0" or name_end < 0:
        return None
    at = name_end + 3 + 2 * int.from_bytes(data[name_end + 1 : name_end + 3])
    count = int.from_bytes(data[at : at + 2])
    at += 2
    head = data[_HEADER_BYTES:at]
    values, at = _values(data, at, count)
    if at > len(data):
        return None
    return head, values, data[at:], 1 + int.from_bytes(data[1:_HEADER_BYTES]) - at


def _values(data: bytes, at: int, count: int) -> tuple[list[bytes | None], int]:
    """Values with their lengths before them, and where they end; perhaps beyond the data, if they are not all there."""
    values: list[bytes | None] = []
    for _ in range(count):
        size = int.from_bytes(data[at : at + 4])
        at += 4
        if size == _NULL:
            values.append(None)
        else:
            values.append(data[at : at + size])
            at += size
            if at > len(data):
                break
    return values, at


def form_of(head: bytes, tail: bytes, tail_of_bind: int, end: bytes = _SYNC) -> SeriesForm | None:
    """What they mean, if they are of a whole series of Bind, perhaps Describe, Execute, and what must be its `end`."""
    rest = tail[tail_of_bind:] if 0 <= tail_of_bind <= len(tail) else b""
    executed = rest.removeprefix(_DESCRIBE)
    limit = executed[len(_EXECUTE) : len(_EXECUTE) + _LIMIT_BYTES]
    if executed != _EXECUTE + limit + end or len(limit) != _LIMIT_BYTES:
        return None
    try:
        before, after = Payload(head), Payload(tail[:tail_of_bind])
        before.string()
        name, formats = before.string(), before.int16s()
        result_formats = after.int16s()
        after.end()
    except SqlError:
        return None
    return SeriesForm(name, formats, result_formats, executed != rest, int.from_bytes(limit, signed=True))


def cut_parse(data: bytes) -> tuple[bytes, bytes] | None:
    """A Parse of the unnamed statement, and the series of it that follows; None if they are not what comes."""
    end = 1 + int.from_bytes(data[1:_HEADER_BYTES])
    if data[_HEADER_BYTES : _HEADER_BYTES + 1] != b"\0" or data[end : end + 1] != ClientCommand.BIND:
        return None
    return data[:end], data[end:]


def parsed_text(parse: bytes) -> tuple[str, list[int]]:
    """The text of a Parse, and the types of its parameters. Raises SqlError if it is malformed."""
    body = Payload(parse[_HEADER_BYTES:])
    body.string()
    text, oids = body.string(), body.uint32s()
    body.end()
    return text, oids


def query_text(data: bytes) -> str | None:
    """The text of a Query that is all of the data; None if it is not, or no text."""
    if int.from_bytes(data[1:_HEADER_BYTES]) != len(data) - 1 or data.find(0, _HEADER_BYTES) != len(data) - 1:
        return None
    try:
        return data[_HEADER_BYTES:-1].decode()
    except UnicodeDecodeError:
        return None


@dataclass(frozen=True, slots=True)
class Repeats:
    """Bind, perhaps Describe, and Execute of one statement, again and again without a Sync between them.

    `values` are those of each Bind, and `ends` tells how many bytes there are up to the end of each Execute.
    """

    form: SeriesForm
    values: list[list[bytes | None]]
    ends: list[int]


def cut_repeats(data: bytes, most: int) -> Repeats | None:
    """What stands at the beginning of the data, as far as it differs in its values only; None if that is nothing."""
    if not data.startswith(ClientCommand.BIND):
        return None
    cut = cut_series(data)
    if cut is None:
        return None
    head, _, rest, tail_of_bind = cut
    describes = rest.startswith(_DESCRIBE, max(0, tail_of_bind))
    tail = rest[: tail_of_bind + len(_DESCRIBE) * describes + len(_EXECUTE) + _LIMIT_BYTES]
    form = form_of(head, tail, tail_of_bind, b"")
    if form is None:
        return None
    found = Repeats(form, [], [])
    at = 0
    while (
        len(found.ends) < most and data.startswith(ClientCommand.BIND, at) and data.startswith(head, at + _HEADER_BYTES)
    ):
        values, place = _values(data, at + _HEADER_BYTES + len(head), int.from_bytes(head[-2:]))
        length = int.from_bytes(data[at + 1 : at + _HEADER_BYTES])
        if place + tail_of_bind != at + 1 + length or not data.startswith(tail, place):
            break  # another form, or bytes that have not arrived
        at = place + len(tail)
        found.values.append(values)
        found.ends.append(at)
    return found if found.ends else None
