"""CREATE SINK and WAIT SINK."""

from __future__ import annotations

from dataclasses import replace

from risingpy.connectors.formats.decoder import KEY_ENCODING, MessageFormat
from risingpy.frontend.parser.ast import ColumnName, CreateSink, ObjectName, WaitSink
from risingpy.frontend.parser.connectors.source import OptionsReader, parse_format
from risingpy.frontend.parser.cursor import Cursor


def parse_create_sink(cursor: Cursor) -> CreateSink:
    """`[IF NOT EXISTS] name [INTO table [(columns)]] FROM relation | AS query [WITH (…)] [FORMAT …]`."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    into: ObjectName | None = None
    into_columns: tuple[ColumnName, ...] = ()
    if cursor.accept("INTO"):
        into = cursor.object_name()
        if cursor.word == "(":
            into_columns = cursor.in_parentheses(cursor.name)
    relation = query = None
    if cursor.one_of("FROM", "AS") == "FROM":
        relation = cursor.object_name()
    else:
        query = cursor.query()
    reader = OptionsReader(cursor)
    options = reader.read() if cursor.accept("WITH") else ()
    message_format = _with_key_encoding(cursor, parse_format(cursor, reader))
    places, references = tuple(reader.places), tuple(reader.references)
    return CreateSink(
        name, relation, query, options, if_not_exists, message_format, places, into, into_columns, references
    )


def _with_key_encoding(cursor: Cursor, message_format: MessageFormat | None) -> MessageFormat | None:
    """`[KEY ENCODE encoding]` after the format: it is kept as an option."""
    if message_format is None or not cursor.accept("KEY", "ENCODE"):
        return message_format
    option = (KEY_ENCODING, cursor.any_word().lower())
    return replace(message_format, options=(*message_format.options, option))


def parse_wait_sink(cursor: Cursor) -> WaitSink:
    """`SINK name`, after WAIT."""
    cursor.expect("SINK")
    return WaitSink(cursor.object_name())
