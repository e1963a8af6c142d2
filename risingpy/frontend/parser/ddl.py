"""CREATE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

from risingpy.errors import FeatureNotSupported, InvalidTableDefinition
from risingpy.frontend.parser.ast import (
    CreateMaterializedView,
    CreateSource,
    CreateTable,
    CreateTableAs,
    CreateView,
    Expression,
    ObjectName,
    Statement,
)
from risingpy.frontend.parser.ast_create import OptionText
from risingpy.frontend.parser.connectors.secret import parse_create_connection, parse_create_secret
from risingpy.frontend.parser.connectors.sink import parse_create_sink
from risingpy.frontend.parser.connectors.source import (
    OptionsReader,
    is_storage_parameter,
    no_key_of_source,
    parse_copied_table,
    parse_format,
    parse_includes,
)
from risingpy.frontend.parser.creation.extension import parse_create_extension
from risingpy.frontend.parser.creation.function import (
    parse_create_aggregate,
    parse_create_function,
    parse_create_procedure,
)
from risingpy.frontend.parser.creation.index import parse_create_index, parse_create_unique_index
from risingpy.frontend.parser.creation.recursive_view import parse_create_recursive_view
from risingpy.frontend.parser.creation.sequence import parse_create_sequence
from risingpy.frontend.parser.creation.table_elements import TableElements, parse_elements
from risingpy.frontend.parser.creation.view_options import ViewOptions, parse_view_options
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.databases.parsing import (
    parse_create_database,
    parse_create_schema,
)
from risingpy.frontend.parser.dml.table_of_query import parse_on_commit, parse_table_of_query
from risingpy.frontend.parser.keywords import OTHER_OBJECTS
from risingpy.frontend.parser.subscriptions import parse_create_subscription
from risingpy.frontend.parser.user_types.domains import parse_create_domain
from risingpy.frontend.parser.user_types.parsing import parse_create_type
from risingpy.plan.operators import ConflictBehavior

_OWN = ("retention_seconds", "ttl", "row_timestamp")  # options of tables, whatever feeds them

_PARSERS: Mapping[str, Callable[[Cursor], Statement]] = MappingProxyType(
    {
        "SCHEMA": parse_create_schema,
        "DATABASE": parse_create_database,
        "SINK": parse_create_sink,
        "SUBSCRIPTION": parse_create_subscription,
        "INDEX": parse_create_index,
        "UNIQUE": parse_create_unique_index,
        "SECRET": parse_create_secret,
        "CONNECTION": parse_create_connection,
        "SEQUENCE": parse_create_sequence,
        "TYPE": parse_create_type,
        "DOMAIN": parse_create_domain,
        "EXTENSION": parse_create_extension,
    }
)

_REPLACEABLE: Mapping[tuple[str, ...], Callable[[Cursor, bool], Statement]] = MappingProxyType(
    {
        ("VIEW",): lambda cursor, or_replace: _parse_create_view(cursor, or_replace),
        ("RECURSIVE", "VIEW"): lambda cursor, or_replace: parse_create_recursive_view(cursor, or_replace),
        ("MATERIALIZED", "VIEW"): lambda cursor, or_replace: _parse_create_materialized_view(cursor, or_replace),
        ("FUNCTION",): lambda cursor, or_replace: parse_create_function(cursor, or_replace=or_replace),
        ("AGGREGATE",): lambda cursor, or_replace: parse_create_aggregate(cursor, or_replace=or_replace),
        ("PROCEDURE",): lambda cursor, or_replace: parse_create_procedure(cursor, or_replace=or_replace),
    }
)


def parse_create(cursor: Cursor) -> Statement:
    """Raises FeatureNotSupported (0A000) for OR REPLACE of tables, sources and sinks."""
    cursor.expect("CREATE")
    or_replace = cursor.accept("OR", "REPLACE")
    if not or_replace and cursor.accept("UNLOGGED"):
        cursor.expect("TABLE")
        return replace(_parse_create_table(cursor), unlogged=True)
    if _accept_temporary(cursor):
        return _parse_create_temporary(cursor, or_replace)
    for words, parse_replaced in _REPLACEABLE.items():
        if cursor.accept(*words):
            return parse_replaced(cursor, or_replace)
    if or_replace and cursor.word in ("TABLE", "SOURCE", "SINK", "SUBSCRIPTION"):
        cursor.unsupported(f"CREATE OR REPLACE {cursor.word}")
    if cursor.accept("TABLE"):
        return _parse_create_table(cursor)
    if cursor.accept("SOURCE"):
        return _parse_create_source(cursor)
    for word, parse_created in _PARSERS.items():
        if cursor.accept(word):
            return parse_created(cursor)
    if cursor.word in OTHER_OBJECTS:
        cursor.unsupported(f"CREATE {cursor.word}")
    return cursor.fail()


def _accept_temporary(cursor: Cursor) -> bool:
    """Takes `[LOCAL | GLOBAL] TEMP | TEMPORARY`, if that comes next. As in PostgreSQL, both are the same."""
    words = ((*scope, word) for scope in ((), ("LOCAL",), ("GLOBAL",)) for word in ("TEMP", "TEMPORARY"))
    return any(cursor.accept(*each) for each in words)


def _parse_create_temporary(cursor: Cursor, or_replace: bool) -> Statement:
    """What may be temporary: a view, and, without OR REPLACE, a table or a sequence."""
    if cursor.accept("VIEW"):
        return replace(_parse_create_view(cursor, or_replace), temporary=True)
    if cursor.accept("RECURSIVE", "VIEW"):
        return replace(parse_create_recursive_view(cursor, or_replace), temporary=True)
    if or_replace:
        cursor.fail()
    if cursor.accept("SEQUENCE"):
        return replace(parse_create_sequence(cursor), temporary=True)
    cursor.expect("TABLE")
    return replace(_parse_create_table(cursor), temporary=True)


def _parse_create_table(cursor: Cursor) -> CreateTable | CreateTableAs:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    if (query := parse_table_of_query(cursor, name, if_not_exists=if_not_exists)) is not None:
        return query
    elements = parse_elements(cursor)
    columns, keys = elements.columns, elements.keys
    append_only = cursor.accept("APPEND", "ONLY")
    on_conflict = _parse_on_conflict(cursor)
    is_versioned = cursor.accept("WITH", "VERSION", "COLUMN")
    version_columns = tuple(cursor.in_parentheses(cursor.name)) if is_versioned else ()
    includes, reader = parse_includes(cursor), OptionsReader(cursor)
    options, storage, own = _table_options(cursor, reader)
    on_commit = parse_on_commit(cursor)
    validation, secret = _parse_validation(cursor) if options else (None, None)
    message_format = parse_format(cursor, reader)
    copied = parse_copied_table(cursor, all_columns=elements.all_columns)
    if elements.all_columns and copied is None and not options:
        cursor.fail()
    for word in ("WITH", "FROM", "AS", "ENGINE", "PARTITION", "INHERITS", "TABLESPACE"):
        if cursor.word == word:
            cursor.unsupported(f"CREATE TABLE … {word}")
    if elements.likes and options:
        message = "LIKE is not supported in a table that a source feeds"
        raise FeatureNotSupported(message, position=elements.likes[0].table.position)
    if len(keys) + sum(column.primary_key for column in columns) > 1:
        raise InvalidTableDefinition(
            f'multiple primary keys for table "{name.name}" are not allowed', position=name.position
        )
    key = keys[0].columns if keys else None
    names = [keys[0].name.name] if keys and keys[0].name else [c.key_name for c in columns if c.key_name is not None]
    watermark = elements.watermark
    return CreateTable(
        *(name, columns, key, append_only, if_not_exists, on_conflict, version_columns, watermark, options),
        *(validation, copied, includes, message_format, tuple(reader.places), elements.all_columns, elements.place),
        storage_parameters=storage,
        references=tuple(reader.references),
        validation_secret=secret,
        constraints=elements.constraints,
        key_name=names[0] if names else None,
        on_commit=on_commit,
        likes=elements.likes,
        retention=own.get("retention_seconds"),
        ttl=own.get("ttl"),
        row_timestamp=own.get("row_timestamp"),
    )


def _table_options(
    cursor: Cursor, reader: OptionsReader
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...], dict[str, OptionText]]:
    """(The options of a source, the names of PostgreSQL's storage parameters, those of every table, by name).

    One of the first two is empty.
    """
    if cursor.peek(2) != ["WITH", "("]:
        return (), (), {}
    cursor.expect("WITH")
    options, own = reader.read(), dict[str, OptionText]()
    for place in [each for each in reader.places if each.name in _OWN and not each.is_reference]:
        own[place.name] = OptionText(dict(options)[place.name], place.begin)
        reader.places.remove(place)
    options = tuple(option for option in options if option[0] not in _OWN)
    if not all(is_storage_parameter(name) for name, _ in options):
        return options, (), own
    reader.places.clear()
    return (), tuple(name for name, _ in options), own


def _parse_validation(cursor: Cursor) -> tuple[Expression | None, ObjectName | None]:
    """`VALIDATE [SECRET name] AS expression`, of a webhook: (the expression, the name)."""
    if not cursor.accept("VALIDATE"):
        return None, None
    secret = cursor.object_name() if cursor.accept("SECRET") else None
    cursor.expect("AS")
    return cursor.expression(), secret


def _parse_on_conflict(cursor: Cursor) -> ConflictBehavior | None:
    if not cursor.accept("ON", "CONFLICT"):
        return None
    if cursor.accept("OVERWRITE"):
        return ConflictBehavior.OVERWRITE
    if cursor.accept("IGNORE"):
        return ConflictBehavior.IGNORE
    cursor.expect("DO")
    if cursor.accept("NOTHING"):
        return ConflictBehavior.IGNORE
    cursor.expect("UPDATE")
    if cursor.accept("FULL"):
        return ConflictBehavior.OVERWRITE
    cursor.expect("IF", "NOT", "NULL")
    return ConflictBehavior.FILL


def _parse_create_source(cursor: Cursor) -> CreateSource:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    elements = parse_elements(cursor) if cursor.word == "(" else TableElements()
    if elements.keys:
        raise no_key_of_source(cursor.position)
    if elements.constraints:
        message = "a source has no constraints: it keeps no rows"
        raise FeatureNotSupported(message, position=elements.constraints[0].position)
    if elements.likes:
        raise FeatureNotSupported("LIKE is not supported in a source", position=elements.likes[0].table.position)
    includes = parse_includes(cursor)
    reader = OptionsReader(cursor)
    options = reader.read() if cursor.accept("WITH") else ()
    message_format = parse_format(cursor, reader)
    places = tuple(reader.places)
    return CreateSource(
        name,
        elements.columns,
        options,
        if_not_exists,
        elements.watermark,
        includes,
        message_format,
        places,
        all_columns=elements.all_columns,
        columns_place=elements.place,
        references=tuple(reader.references),
    )


def _parse_create_view(cursor: Cursor, or_replace: bool) -> CreateView:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    columns = cursor.in_parentheses(cursor.name) if cursor.word == "(" else ()
    if cursor.word == "WITH":
        cursor.unsupported("CREATE VIEW … WITH")
    cursor.expect("AS")
    return CreateView(name, columns, cursor.query(), if_not_exists, or_replace)


def _parse_create_materialized_view(cursor: Cursor, or_replace: bool) -> CreateMaterializedView:
    if_not_exists = not or_replace and cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    columns = cursor.in_parentheses(cursor.name) if cursor.word == "(" else ()
    options = parse_view_options(cursor) if cursor.word == "WITH" else ViewOptions()
    cursor.expect("AS")
    query = cursor.query()
    emit_on_window_close = with_no_data = False
    if cursor.accept("EMIT") and not cursor.accept("IMMEDIATELY"):
        cursor.expect("ON", "WINDOW", "CLOSE")
        emit_on_window_close = True
    if cursor.accept("WITH"):
        with_no_data = cursor.accept("NO")
        cursor.expect("DATA")
    return CreateMaterializedView(
        *(name, columns, query, if_not_exists, emit_on_window_close, or_replace, options.recursion_limit),
        with_no_data=with_no_data,
        ttl=options.ttl,
        refresh_seconds=options.refresh_seconds,
        backfill_rate_limit=options.backfill_rate_limit,
        without_effect=options.without_effect,
    )
