"""CREATE SOURCE."""

from __future__ import annotations

import re
from collections.abc import Sequence

from risingpy.connectors.formats.choice import decoder_of
from risingpy.connectors.registry import connector_of
from risingpy.errors import InvalidParameterValue, SqlError, SyntaxError_
from risingpy.frontend.binder import TableDefinition, bind_table
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import CreateSource, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.create_table import with_row_id
from risingpy.frontend.statements.create_view import new_schema, skipped
from risingpy.meta.schema.sources import NewSource
from risingpy.types import SqlType

_CREDENTIAL = re.compile(r"password|secret|token|credential|jaas|private|(^|[._])key($|[._])")


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: CreateSource, parameter_types: Sequence[SqlType]
) -> Command:
    """Options, format and columns are checked now, and the other system is reached when it runs."""
    defined = bind_table(statement, session=session.session_values())
    try:
        _check(statement, defined)
    except SqlError as error:
        error.position = error.position or statement.name.position
        raise

    def run(parameters: Parameters) -> Result:
        source = NewSource(
            schema_name=new_schema(session, statement.name),
            name=statement.name.name,
            columns=with_row_id(defined.columns),
            options=statement.options,
            definition=_without_credentials(parsed, statement),
            watermark=defined.watermark,
            message_format=statement.message_format,
            included=defined.included,
        )
        if not session.database.ddl.create_source(
            source, if_not_exists=statement.if_not_exists, cancelled=session.cancelled
        ):
            skipped(session, statement.name)
        return Result(CommandTag("CREATE SOURCE"))

    return Command(run)


def _without_credentials(parsed: ParsedStatement, statement: CreateSource) -> str:
    """The statement's text as SHOW CREATE SOURCE and the catalogs show it."""
    text = parsed.text
    for place in reversed(statement.option_places):
        if _CREDENTIAL.search(place.name):
            text = f"{text[: place.begin - 1 - parsed.offset]}'***'{text[place.end - 1 - parsed.offset :]}"
    return text


def _check(statement: CreateSource, defined: TableDefinition) -> None:
    """The options of the connector and of the format. Nothing is connected yet."""
    names = [name for name, _ in statement.options]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise SyntaxError_(f'option "{name}" specified more than once')
    if "connector" not in names:
        raise InvalidParameterValue("a source needs the option connector", hint="WITH (connector = 'kafka', …)")
    connector = connector_of(dict(statement.options))
    if not connector.gives_messages:
        if statement.message_format is not None or statement.includes:
            raise InvalidParameterValue(
                f"the {connector.name} connector gives rows: FORMAT … ENCODE … and INCLUDE are for messages"
            )
        return
    if statement.message_format is None:
        hint = "For example, FORMAT PLAIN ENCODE JSON."
        raise InvalidParameterValue(f"the {connector.name} connector needs FORMAT … ENCODE …", hint=hint)
    left_out = {column.column_id for column in defined.included}
    decoded = [(c.name, c.type) for c in defined.columns if c.column_id not in left_out and c.generated is None]
    decoder_of(statement.message_format, decoded, ())
