"""What every relation of a catalog has, and what those have that a job keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import ClassVar

from risingpy.plan.catalog.acl import Acl
from risingpy.plan.catalog.columns import ColumnDesc
from risingpy.plan.catalog.databases import DEFAULT_DATABASE_ID
from risingpy.plan.catalog.roles import BOOTSTRAP_ROLE_ID
from risingpy.plan.properties import WatermarkColumn
from risingpy.storage.codec.table_schema import TableSchema


class JobStatus(Enum):
    """Where a job is. It is created once its backfill is done; a failed one stays until it is dropped or recovered."""

    CREATING = "creating"  # backfilling: not yet visible to queries
    CREATED = "created"
    FAILED = "failed"  # stopped by an error; its last answer can still be read
    RECOVERING = "recovering"  # it failed, its rows are deleted, and it backfills anew
    UNRECOVERED = "unrecovered"  # failed again before it had all rows: there is no answer that could be read


@dataclass(frozen=True, slots=True)
class AnyRelation:
    """What every relation has.

    `columns` are in storage order and include hidden ones: `_row_id`, and columns of the stream key that the query of a
    materialized view does not select. `version` changes with the columns. `owner` is the id of a role. `acl` is None
    as long as nobody has granted or revoked anything; `column_acls` has lists by the ids of columns.
    """

    noun: ClassVar[str]  # what messages call the kind

    relation_id: int
    schema_name: str
    name: str
    columns: tuple[ColumnDesc, ...]
    version: int = field(default=0, kw_only=True)
    owner: int = field(default=BOOTSTRAP_ROLE_ID, kw_only=True)
    database_id: int = field(default=DEFAULT_DATABASE_ID, kw_only=True)
    acl: Acl | None = field(default=None, kw_only=True)
    column_acls: tuple[tuple[int, Acl], ...] = field(default=(), kw_only=True)

    @property
    def qualified_name(self) -> str:
        return f"{self.schema_name}.{self.name}"

    @property
    def is_being_created(self) -> bool:
        """Whether queries cannot name it yet, because its job still reads the rows of its upstreams."""
        return False

    @property
    def has_stopped(self) -> bool:
        """Whether an error has stopped its job, or a job that it reads."""
        return False

    @property
    def has_no_answer(self) -> bool:
        """Whether it had an answer once, and has none now: it is recovered after a failure, or that has failed too."""
        return False


@dataclass(frozen=True, slots=True)
class JobRelation(AnyRelation):
    """A relation that a job of its own keeps in storage: the base of `Table`, `MaterializedView`, `Index`,
    `Sink` and `Subscription`.

    `definition` is the text of the CREATE statement, `table` the stored form. `stream_key` are the positions of the key
    of the change stream. `watermarks` are the columns that have one. With `append_only`, no row is ever deleted.
    """

    definition: str
    table: TableSchema = field(kw_only=True)
    stream_key: tuple[int, ...] = field(kw_only=True)
    append_only: bool = field(default=False, kw_only=True)
    watermarks: tuple[WatermarkColumn, ...] = field(default=(), kw_only=True)
    status: JobStatus = field(default=JobStatus.CREATED, kw_only=True)

    @property
    def is_being_created(self) -> bool:
        return self.status in (JobStatus.CREATING, JobStatus.RECOVERING)

    @property
    def has_stopped(self) -> bool:
        return self.status in (JobStatus.FAILED, JobStatus.UNRECOVERED)

    @property
    def has_no_answer(self) -> bool:
        return self.status in (JobStatus.RECOVERING, JobStatus.UNRECOVERED)
