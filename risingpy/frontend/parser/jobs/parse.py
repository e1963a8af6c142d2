"""CANCEL JOBS, WAIT, KILL, and ALTER … SET BACKFILL_RATE_LIMIT."""

from __future__ import annotations

from risingpy.errors import InvalidParameterValue
from risingpy.frontend.parser.ast import ObjectName, WaitSink
from risingpy.frontend.parser.connectors.sink import parse_wait_sink
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.jobs.trees import AlterBackfill, CancelJobs, KillProcess, WaitJobs
from risingpy.plan.catalog import Index, MaterializedView, RelationClass, Sink


def parse_cancel(cursor: Cursor) -> CancelJobs:
    """CANCEL JOB[S] id, …."""
    cursor.expect("CANCEL")
    cursor.one_of("JOBS", "JOB")
    return CancelJobs(cursor.comma_separated(lambda: _job_id(cursor)))


def parse_wait(cursor: Cursor) -> WaitSink | WaitJobs:
    """WAIT [SINK name]."""
    cursor.expect("WAIT")
    return WaitJobs() if cursor.at_end else parse_wait_sink(cursor)


def parse_kill(cursor: Cursor) -> KillProcess:
    """KILL process_id, which may stand in quotes, as in RisingWave after the number of a worker and a colon."""
    cursor.expect("KILL")
    position, value = cursor.position, cursor.value()
    hint = "pg_stat_activity has the ids of sessions, in the column pid."
    return KillProcess(_number(value.rpartition(":")[2], position, "process id", hint))


def parse_limit(cursor: Cursor, kind: RelationClass, name: ObjectName, if_exists: bool) -> AlterBackfill | None:
    """SET BACKFILL_RATE_LIMIT { TO | = } { rows | DEFAULT }; None if the words or the kind are others."""
    if kind not in (MaterializedView, Sink, Index) or cursor.peek(2) != ["SET", "BACKFILL_RATE_LIMIT"]:
        return None
    cursor.expect("SET")
    cursor.any_word()
    cursor.one_of("TO", "=")
    if cursor.accept("DEFAULT"):
        return AlterBackfill(kind, name, None, if_exists)
    position, value = cursor.position, cursor.value()
    try:
        limit = int(value)
    except ValueError:
        limit = -1
    if limit < 0:
        message = f'invalid value for backfill_rate_limit: "{value}"'
        hint = "It is a number of rows a second, 0 to pause, or DEFAULT."
        raise InvalidParameterValue(message, position=position, hint=hint)
    return AlterBackfill(kind, name, limit, if_exists)


def _job_id(cursor: Cursor) -> int:
    position, value = cursor.position, cursor.value()
    return _number(value, position, "job id", "SHOW JOBS has the ids.")


def _number(value: str, position: int, what: str, hint: str) -> int:
    if not value.isdecimal() or int(value) >= 1 << 31:
        raise InvalidParameterValue(f'invalid {what}: "{value}"', position=position, hint=hint)
    return int(value)
