"""The stream graph: every running job's fragments, and how rows get from one to the next.

Graph = data only: it is serialized (`codec.py`), kept in the catalog and read by every task.
"""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.plan.catalog import ExternalSource
from risingpy.plan.operators import StreamPlan
from risingpy.plan.properties import Distribution, Properties
from risingpy.storage.codec.table_schema import TableSchema
from risingpy.types import SqlType


@dataclass(frozen=True, slots=True)
class ExchangeSource:
    """The upstream fragment of an exchange and how its rows are spread over the shards.

    `types` are those of the columns that tell the shard, if jsonb is among them: Arrow takes it for text.
    Rows that do not move (a Share's) stay on their shard. A fragment may feed several others, and one several times.
    """

    fragment_id: int
    distribution: Distribution
    moves: bool = True
    types: tuple[SqlType, ...] = ()

    @classmethod
    def of(cls, fragment_id: int, rows: Properties, *, moves: bool = True) -> ExchangeSource:
        """The rows of a fragment, as they come to the shards of the distribution in `rows`."""
        types = tuple(rows.schema[index].type for index in rows.distribution.columns)
        named = types if any(type_.has_json for type_ in types) else ()
        return cls(fragment_id, rows.distribution, moves, named)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A plan without exchanges, that one task per shard runs in each epoch.

    `root`'s Exchange and Share leaves are the inputs, in `inputs`; such a node is replaced on execution by
    the rows of `inputs[k]`, where k is its position in a depth-first, left-to-right walk.
    `upstream_tables` are the tables whose changes its TableScans read (from the same task, no shuffle).
    """

    fragment_id: int
    job_id: int
    root: StreamPlan
    inputs: tuple[ExchangeSource, ...]
    upstream_tables: tuple[int, ...]
    stage: int


@dataclass(frozen=True, slots=True)
class Job:
    """A table, a materialized view or an index: the fragments that keep it.

    `relation_id` is the catalog's id of the relation; `table` its stored form. `state_tables` are all others.
    `watermarks` are the ids of those that it makes, `awaits` of those for which it holds rows back.
    """

    job_id: int
    name: str
    fragments: tuple[Fragment, ...]
    table: TableSchema
    state_tables: tuple[TableSchema, ...]
    watermarks: tuple[int, ...] = ()
    awaits: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamGraph:
    """All jobs at one version, and the sources that they read.

    Those that are `set_aside` run elsewhere, in epochs of their own: the graph only takes over their results.
    """

    version: int
    shards: int
    jobs: tuple[Job, ...]
    sources: tuple[ExternalSource, ...] = ()
    set_aside: tuple[int, ...] = ()

    @property
    def depth(self) -> int:
        """Number of stages: 1 + the highest stage."""
        return 1 + max((f.stage for j in self.jobs for f in j.fragments), default=0)
