"""ALTER SYSTEM SET parallelism: the number of shards that the next start moves the state to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.config import MAX_PARALLELISM
from risingpy.errors import InvalidParameterValue, UndefinedObject
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.parser.ast_alter import AlterSystem
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.wire.session_protocol import Result
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: AlterSystem, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    if statement.name != "parallelism":
        raise UndefinedObject(
            f'unrecognized system parameter "{statement.name}"',
            position=statement.position,
            hint="parallelism is the one that can be set.",
        )
    shards = session.database.shards if statement.value is None else _shards(statement.value)

    def run(parameters: Parameters) -> Result:
        session.database.alter_parallelism(shards)
        if shards != session.database.shards:
            session.notice(f"the next start of the server will move the state to {shards} shards")
        return Result("ALTER SYSTEM")

    return PreparedStatement(run)


def _shards(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= MAX_PARALLELISM:
        message = f'invalid value for parameter "parallelism": "{value}"'
        raise InvalidParameterValue(message, hint=f"It is a whole number from 1 to {MAX_PARALLELISM}.")
    return int(value)
