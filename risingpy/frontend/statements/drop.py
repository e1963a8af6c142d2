"""DROP TABLE, VIEW, MATERIALIZED VIEW, SOURCE."""

from __future__ import annotations

from collections.abc import Sequence

from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import Drop, ParsedStatement
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.checks import check_drops, check_names_schema
from risingpy.meta.schema.relations import DropTarget, drop_targets
from risingpy.types import SqlType


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: Drop, parameter_types: Sequence[SqlType]
) -> Command:
    """All names or none. A notice tells what IF EXISTS skipped and what CASCADE took along."""

    def run(parameters: Parameters) -> Result:
        if statement.concurrently:
            session.scope.refuse_block("DROP INDEX CONCURRENTLY")
        targets = [
            DropTarget(statement.kind, name.schema, name.name, session.search_path()) for name in statement.names
        ]
        for name in statement.names:
            check_names_schema(session, name.schema, name.position)
        check_drops(
            session, lambda state: [r for r in drop_targets(state.catalog, targets) if isinstance(r, statement.kind)]
        )
        notices = session.ddl.drop(
            targets,
            if_exists=statement.if_exists,
            cascade=statement.cascade,
            cancelled=session.cancelled,
            process_id=session.startup.process_id,
        )
        for notice in notices:
            session.notice(notice)
        return Result(CommandTag(f"DROP {statement.kind.noun.upper()}"))

    return Command(run)
