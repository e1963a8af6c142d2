"""DROP TABLE, VIEW, MATERIALIZED VIEW, SOURCE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from risingpy.frontend.parser.ast import Drop, ParsedStatement
from risingpy.frontend.prepared import Parameters, PreparedStatement
from risingpy.frontend.wire.session_protocol import Result
from risingpy.meta.ddl import DropTarget
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.frontend.session import ClientSession


def prepare(
    session: ClientSession, parsed: ParsedStatement, statement: Drop, parameter_types: Sequence[SqlType]
) -> PreparedStatement:
    def run(parameters: Parameters) -> Result:
        targets = [
            DropTarget(statement.kind, name.schema, name.name, session.search_path()) for name in statement.names
        ]
        notices = session.database.ddl.drop(
            targets,
            if_exists=statement.if_exists,
            cascade=statement.cascade,
            cancelled=session.cancelled,
            process_id=session.startup.process_id,
        )
        for notice in notices:
            session.notice(notice)
        return Result(f"DROP {statement.kind.value.upper()}")

    return PreparedStatement(run)
