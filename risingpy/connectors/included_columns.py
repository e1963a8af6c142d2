"""INCLUDE key, partition, offset, timestamp, header, payload, file, subject or topic: parts of messages as columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from risingpy.connectors.formats.columns import Reasons, texts_of
from risingpy.errors import InvalidParameterValue
from risingpy.types import BYTEA, JSONB, TIMESTAMPTZ, VARCHAR, SqlType, array_of, struct_of
from risingpy.types.forms import parse_rows

HEADERS = array_of(struct_of(["key", "value"], [VARCHAR, BYTEA]))

TYPES: Mapping[str, SqlType] = {
    "key": BYTEA,
    "partition": VARCHAR,
    "offset": VARCHAR,
    "timestamp": TIMESTAMPTZ,
    "header": HEADERS,
    "payload": JSONB,
    "file": VARCHAR,
    "subject": VARCHAR,
    "topic": VARCHAR,
}
"""What can be included, and the types of the columns."""
OF_FILES = ("file", "offset")
"""What sources of files have of it: the file's name, and the place in it."""
OF_MQTT = ("topic", "payload", "timestamp", "header")
"""What MQTT's messages have: the time is that of their arrival here, and headers are user properties."""
OF_ONE_CONNECTOR: Mapping[str, str] = {"subject": "nats", "topic": "mqtt"}
"""What the messages of one connector alone have: a column of this name beside those of `seekable.MESSAGES`."""


@dataclass(frozen=True, slots=True)
class IncludedColumn:
    """A column that is a part of the message. `header` names one header, whose value the column is."""

    column_id: int
    part: str
    header: str | None = None


def included_type(part: str, header: str | None, header_type: SqlType | None) -> SqlType:
    """The type of an included column. Raises InvalidParameterValue for a type that a header cannot have."""
    if header is None:
        return TYPES[part]
    type_ = header_type or BYTEA
    if type_ not in (BYTEA, VARCHAR):
        raise InvalidParameterValue(f'header column "{header}" is bytea or varchar, not {type_.name}')
    return type_


def default_name(connector: str, part: str, header: str | None, header_type: SqlType) -> str:
    """RisingWave's name of an included column without AS."""
    parts = ["_rw", connector.replace("-", "_"), part]
    if header is not None:
        parts += [header, header_type.name.replace(" ", "_")]
    return "_".join(parts)


def included_column(column: IncludedColumn, type_: SqlType, messages: pa.Table, split: str) -> pa.Array:
    """The column of these messages (`connectors.seekable.MESSAGES`), of the type's Arrow type.

    NULL where the message lacks the part, or has bytes there that are no value of the type: a payload that is no JSON
    (of ENCODE CSV, say), a header that is no UTF-8. The message has decoded, so its row counts.
    """
    if column.header is not None:
        return _header(messages, column.header, type_)
    found: Mapping[str, Callable[[], pa.Array]] = {
        "key": lambda: messages["key"].combine_chunks(),
        "partition": lambda: pa.repeat(pa.scalar(split), messages.num_rows),
        "file": lambda: pa.repeat(pa.scalar(split), messages.num_rows),
        "offset": lambda: pc.cast(messages["offset"], pa.string()).combine_chunks(),
        "timestamp": lambda: messages["timestamp"].combine_chunks(),
        "header": lambda: messages["headers"].combine_chunks(),
        "payload": lambda: parse_rows(type_, _texts(messages["payload"].combine_chunks()))[0],
        "subject": lambda: messages["subject"].combine_chunks(),
        "topic": lambda: messages["topic"].combine_chunks(),
    }
    made = found[column.part]()
    return made if made.type == type_.arrow else pc.cast(made, type_.arrow)


def included_of_rows(column: IncludedColumn, positions: pa.Array, split: str) -> pa.Array:
    """As `included_column`, for rows of files that are no messages: one of `OF_FILES`."""
    return pa.repeat(pa.scalar(split), len(positions)) if column.part == "file" else pc.cast(positions, pa.string())


def _texts(values: pa.Array) -> pa.Array:
    """The texts that these bytes are; NULL where they are none."""
    return texts_of(values, np.arange(len(values)), Reasons())


def _header(messages: pa.Table, name: str, type_: SqlType) -> pa.Array:
    """The value of the first header of a name, of each message; NULL if it has none."""
    lists = messages["headers"].combine_chunks()
    headers, parents = lists.flatten(), pc.list_parent_indices(lists)
    named = pc.fill_null(pc.equal(headers.field("key"), name), False)
    of_messages, values = parents.filter(named).to_numpy(), headers.field("value").filter(named)
    found, first = np.unique(of_messages, return_index=True)
    places = np.full(messages.num_rows, -1)
    places[found] = first
    taken = values.take(pa.array(places, mask=places < 0))
    return taken if type_ == BYTEA else _texts(taken)
