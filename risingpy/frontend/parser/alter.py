"""ALTER TABLE, VIEW, MATERIALIZED VIEW, SOURCE, SINK, SUBSCRIPTION, SYSTEM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.parser.ast import Statement
from risingpy.frontend.parser.ast_alter import (
    AddColumn,
    AddConstraint,
    AddIdentity,
    AddPrimaryKey,
    AlterAction,
    AlterConnector,
    AlterRelation,
    AlterSink,
    AlterSource,
    AlterSourceColumns,
    AlterSubscription,
    AlterSystem,
    AlterTable,
    AlterWatermark,
    DropColumn,
    DropConstraint,
    DropIdentity,
    RenameColumn,
    RenameConstraint,
    ResetTtl,
    SetDefault,
    SetEndOfRows,
    SetIdentity,
    SetNotNull,
    SetRowTimestamp,
    SetType,
    ValidateConstraint,
    WithoutEffect,
)
from risingpy.frontend.parser.ast_constraints import KeyDefinition, UniqueDefinition
from risingpy.frontend.parser.ast_create import OptionText
from risingpy.frontend.parser.ast_parts import ColumnName, ObjectName, SequenceOptions
from risingpy.frontend.parser.connectors.secret import parse_alter_connection, parse_alter_secret
from risingpy.frontend.parser.connectors.source import OptionsReader, is_storage_parameter
from risingpy.frontend.parser.creation.constraint import begins_table_constraint, parse_table_constraint, primary_key
from risingpy.frontend.parser.creation.function import parse_alter_function
from risingpy.frontend.parser.creation.sequence import parse_altered_sequence, parse_numbering, parse_one_option
from risingpy.frontend.parser.creation.table_elements import parse_column, parse_watermark
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.databases.parsing import parse_alter_database
from risingpy.frontend.parser.dropping import parse_cascade
from risingpy.frontend.parser.jobs.parse import parse_limit
from risingpy.frontend.parser.roles.names import role_name
from risingpy.frontend.parser.roles.trees import AlterOwner
from risingpy.frontend.parser.user_types.domains import parse_alter_domain
from risingpy.frontend.parser.user_types.parsing import parse_alter_type
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

_IDENTITY_OPTIONS = ("GENERATED", "INCREMENT", "MINVALUE", "MAXVALUE", "NO", "START", "RESTART", "CACHE", "CYCLE")
_OF_AN_INDEX = (("CLUSTER", "ON"),)
_WITHOUT_EFFECT = (*_OF_AN_INDEX, ("SET", "WITHOUT", "CLUSTER"), ("SET", "LOGGED"), ("SET", "UNLOGGED"))
_OWN_OPTIONS = ("ttl", "retention_seconds", "row_timestamp")  # of tables
_KINDS_OF_STORAGE = ("PLAIN", "EXTERNAL", "EXTENDED", "MAIN", "DEFAULT")
_OTHER_ACTIONS = (
    "OWNER",
    "ENABLE",
    "DISABLE",
    "INHERIT",
    "ATTACH",
    "DETACH",
    "REPLICA",
    "REFRESH",
)


def parse_alter(cursor: Cursor) -> Statement:
    """ALTER SYSTEM, a new name or schema for a relation, or a table's actions on columns.

    Raises FeatureNotSupported (0A000) for actions on other relations than tables.
    """
    cursor.expect("ALTER")
    for word, parse_altered in _OTHER_KINDS.items():
        if cursor.accept(word):
            return parse_altered(cursor)
    kind = _parse_kind(cursor)
    if_exists = cursor.accept("IF", "EXISTS")
    if kind is Table and cursor.word == "ONLY":
        cursor.expect("ONLY")
    name = cursor.object_name()
    of_any = _parse_new_name(cursor, kind, name, if_exists) or parse_limit(cursor, kind, name, if_exists)
    if of_any is not None:
        return of_any
    limited = kind in (ExternalSource, Table) and cursor.peek(2) == ["SET", "SOURCE_RATE_LIMIT"]
    if limited and cursor.accept("SET"):
        return _parse_source_option(cursor, name, if_exists)
    if (kind is ExternalSource and cursor.word in ("SET", "CONNECTOR")) or (
        kind is Table and cursor.word == "CONNECTOR"
    ):
        reader = OptionsReader(cursor)
        options = reader.altered()
        position = reader.places[0].begin if reader.places else cursor.position
        return AlterConnector(kind, name, options, position, if_exists, tuple(reader.places), tuple(reader.references))
    position = cursor.position
    if kind in (ExternalSource, Table) and cursor.accept("REFRESH", "SCHEMA"):
        return AlterSourceColumns(kind, name, None, position, if_exists)
    if kind is ExternalSource and cursor.accept("ADD"):
        return AlterSourceColumns(kind, name, _parse_added_column(cursor), position, if_exists)
    if kind is NumberSequence:
        return parse_altered_sequence(cursor, name, if_exists)
    if kind is Sink:
        return _parse_sink_options(cursor, name, if_exists)
    if kind is Subscription and cursor.accept("SET"):
        position = cursor.position
        return AlterSubscription(name, OptionsReader(cursor).option(), position, if_exists)
    if kind is not Table:
        cursor.unsupported(f"ALTER {kind.noun.upper()} … {cursor.word}")
    return _parse_table_actions(cursor, name, if_exists)


def _parse_source_option(cursor: Cursor, name: ObjectName, if_exists: bool) -> AlterSource:
    position = cursor.position
    option = cursor.any_word().lower()
    cursor.one_of("TO", "=")
    return AlterSource(name, option, cursor.value(), position, if_exists)


def _parse_sink_options(cursor: Cursor, name: ObjectName, if_exists: bool) -> AlterSink:
    reader, begin = OptionsReader(cursor), cursor.position
    options = reader.altered()
    if cursor.position == begin:
        cursor.unsupported(f"ALTER SINK … {cursor.word}")
    position = reader.places[0].begin if reader.places else begin
    return AlterSink(name, options, position, if_exists, tuple(reader.places), tuple(reader.references))


def _parse_system(cursor: Cursor) -> AlterSystem:
    cursor.expect("SET")
    position = cursor.position
    name = cursor.any_word().lower()
    cursor.one_of("TO", "=")
    return AlterSystem(name, None if cursor.accept("DEFAULT") else cursor.value(), position)


def _parse_kind(cursor: Cursor) -> RelationClass:
    if cursor.accept("TABLE"):
        return Table
    if cursor.accept("MATERIALIZED", "VIEW"):
        return MaterializedView
    if cursor.accept("VIEW"):
        return View
    if cursor.accept("SOURCE"):
        return ExternalSource
    if cursor.accept("SINK"):
        return Sink
    if cursor.accept("SUBSCRIPTION"):
        return Subscription
    if cursor.accept("INDEX"):
        return Index
    if cursor.accept("SEQUENCE"):
        return NumberSequence
    return cursor.unsupported(f"ALTER {cursor.word}")


def _parse_new_name(
    cursor: Cursor, kind: RelationClass, name: ObjectName, if_exists: bool
) -> AlterRelation | AlterOwner | None:
    if cursor.accept("OWNER", "TO"):
        return AlterOwner(kind, name, role_name(cursor), if_exists)
    if cursor.accept("RENAME", "TO"):
        return AlterRelation(kind, name, cursor.name(), None, if_exists)
    if kind in (View, MaterializedView) and cursor.accept("RENAME"):
        cursor.accept("COLUMN")
        column = cursor.name()
        cursor.expect("TO")
        return AlterRelation(kind, name, cursor.name(), None, if_exists, column=column)
    if cursor.accept("SET", "SCHEMA"):
        return AlterRelation(kind, name, None, cursor.name(), if_exists)
    if cursor.accept("SWAP", "WITH"):
        return AlterRelation(kind, name, if_exists=if_exists, swapped=cursor.object_name())
    return None


def _parse_table_actions(cursor: Cursor, name: ObjectName, if_exists: bool) -> AddPrimaryKey | AlterTable:
    key = _parse_primary_key(cursor, name, if_exists)
    return key or AlterTable(name, cursor.comma_separated(lambda: _parse_action(cursor, name)), if_exists)


def _parse_primary_key(cursor: Cursor, name: ObjectName, if_exists: bool) -> AddPrimaryKey | AlterTable | None:
    """ADD [CONSTRAINT name] PRIMARY KEY (columns), perhaps with more actions. A DEFERRABLE one is a constraint."""
    position, words = cursor.position, [" ".join(word.split()) for word in cursor.peek(4)]
    if words[:2] != ["ADD", "PRIMARY KEY"] and (words[:2] != ["ADD", "CONSTRAINT"] or words[3:] != ["PRIMARY KEY"]):
        return None
    cursor.expect("ADD")
    key_name = cursor.name() if cursor.accept("CONSTRAINT") else None
    cursor.expect("PRIMARY KEY")
    if cursor.word == "USING":
        cursor.unsupported("ADD PRIMARY KEY USING INDEX")
    key = primary_key(cursor, key_name, cursor.in_parentheses(cursor.name), position)
    more = cursor.comma_separated(lambda: _parse_action(cursor, name)) if cursor.accept(",") else ()
    if isinstance(key, UniqueDefinition):
        not_null = tuple(SetNotNull(column, not_null=True) for column in key.columns)
        return AlterTable(name, (*not_null, AddConstraint(key), *more), if_exists)
    added = AddPrimaryKey(name, key.columns, position, if_exists, None if key_name is None else key_name.name)
    return AlterTable(name, (added, *more), if_exists) if more else added


def _parse_action(cursor: Cursor, table: ObjectName) -> AlterAction | WithoutEffect:
    if cursor.accept("ADD"):
        if begins_table_constraint(cursor):
            constraint = parse_table_constraint(cursor)
            if isinstance(constraint, KeyDefinition):
                key_name = None if constraint.name is None else constraint.name.name
                return AddPrimaryKey(table, constraint.columns, constraint.position, key_name=key_name)
            return AddConstraint(constraint)
        return _parse_added_column(cursor)
    if cursor.accept("DROP"):
        if cursor.accept("CONSTRAINT"):
            if_exists = cursor.accept("IF", "EXISTS")
            return DropConstraint(cursor.name(), if_exists, parse_cascade(cursor))
        cursor.accept("COLUMN")
        if_exists = cursor.accept("IF", "EXISTS")
        return DropColumn(cursor.name(), if_exists, parse_cascade(cursor))
    if cursor.accept("RENAME"):
        if cursor.accept("CONSTRAINT"):
            constraint_name = cursor.name()
            cursor.expect("TO")
            return RenameConstraint(constraint_name, cursor.name())
        cursor.accept("COLUMN")
        column = cursor.name()
        cursor.expect("TO")
        return RenameColumn(column, cursor.name())
    if cursor.accept("ALTER"):
        if cursor.peek(2) == ["WATERMARK", "FOR"]:
            return AlterWatermark(parse_watermark(cursor))
        cursor.accept("COLUMN")
        return _parse_column_action(cursor)
    if cursor.accept("VALIDATE", "CONSTRAINT"):
        return ValidateConstraint(cursor.name())
    stored = _parse_stored_form(cursor)
    if stored is not None:
        return stored
    if cursor.word in _OTHER_ACTIONS or cursor.word == "SET":
        cursor.unsupported(f"ALTER TABLE … {cursor.word}")
    return cursor.fail()


def _parse_stored_form(cursor: Cursor) -> SetEndOfRows | ResetTtl | SetRowTimestamp | WithoutEffect | None:
    """SET (…), RESET (…), and what PostgreSQL says of a table's rows on disk."""
    if cursor.peek(2) == ["SET", "("]:
        return _parse_set_option(cursor)
    if cursor.peek(2) == ["RESET", "("]:
        return _parse_reset(cursor)
    words = next((words for words in _WITHOUT_EFFECT if cursor.accept(*words)), None)
    if words is None:
        return None
    name = f" {cursor.name().name}" if words in _OF_AN_INDEX else ""
    return WithoutEffect(f"{' '.join(words)}{name}")


def _parse_set_option(cursor: Cursor) -> SetEndOfRows | SetRowTimestamp | WithoutEffect:
    """SET of `ttl`, `retention_seconds` or `row_timestamp`; what PostgreSQL has there besides has no effect."""
    cursor.expect("SET", "(")
    position = cursor.position
    name, value = OptionsReader(cursor).option()
    if name in _OWN_OPTIONS:
        cursor.expect(")")
        given = OptionText(value, position)
        return SetRowTimestamp(given) if name == "row_timestamp" else SetEndOfRows(name, given)
    names = [_storage_parameter(name, position, "SET", "It can set ttl, retention_seconds and row_timestamp.")]
    while cursor.accept(","):
        position = cursor.position
        name, _ = OptionsReader(cursor).option()
        hint = "One statement sets ttl, retention_seconds or row_timestamp, another one the others."
        names.append(_storage_parameter(name, position, "SET", hint))
    cursor.expect(")")
    return WithoutEffect(f"SET ({', '.join(names)})")


def _parse_reset(cursor: Cursor) -> ResetTtl | SetRowTimestamp | WithoutEffect:
    """RESET of `ttl` or `row_timestamp`; what PostgreSQL has there besides has no effect."""
    cursor.expect("RESET", "(")
    names: list[str] = []
    while True:
        position = cursor.position
        name = cursor.name().name
        while cursor.accept("."):
            name += f".{cursor.name().name}"
        if name in ("ttl", "row_timestamp") and not names:
            cursor.expect(")")
            return ResetTtl() if name == "ttl" else SetRowTimestamp(None)
        names.append(_storage_parameter(name, position, "RESET", "It can reset ttl and row_timestamp."))
        if not cursor.accept(","):
            break
    cursor.expect(")")
    return WithoutEffect(f"RESET ({', '.join(names)})")


def _storage_parameter(name: str, position: int, verb: str, hint: str) -> str:
    if not is_storage_parameter(name):
        message = f'ALTER TABLE … {verb} of the parameter "{name}" is not supported'
        raise FeatureNotSupported(message, position=position, hint=hint)
    return name


def _parse_added_column(cursor: Cursor) -> AddColumn:
    cursor.accept("COLUMN")
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    column, constraints = parse_column(cursor)
    return AddColumn(column, if_not_exists, constraints)


def _parse_column_action(cursor: Cursor) -> AlterAction | WithoutEffect:
    column = cursor.name()
    if cursor.accept("DROP", "DEFAULT"):
        return SetDefault(column, None)
    if cursor.accept("DROP", "IDENTITY"):
        return DropIdentity(column, cursor.accept("IF", "EXISTS"))
    if cursor.accept("ADD", "GENERATED"):
        return _parse_added_identity(cursor, column)
    if cursor.word == "RESTART" or cursor.peek(2)[-1] in _IDENTITY_OPTIONS:
        return _parse_identity_options(cursor, column)
    if cursor.accept("DROP", "NOT", "NULL"):
        return SetNotNull(column, not_null=False)
    if cursor.accept("SET", "NOT", "NULL"):
        return SetNotNull(column, not_null=True)
    if cursor.accept("SET", "DEFAULT"):
        return SetDefault(column, cursor.expression())
    if cursor.accept("TYPE") or cursor.accept("SET", "DATA", "TYPE"):
        type_name = cursor.type_name()
        return SetType(column, type_name, cursor.expression() if cursor.accept("USING") else None)
    if cursor.accept("SET", "STATISTICS"):
        return WithoutEffect(f"SET STATISTICS {cursor.value()}", column)
    if cursor.accept("SET", "STORAGE"):
        return WithoutEffect(f"SET STORAGE {cursor.one_of(*_KINDS_OF_STORAGE)}", column)
    if cursor.accept("SET", "COMPRESSION"):
        return WithoutEffect(f"SET COMPRESSION {cursor.value()}", column)
    if cursor.word in ("SET", "DROP", "ADD", "RESET"):
        cursor.unsupported(f"ALTER TABLE … ALTER COLUMN … {' '.join(cursor.peek(2))}")
    return cursor.fail()


def _parse_added_identity(cursor: Cursor, column: ColumnName) -> AddIdentity:
    always = cursor.accept("ALWAYS")
    if not always:
        cursor.expect("BY", "DEFAULT")
    cursor.expect("AS", "IDENTITY")
    return AddIdentity(column, always, parse_numbering(cursor))


def _parse_identity_options(cursor: Cursor, column: ColumnName) -> SetIdentity:
    """`SET GENERATED ALWAYS | BY DEFAULT`, `SET` before each option of a sequence, RESTART."""
    always: bool | None = None
    options: list[SequenceOptions] = []
    while cursor.word in ("SET", "RESTART"):
        if cursor.accept("SET", "GENERATED"):
            always = cursor.accept("ALWAYS")
            if not always:
                cursor.expect("BY", "DEFAULT")
            continue
        cursor.accept("SET")
        options.append(parse_one_option(cursor))
    return SetIdentity(column, always, tuple(options))


_OTHER_KINDS: Mapping[str, Callable[[Cursor], Statement]] = MappingProxyType(
    {
        "SYSTEM": _parse_system,
        "DATABASE": parse_alter_database,
        "SECRET": parse_alter_secret,
        "CONNECTION": parse_alter_connection,
        "TYPE": parse_alter_type,
        "DOMAIN": parse_alter_domain,
        "FUNCTION": lambda cursor: parse_alter_function(cursor, "function"),
        "AGGREGATE": lambda cursor: parse_alter_function(cursor, "aggregate"),
        "PROCEDURE": lambda cursor: parse_alter_function(cursor, "procedure"),
        "ROUTINE": lambda cursor: parse_alter_function(cursor, "routine"),
    }
)
