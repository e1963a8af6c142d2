"""ALTER SYSTEM SET takes effect at once; of parallelism, when no job is being created any more."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from risingpy.config import MAX_PARALLELISM
from risingpy.errors import InvalidParameterValue, UndefinedObject
from risingpy.frontend.command import Command, Parameters
from risingpy.frontend.parser.ast import ParsedStatement
from risingpy.frontend.parser.ast_alter import AlterSystem
from risingpy.frontend.results import CommandTag, Result
from risingpy.frontend.statement_context import StatementContext
from risingpy.frontend.statements.rights.server_rights import check_parameter
from risingpy.meta.schema.system_parameters import (
    with_adaptive_parallelism,
    with_job_epoch_seconds,
    with_old_snapshot_threshold,
)
from risingpy.meta.state import JOB_EPOCH_SECONDS, OLD_SNAPSHOT_SECONDS
from risingpy.plan.catalog.acl import Privilege
from risingpy.types import SqlType

_DURATION = re.compile(r"(\d+)\s*(ms|s|min|h|d)?")
_SECONDS = {"ms": 0.001, "s": 1, "min": 60, None: 60, "h": 3600, "d": 86_400}  # PostgreSQL's unit of it is the minute

ADAPTIVE = "adaptive"  # the value of parallelism that follows the engine's cores
MOST_JOB_EPOCH_MS = 3_600_000


def bind(
    session: StatementContext, parsed: ParsedStatement, statement: AlterSystem, parameter_types: Sequence[SqlType]
) -> Command:
    """Checks the value now and changes the parameter when it runs. 42704 for an unknown name, 22023 for a value."""
    setter = SYSTEM_PARAMETERS.get(statement.name)
    if setter is None:
        raise UndefinedObject(
            f'unrecognized system parameter "{statement.name}"',
            position=statement.position,
            hint=f"Those that can be set are {', '.join(SYSTEM_PARAMETERS)}.",
        )
    check_parameter(session, statement.name, Privilege.ALTER_SYSTEM, statement.position)
    change = setter(session, statement.value)

    def run(parameters: Parameters) -> Result:
        session.scope.refuse_block("ALTER SYSTEM")
        change()
        return Result(CommandTag("ALTER SYSTEM"))

    return Command(run)


def _set_parallelism(session: StatementContext, value: str | None) -> Callable[[], None]:
    database = session.database
    if value is not None and value.lower() == ADAPTIVE:
        return lambda: database.ddl.change(with_adaptive_parallelism, session.cancelled)
    shards = database.shards if value is None else _shards(value)

    def change() -> None:
        if not database.rescale(shards, session.cancelled):
            when = "when no view or sink is being created, or at the next start of the server"
            session.notice(f"the state will be moved to {shards} shards {when}")

    return change


def _set_old_snapshot_threshold(session: StatementContext, value: str | None) -> Callable[[], None]:
    seconds = OLD_SNAPSHOT_SECONDS if value is None else _threshold(value)
    return lambda: session.ddl.change(lambda state: with_old_snapshot_threshold(state, seconds), session.cancelled)


def _set_job_epoch_ms(session: StatementContext, value: str | None) -> Callable[[], None]:
    seconds = JOB_EPOCH_SECONDS if value is None else _milliseconds(value) / 1000
    return lambda: session.database.ddl.change(lambda state: with_job_epoch_seconds(state, seconds), session.cancelled)


def _milliseconds(value: str) -> int:
    if not value.isdecimal() or int(value) > MOST_JOB_EPOCH_MS:
        hint = f"It is a whole number of milliseconds up to {MOST_JOB_EPOCH_MS}; 0 for no limit."
        raise _invalid("job_epoch_ms", value, hint)
    return int(value)


def _shards(value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= MAX_PARALLELISM:
        raise _invalid("parallelism", value, f"It is a whole number from 1 to {MAX_PARALLELISM}, or {ADAPTIVE}.")
    return int(value)


def _threshold(value: str) -> float | None:
    if value.strip() == "-1":
        return None
    found = _DURATION.fullmatch(value.strip())
    if found is None:
        hint = "It is a duration such as '30s', '10min' or '3h', a number of minutes, or -1 for no limit."
        raise _invalid("old_snapshot_threshold", value, hint)
    return int(found[1]) * _SECONDS[found[2]]


def _invalid(name: str, value: str, hint: str) -> InvalidParameterValue:
    return InvalidParameterValue(f'invalid value for parameter "{name}": "{value}"', hint=hint)


SYSTEM_PARAMETERS: dict[str, Callable[[StatementContext, str | None], Callable[[], None]]] = {
    "parallelism": _set_parallelism,
    "old_snapshot_threshold": _set_old_snapshot_threshold,
    "job_epoch_ms": _set_job_epoch_ms,
}
"""By name: what checks a value, and gives the change."""
