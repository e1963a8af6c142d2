"""The record in which stores of earlier versions hold a relation, and what is made of it when it is read.

One class had the fields of every kind then, and `kind` said which of them counted. Nothing writes it any more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import Enum
from types import MappingProxyType

from risingpy.plan.catalog.any_relation import JobStatus
from risingpy.plan.catalog.columns import ColumnDesc, Watermark
from risingpy.plan.catalog.index_definition import IndexDefinition
from risingpy.plan.catalog.relations import (
    CreatedRelation,
    ExternalSource,
    Index,
    MaterializedView,
    Table,
    View,
)
from risingpy.plan.logical import LogicalPlan
from risingpy.plan.operators import ConflictBehavior
from risingpy.plan.properties import WatermarkColumn
from risingpy.storage.codec.table_schema import TableSchema


class EarlierKind(Enum):
    """The kinds that `kind` could name. Their values are read from stores: they never change."""

    TABLE = "table"
    MATERIALIZED_VIEW = "materialized view"
    VIEW = "view"
    SOURCE = "source"
    INDEX = "index"
    INTERNAL_TABLE = "internal table"


@dataclass(frozen=True, slots=True)
class EarlierRelation:
    """A relation of any kind. The fields mean what they mean in the class of the kind."""

    relation_id: int
    schema_name: str
    name: str
    kind: EarlierKind
    columns: tuple[ColumnDesc, ...]
    definition: str
    primary_key: tuple[int, ...] = ()
    stream_key: tuple[int, ...] = ()
    append_only: bool = False
    table: TableSchema | None = None
    query: str | None = None
    depends_on: tuple[int, ...] = ()
    status: JobStatus = JobStatus.CREATED
    version: int = 0
    options: tuple[tuple[str, str], ...] = ()
    next_column_id: int = 0
    plan: LogicalPlan | None = None
    on_conflict: ConflictBehavior = ConflictBehavior.OVERWRITE
    version_column: int | None = None
    functions: tuple[int, ...] = ()
    index: IndexDefinition | None = None
    watermark: Watermark | None = None
    watermarks: tuple[WatermarkColumn, ...] = ()


_CLASSES: Mapping[EarlierKind, type[CreatedRelation]] = MappingProxyType(
    {
        EarlierKind.TABLE: Table,
        EarlierKind.MATERIALIZED_VIEW: MaterializedView,
        EarlierKind.VIEW: View,
        EarlierKind.SOURCE: ExternalSource,
        EarlierKind.INDEX: Index,
    }
)
_NEVER_NONE = ("table", "query", "index")  # in the classes that have them


def relation_of(earlier: EarlierRelation) -> CreatedRelation:
    """The relation as its class has it: the class takes the fields that it has, and the others had no meaning.

    Fields that the class got later have their defaults.

    Raises ValueError if the record lacks what the kind needs, and for an internal table, which nothing ever stored.
    """
    cls = _CLASSES.get(earlier.kind)
    if cls is None:
        raise ValueError(f"{earlier.kind.value} {earlier.name} cannot be part of a store")
    values = {each.name: getattr(earlier, each.name) for each in fields(cls) if hasattr(earlier, each.name)}
    lacking = [name for name in _NEVER_NONE if name in values and values[name] is None]
    if lacking:
        raise ValueError(f"the store's {earlier.kind.value} {earlier.name} has no {lacking[0]}")
    return cls(**values)
