"""Trees of the statements about jobs in creation, and about the statements of other sessions."""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.frontend.parser.ast_parts import ObjectName
from risingpy.plan.catalog import RelationClass


@dataclass(frozen=True, slots=True)
class CancelJobs:
    """CANCEL JOBS: the ids are those of SHOW JOBS."""

    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class WaitJobs:
    """WAIT: until what runs in the background is created."""


@dataclass(frozen=True, slots=True)
class KillProcess:
    """KILL: the statement of the session with this process id."""

    process_id: int


@dataclass(frozen=True, slots=True)
class AlterBackfill:
    """ALTER … SET BACKFILL_RATE_LIMIT: rows a second; 0 pauses, None is as fast as it can."""

    kind: RelationClass
    name: ObjectName
    limit: int | None
    if_exists: bool = False


JobStatement = AlterBackfill | CancelJobs | KillProcess | WaitJobs
