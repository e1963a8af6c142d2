"""What CREATE SOURCE says of the other system and its messages, checked; also CREATE TABLE … WITH (connector = …)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from risingpy.connectors.formats.choice import decoder_of
from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.formats.source_schema import has_schema, schema_columns, with_schema
from risingpy.connectors.included_columns import OF_FILES, OF_MQTT, OF_ONE_CONNECTOR, IncludedColumn
from risingpy.connectors.pushed import sends_messages
from risingpy.connectors.registry import connector_of, file_connector_of, is_pushed, pushed_connector_of
from risingpy.connectors.secrets.opened_options import OpenedOptions
from risingpy.connectors.seekable import GeneratorConnector
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.frontend.binder import TableDefinition
from risingpy.frontend.parser.ast import ColumnDefinition, CreateSource, CreateTable, TypeName
from risingpy.frontend.statements.connectors.options import check_names
from risingpy.plan.catalog import ColumnDesc, ExternalSource
from risingpy.types import SqlType

# RisingWave's users write these after datagen and nexmark, whose rows need no decoding.
_OF_GENERATORS = (None, MessageFormat("plain", "json"), MessageFormat("native", "native"))
SourceStatement = TypeVar("SourceStatement", CreateSource, CreateTable)


def with_schema_columns(statement: SourceStatement) -> SourceStatement:
    """The statement with the schema of its messages, and the schema's columns if it asks for them.

    It does with `(*)`, and where every column that it names is generated. Raises what `source_schema.with_schema` does,
    and InvalidParameterValue for `(*)` of messages that have no schema.
    """
    message_format = statement.message_format
    if message_format is None:
        return statement
    files = file_connector_of(dict(statement.options))
    if files is not None:
        message_format = files.format_at_creation(message_format)
    message_format = with_schema(message_format, dict(statement.options))
    columns: tuple[ColumnDefinition, ...] = statement.columns
    names_none = all(column.generated is not None for column in columns)
    in_files = files is not None and message_format.encoding == "parquet"
    if statement.all_columns or (names_none and (has_schema(message_format) or in_files)):
        position = statement.name.position
        described = files.columns() if files is not None and in_files else schema_columns(message_format)
        found: list[ColumnDefinition] = [
            ColumnDefinition(name, TypeName(str(type_), position, type_), position) for name, type_ in described
        ]
        columns = (*found, *columns)
    return replace(statement, columns=columns, message_format=message_format)


def checked_options(statement: CreateSource | CreateTable, defined: TableDefinition) -> tuple[tuple[str, str], ...]:
    """The options of a source, or of one that feeds a table, as they are stored; those of the format fit, too.

    Nothing is connected. Raises InvalidParameterValue, FeatureNotSupported or SyntaxError_.
    """
    check_names(statement.options)
    if "connector" not in dict(statement.options):
        raise InvalidParameterValue("a source needs the option connector", hint="WITH (connector = 'kafka', …)")
    if is_pushed(dict(statement.options)):
        return _checked_pushed(statement, defined)
    connector = connector_of(dict(statement.options), statement.message_format)
    is_of_files = file_connector_of(dict(statement.options)) is not None
    _check_includes(statement, connector.name, is_of_files=is_of_files)
    decoded = _decoded(defined.columns, defined.included)
    if isinstance(connector, GeneratorConnector) and statement.message_format in _OF_GENERATORS:
        connector.check_columns(decoded)
        if not statement.includes:
            return tuple({**dict(statement.options), **connector.options_at_creation()}.items())
    if not connector.gives_messages:
        if is_of_files:
            return statement.options
        if statement.message_format is not None or statement.includes:
            raise InvalidParameterValue(
                f"the {connector.name} connector gives rows: FORMAT … ENCODE … and INCLUDE are for messages"
            )
        return statement.options
    if statement.message_format is None:
        hint = "For example, FORMAT PLAIN ENCODE JSON."
        raise InvalidParameterValue(f"the {connector.name} connector needs FORMAT … ENCODE …", hint=hint)
    if not is_of_files and dict(statement.message_format.options).get("without_header", "true").lower() != "true":
        raise FeatureNotSupported("messages with a header line are not supported", hint="without_header = true")
    decoder_of(statement.message_format, decoded, [defined.columns[k].name for k in defined.primary_key])
    return statement.options


def check_source_columns(source: ExternalSource, options: OpenedOptions) -> None:
    """Checks that a source that is altered can read its columns. Raises as `checked_options`."""
    message_format = source.message_format
    if message_format is not None and options.message_format is not None:  # a new schema, and options in clear
        in_clear = {**dict(options.message_format.options), **dict(message_format.options)}
        message_format = replace(message_format, options=tuple(in_clear.items()))
    connector = connector_of(options.options, message_format)
    decoded = _decoded(source.columns[:-1], source.included)
    if isinstance(connector, GeneratorConnector) and message_format in _OF_GENERATORS:
        connector.check_columns(decoded)
    elif not connector.gives_messages or message_format is None:
        raise FeatureNotSupported(f"the {connector.name} connector gives the same columns always")
    else:
        decoder_of(message_format, decoded, [source.columns[k].name for k in source.table_key or ()])


def _decoded(columns: Sequence[ColumnDesc], included: Sequence[IncludedColumn]) -> list[tuple[str, SqlType]]:
    """The columns that come from the messages themselves."""
    left_out = {column.column_id for column in included}
    return [
        (column.name, column.type)
        for column in columns
        if column.column_id not in left_out and column.generated is None and not column.hidden
    ]


def _check_includes(statement: CreateSource | CreateTable, connector: str, *, is_of_files: bool) -> None:
    """Raises InvalidParameterValue for a part that the connector's messages do not have."""
    for include in statement.includes:
        owner = OF_ONE_CONNECTOR.get(include.part, connector)
        if (include.part not in OF_FILES) if is_of_files else (include.part == "file" or owner != connector):
            hint = f"It is {' or '.join(OF_FILES)}." if is_of_files else "Files are what posix_fs and s3 read."
            hint = hint if owner == connector else f"Messages of the {owner} connector have one."
            message = f'the {connector} connector has no "{include.part}" to include'
            raise InvalidParameterValue(message, hint=hint, position=include.position)


def _check_messages(statement: CreateSource | CreateTable, defined: TableDefinition, name: str) -> None:
    """Raises if a connector that sends each message once cannot feed what the statement makes."""
    if isinstance(statement, CreateSource):
        hint = "CREATE TABLE keeps them, and views read the table: the same text with TABLE in place of SOURCE."
        raise FeatureNotSupported(f"the {name} connector sends each message once, to a table", hint=hint)
    if statement.message_format is None:
        hint = "For example, FORMAT PLAIN ENCODE JSON."
        raise InvalidParameterValue(f"the {name} connector needs FORMAT … ENCODE …", hint=hint)
    if statement.message_format.row_format == "upsert":
        raise FeatureNotSupported(f"messages of the {name} connector have no key: FORMAT UPSERT is not for them")
    generated = [column.name for column in defined.columns if column.generated is not None]
    if generated:
        message = f'the generated column "{generated[0]}" of a table that the {name} connector feeds is not supported'
        raise FeatureNotSupported(message, hint="Compute it in a view.")
    for include in statement.includes:
        if include.part not in OF_MQTT:
            message = f'the {name} connector has no "{include.part}" to include'
            raise InvalidParameterValue(message, hint=f"It has {', '.join(OF_MQTT)}.", position=include.position)
    decoded = _decoded(defined.columns, defined.included)
    decoder_of(statement.message_format, decoded, [defined.columns[k].name for k in defined.primary_key])


def _checked_pushed(statement: CreateSource | CreateTable, defined: TableDefinition) -> tuple[tuple[str, str], ...]:
    pushed = pushed_connector_of(dict(statement.options))
    if sends_messages(pushed):
        _check_messages(statement, defined, pushed.name)
        return tuple({**dict(statement.options), **pushed.options_at_creation()}.items())
    if isinstance(statement, CreateTable):
        hint = "CREATE SOURCE first, and then CREATE TABLE t (*) FROM source TABLE '…'."
        raise FeatureNotSupported(f"a table of the {pushed.name} connector has a source of its own", hint=hint)
    if statement.columns or statement.message_format is not None or statement.includes:
        hint = f"CREATE TABLE t (*) FROM {statement.name.name} TABLE '…' copies a table of it."
        raise InvalidParameterValue(f"a source of the {pushed.name} connector has no columns", hint=hint)
    return tuple({**dict(statement.options), **pushed.options_at_creation()}.items())
