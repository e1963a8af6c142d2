"""Which jobs can be set aside, to run in epochs of their own, and what they need for it.

A job can if all that it reads besides its own state are changes of stored relations: these can be kept for it. The job
of a table cannot (statements wait for it), nor one that reads a source itself, nor a sink into a table.
"""

from __future__ import annotations

from risingpy.plan.graph import Fragment, Job
from risingpy.plan.operators import Changelog, Dml, IntoTable, Materialize, Source, TableInputs, TableScan
from risingpy.plan.traversal import nodes_of_fragment


def can_be_set_aside(job: Job) -> bool:
    """Whether the job may fall behind the others."""
    nodes = [node for fragment in job.fragments for node in nodes_of_fragment(fragment.root)]
    if any(isinstance(node, Dml | IntoTable | Source | TableInputs) for node in nodes):
        return False
    return not (isinstance(nodes[0], Changelog) and isinstance(nodes[0].input, TableScan))  # what follows a relation


def root_fragment(job: Job) -> Fragment:
    """The fragment whose output is the job's: its relation, or its changelog."""
    return next(fragment for fragment in job.fragments if isinstance(fragment.root, Materialize | Changelog))


def tables_read(job: Job) -> tuple[int, ...]:
    """The tables whose changes the job reads."""
    return tuple(sorted({table_id for fragment in job.fragments for table_id in fragment.upstream_tables}))


def own_tables(job: Job) -> frozenset[int]:
    """The tables that the job writes."""
    return frozenset((job.table.table_id, *(table.table_id for table in job.state_tables)))
