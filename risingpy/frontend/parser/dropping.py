"""DROP."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from risingpy.frontend.parser.ast import Drop, Statement
from risingpy.frontend.parser.connectors.secret import parse_drop_hidden
from risingpy.frontend.parser.creation.function import parse_drop_function
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.databases.parsing import parse_drop_database, parse_drop_schema
from risingpy.frontend.parser.keywords import OTHER_OBJECTS
from risingpy.frontend.parser.user_types.parsing import parse_drop_type
from risingpy.plan.catalog import (
    ExternalSource,
    Index,
    MaterializedView,
    NumberSequence,
    RelationClass,
    Sink,
    Subscription,
    Table,
    View,
)

_DROPPED: Mapping[str, RelationClass] = MappingProxyType(
    {
        "TABLE": Table,
        "MATERIALIZED VIEW": MaterializedView,
        "VIEW": View,
        "SOURCE": ExternalSource,
        "SINK": Sink,
        "SUBSCRIPTION": Subscription,
        "INDEX": Index,
        "SEQUENCE": NumberSequence,
    }
)


def parse_drop(cursor: Cursor) -> Statement:
    """DROP of one or more objects of a kind. Raises FeatureNotSupported (0A000) for kinds that do not exist here."""
    cursor.expect("DROP")
    if cursor.accept("SCHEMA"):
        return parse_drop_schema(cursor)
    if cursor.accept("DATABASE"):
        return parse_drop_database(cursor)
    if cursor.word in ("SECRET", "CONNECTION"):
        return parse_drop_hidden(cursor)
    for word in ("FUNCTION", "AGGREGATE", "PROCEDURE", "ROUTINE"):
        if cursor.accept(word):
            return parse_drop_function(cursor, word.lower())
    for word in ("TYPE", "DOMAIN"):
        if cursor.accept(word):
            return parse_drop_type(cursor, word)
    if cursor.word in OTHER_OBJECTS:
        cursor.unsupported(f"DROP {cursor.word}")
    kind = next((kind for words, kind in _DROPPED.items() if cursor.accept(*words.split())), None)
    if kind is None:
        cursor.fail()
    concurrently = kind is Index and cursor.accept("CONCURRENTLY")
    if_exists = cursor.accept("IF", "EXISTS")
    relations = cursor.comma_separated(cursor.object_name)
    cascade = parse_cascade(cursor)
    if concurrently and cascade:
        cursor.unsupported("DROP INDEX CONCURRENTLY … CASCADE")
    if concurrently and len(relations) > 1:
        cursor.unsupported("DROP INDEX CONCURRENTLY of several indexes")
    return Drop(kind, relations, if_exists, cascade, concurrently)


def parse_cascade(cursor: Cursor) -> bool:
    """Whether CASCADE follows. RESTRICT, and nothing, mean that a drop fails if other objects need these."""
    cascade = cursor.accept("CASCADE")
    if not cascade:
        cursor.accept("RESTRICT")
    return cascade
