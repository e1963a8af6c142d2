"""CREATE, ALTER and DROP of secrets and connections."""

from __future__ import annotations

from risingpy.frontend.parser.ast import (
    AlterConnection,
    AlterSecret,
    CreateConnection,
    CreateSecret,
    DropHidden,
)
from risingpy.frontend.parser.ast_create import OptionPlace
from risingpy.frontend.parser.connectors.source import OptionsReader
from risingpy.frontend.parser.cursor import Cursor
from risingpy.plan.catalog import ConnectionDesc, SecretDesc


def parse_create_secret(cursor: Cursor) -> CreateSecret:
    """`[IF NOT EXISTS] name WITH (backend = 'meta') AS 'value'`."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    cursor.expect("WITH")
    backend, position = _backend(cursor)
    value, place = _value(cursor)
    return CreateSecret(name, backend, value, position, if_not_exists, (place,))


def parse_alter_secret(cursor: Cursor) -> AlterSecret:
    """`name [WITH (backend = 'meta')] AS 'value'`."""
    name = cursor.object_name()
    backend, position = _backend(cursor) if cursor.accept("WITH") else ("meta", name.position)
    value, place = _value(cursor)
    return AlterSecret(name, backend, value, position, (place,))


def parse_create_connection(cursor: Cursor) -> CreateConnection:
    """`[IF NOT EXISTS] name WITH (type = 'kafka', …)`."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    cursor.expect("WITH")
    reader = OptionsReader(cursor)
    options = reader.read()
    return CreateConnection(name, options, if_not_exists, tuple(reader.places), tuple(reader.references))


def parse_alter_connection(cursor: Cursor) -> AlterConnection:
    """`name CONNECTOR WITH (…)`."""
    name = cursor.object_name()
    if cursor.word != "CONNECTOR":
        cursor.unsupported(f"ALTER CONNECTION … {cursor.word}")
    cursor.expect("CONNECTOR", "WITH")
    position, reader = cursor.position, OptionsReader(cursor)
    options = reader.read()
    return AlterConnection(name, options, position, tuple(reader.places), tuple(reader.references))


def parse_drop_hidden(cursor: Cursor) -> DropHidden:
    """`SECRET | CONNECTION [IF EXISTS] name, … [CASCADE | RESTRICT]`."""
    kind = SecretDesc if cursor.one_of("SECRET", "CONNECTION") == "SECRET" else ConnectionDesc
    if_exists = cursor.accept("IF", "EXISTS")
    names = cursor.comma_separated(cursor.object_name)
    cascade = cursor.accept("CASCADE")
    if not cascade:
        cursor.accept("RESTRICT")
    return DropHidden(kind, names, if_exists, cascade)


def _backend(cursor: Cursor) -> tuple[str, int]:
    """The only option, and where the options begin."""
    position, reader = cursor.position, OptionsReader(cursor)
    options = dict(reader.read())
    backend = options.pop("backend", None)
    if options or reader.references:
        name = next(iter(options), "") or reader.references[0].option
        cursor.fail_with(f'unknown option "{name}" of a secret: it is backend', position)
    if backend is None:
        cursor.fail_with("a secret needs the option backend: WITH (backend = 'meta')", position)
    return backend, position


def _value(cursor: Cursor) -> tuple[str, OptionPlace]:
    cursor.expect("AS")
    begin = cursor.position
    return cursor.string(), OptionPlace("secret", begin, cursor.end)
