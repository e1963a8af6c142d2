"""CREATE."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Literal

from risingpy.errors import FeatureNotSupported, InvalidTableDefinition
from risingpy.frontend.parser.ast import (
    ColumnDefinition,
    CreateMaterializedView,
    CreateSource,
    CreateTable,
    CreateTableAs,
    CreateView,
    Expression,
    ObjectName,
    SequenceOptions,
    Statement,
    TypeName,
    WatermarkDefinition,
)
from risingpy.frontend.parser.ast_constraints import ConstraintDefinition, KeyDefinition
from risingpy.frontend.parser.ast_create import TextPlace
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
from risingpy.frontend.parser.creation.constraint import (
    begins_table_constraint,
    parse_column_constraint,
    parse_table_constraint,
)
from risingpy.frontend.parser.creation.function import (
    parse_create_aggregate,
    parse_create_function,
)
from risingpy.frontend.parser.creation.index import parse_create_index, parse_create_unique_index
from risingpy.frontend.parser.creation.sequence import parse_create_sequence, parse_numbering
from risingpy.frontend.parser.creation.view_options import parse_recursion_limit
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.databases.parsing import (
    parse_create_database,
    parse_create_schema,
)
from risingpy.frontend.parser.dml.table_of_query import parse_on_commit, parse_table_of_query
from risingpy.frontend.parser.keywords import OTHER_OBJECTS
from risingpy.frontend.parser.subscriptions import parse_create_subscription
from risingpy.plan.operators import ConflictBehavior

_OTHER_CONSTRAINTS = ("GENERATED", "AS", "COLLATE")
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
    }
)


def parse_create(cursor: Cursor) -> Statement:
    """Raises FeatureNotSupported (0A000) for UNLOGGED, and for OR REPLACE of tables, sources and sinks."""
    cursor.expect("CREATE")
    or_replace = cursor.accept("OR", "REPLACE")
    if cursor.word == "UNLOGGED":
        cursor.unsupported(f"CREATE {cursor.word}")
    if _accept_temporary(cursor):
        return _parse_create_temporary(cursor, or_replace)
    if cursor.accept("VIEW"):
        return _parse_create_view(cursor, or_replace)
    if cursor.accept("FUNCTION"):
        return parse_create_function(cursor, or_replace=or_replace)
    if cursor.accept("AGGREGATE"):
        return parse_create_aggregate(cursor, or_replace=or_replace)
    if or_replace and cursor.word in ("TABLE", "SOURCE", "SINK", "SUBSCRIPTION"):
        cursor.unsupported(f"CREATE OR REPLACE {cursor.word}")
    if cursor.accept("TABLE"):
        return _parse_create_table(cursor)
    if cursor.accept("MATERIALIZED", "VIEW"):
        return _parse_create_materialized_view(cursor, or_replace)
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
    elements = _parse_columns(cursor)
    columns, keys = elements.columns, elements.keys
    append_only = cursor.accept("APPEND", "ONLY")
    on_conflict = _parse_on_conflict(cursor)
    version_column = None
    if cursor.accept("WITH", "VERSION", "COLUMN"):
        version_column, *others = cursor.in_parentheses(cursor.name)
        if others:
            text = "WITH VERSION COLUMN of several columns is not supported"
            raise FeatureNotSupported(text, position=others[0].position)
    includes, reader = parse_includes(cursor), OptionsReader(cursor)
    options, storage = _table_options(cursor, reader)
    on_commit = parse_on_commit(cursor)
    validation, secret = _parse_validation(cursor) if options else (None, None)
    message_format = parse_format(cursor, reader)
    copied = parse_copied_table(cursor, all_columns=elements.all_columns)
    if elements.all_columns and copied is None and not options:
        cursor.fail()
    for word in ("WITH", "FROM", "AS", "ENGINE", "PARTITION", "INHERITS", "TABLESPACE"):
        if cursor.word == word:
            cursor.unsupported(f"CREATE TABLE … {word}")
    if len(keys) + sum(column.primary_key for column in columns) > 1:
        raise InvalidTableDefinition(
            f'multiple primary keys for table "{name.name}" are not allowed', position=name.position
        )
    key = keys[0].columns if keys else None
    names = [keys[0].name.name] if keys and keys[0].name else [c.key_name for c in columns if c.key_name is not None]
    watermark = elements.watermark
    return CreateTable(
        *(name, columns, key, append_only, if_not_exists, on_conflict, version_column, watermark, options),
        *(validation, copied, includes, message_format, tuple(reader.places), elements.all_columns, elements.place),
        storage_parameters=storage,
        references=tuple(reader.references),
        validation_secret=secret,
        constraints=elements.constraints,
        key_name=names[0] if names else None,
        on_commit=on_commit,
    )


def _table_options(cursor: Cursor, reader: OptionsReader) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """(The options of a source, the names of PostgreSQL's storage parameters), one of which is empty."""
    if cursor.peek(2) != ["WITH", "("]:
        return (), ()
    cursor.expect("WITH")
    options = reader.read()
    if not all(is_storage_parameter(name) for name, _ in options):
        return options, ()
    reader.places.clear()
    return (), tuple(name for name, _ in options)


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


@dataclass(frozen=True, slots=True)
class _TableElements:
    """What stands in the parentheses of CREATE TABLE."""

    columns: tuple[ColumnDefinition, ...] = ()
    keys: tuple[KeyDefinition, ...] = ()
    watermark: WatermarkDefinition | None = None
    all_columns: bool = False  # (*)
    place: TextPlace | None = None
    constraints: tuple[ConstraintDefinition, ...] = ()


def _parse_columns(cursor: Cursor) -> _TableElements:
    columns: list[ColumnDefinition] = []
    constraints: list[ConstraintDefinition] = []
    watermarks: list[WatermarkDefinition] = []
    stars: list[str] = []

    def element() -> None:
        if cursor.accept("*"):
            stars.append("*")
            return
        if cursor.peek(2) == ["WATERMARK", "FOR"]:
            watermarks.append(_parse_watermark(cursor))
            return
        if cursor.word == "LIKE":
            cursor.unsupported("LIKE")
        if begins_table_constraint(cursor):
            constraints.append(parse_table_constraint(cursor))
            return
        column, its_constraints = parse_column(cursor)
        columns.append(column)
        constraints.extend(its_constraints)

    begin = cursor.position
    cursor.expect("(")
    if cursor.word != ")":
        cursor.comma_separated(element)
    place = TextPlace(begin, cursor.position + 1)
    cursor.expect(")")
    if len(watermarks) > 1:
        message = "more than one WATERMARK of a table is not supported"
        raise FeatureNotSupported(message, position=watermarks[1].position)
    keys = tuple(each for each in constraints if isinstance(each, KeyDefinition))
    others = tuple(each for each in constraints if not isinstance(each, KeyDefinition))
    watermark = watermarks[0] if watermarks else None
    return _TableElements(tuple(columns), keys, watermark, bool(stars), place, others)


def _parse_watermark(cursor: Cursor) -> WatermarkDefinition:
    position = cursor.position
    cursor.expect("WATERMARK", "FOR")
    column = cursor.name()
    cursor.expect("AS")
    watermark = WatermarkDefinition(column, cursor.expression(), position)
    if cursor.word == "WITH":
        cursor.unsupported("WATERMARK … WITH TTL")
    return watermark


def parse_column(cursor: Cursor) -> tuple[ColumnDefinition, tuple[ConstraintDefinition, ...]]:
    """(One column, its UNIQUE, CHECK and REFERENCES); what says something of the column comes in any order.

    The name of NOT NULL and of other such words is read and dropped.
    """
    name = cursor.name()
    type_name: TypeName = cursor.type_name()
    not_null = primary_key = False
    default: Expression | None = None
    generated: Expression | None = None
    identity: Literal["ALWAYS", "BY DEFAULT"] | None = None
    numbering = SequenceOptions()
    constraints: list[ConstraintDefinition] = []
    key_name: str | None = None
    while not cursor.at_end and cursor.word not in (",", ")"):
        given_name = cursor.name() if cursor.accept("CONSTRAINT") else None
        constraint = parse_column_constraint(cursor, given_name, name)
        if constraint is not None:
            constraints.append(constraint)
        elif cursor.accept("NOT", "NULL"):
            not_null = True
        elif cursor.accept("PRIMARY KEY"):
            primary_key, key_name = True, None if given_name is None else given_name.name
        elif cursor.accept("DEFAULT"):
            default = cursor.default_expression()
        elif cursor.accept("GENERATED", "BY", "DEFAULT", "AS", "IDENTITY"):
            identity, numbering = "BY DEFAULT", parse_numbering(cursor)
        elif cursor.accept("GENERATED", "ALWAYS", "AS", "IDENTITY"):
            identity, numbering = "ALWAYS", parse_numbering(cursor)
        elif cursor.accept("AS") or cursor.accept("GENERATED", "ALWAYS", "AS"):
            generated = cursor.generation_expression()
            cursor.accept("STORED")
        elif cursor.word in _OTHER_CONSTRAINTS:
            cursor.unsupported(f"{cursor.word} constraint")
        elif not cursor.accept("NULL"):
            cursor.fail()
    column = ColumnDefinition(
        name.name, type_name, name.position, not_null, primary_key, default, generated, identity, numbering, key_name
    )
    return column, tuple(constraints)


def _parse_create_source(cursor: Cursor) -> CreateSource:
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    elements = _parse_columns(cursor) if cursor.word == "(" else _TableElements()
    if elements.keys:
        raise no_key_of_source(cursor.position)
    if elements.constraints:
        message = "a source has no constraints: it keeps no rows"
        raise FeatureNotSupported(message, position=elements.constraints[0].position)
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
    recursion_limit = parse_recursion_limit(cursor) if cursor.word == "WITH" else None
    cursor.expect("AS")
    query = cursor.query()
    emit_on_window_close = False
    if cursor.accept("EMIT") and not cursor.accept("IMMEDIATELY"):
        cursor.expect("ON", "WINDOW", "CLOSE")
        emit_on_window_close = True
    if cursor.word == "WITH":
        cursor.unsupported("WITH [NO] DATA")
    return CreateMaterializedView(
        name, columns, query, if_not_exists, emit_on_window_close, or_replace, recursion_limit
    )
