"""No message may fail a job, whatever a decoder makes of it: a message that raises an error becomes a bad one.

Decoders say themselves what is wrong with a message. An error that one raises all the same is a defect, which must cost
no more than the message: it is found by halving the chunk, so that k of them among n messages cost k · log n chunks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.decoder import BadMessage, Decoded
from risingpy.errors import IoError, OutOfMemory

LOG = logging.getLogger(__name__)

Decode = Callable[[pa.Table], Decoded]

_NOT_OF_A_MESSAGE = (IoError, OutOfMemory, MemoryError, OSError)
"""What decoding raises for reasons outside of the messages: a registry that does not answer, memory that is full."""


def decoded_chunk(decode: Decode, messages: pa.Table) -> Decoded:
    """What `decode` makes of the messages, without those for which it raises an error, which are bad.

    Raises the errors that are no message's fault.
    """
    try:
        return decode(messages)
    except _NOT_OF_A_MESSAGE:
        raise
    except Exception as error:
        if messages.num_rows == 0:
            raise
        if messages.num_rows == 1:
            return _bad(decode, messages, error)
    middle = messages.num_rows // 2
    first = decoded_chunk(decode, messages.slice(0, middle))
    return _together(first, decoded_chunk(decode, messages.slice(middle)), middle)


def _bad(decode: Decode, message: pa.Table, error: Exception) -> Decoded:
    LOG.error("a decoder failed, and its message counts as bad", exc_info=error)
    nothing = decode(message.slice(0, 0))
    reason = f"the message cannot be decoded: {type(error).__name__}: {error}"
    return Decoded(nothing.ops, nothing.columns, nothing.messages, (BadMessage(0, reason),))


def _together(first: Decoded, second: Decoded, middle: int) -> Decoded:
    """The rows of two parts of a chunk, the second of which begins at `middle`."""
    columns = [pa.concat_arrays(parts) for parts in zip(first.columns, second.columns, strict=True)]
    messages = pa.concat_arrays([first.messages, pc.add(second.messages, pa.scalar(middle, second.messages.type))])
    moved = (BadMessage(bad.index + middle, bad.reason) for bad in second.bad)
    return Decoded(pa.concat_arrays([first.ops, second.ops]), columns, messages, (*first.bad, *moved))
