"""What all parts of one statement read: one state, from before any of them, and the rows that earlier parts return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from risingpy.batch.own_changes import EarlierChanges
from risingpy.meta.reads import CommittedSnapshot

TakeSnapshot = Callable[[frozenset[int] | None], CommittedSnapshot]
"""Gives the snapshot for a query that reads the relations with these ids (None: any). The query releases it."""


@dataclass(frozen=True, slots=True)
class StatementReads:
    """`own` is what the transaction had written before the statement, in its first `changes` changes.

    `rows` are those that parts have returned, by the names of their GivenRows.
    """

    take_snapshot: TakeSnapshot
    own: EarlierChanges
    changes: int
    rows: dict[str, pa.Table] = field(default_factory=dict)


def rows_of(reads: StatementReads | None) -> Mapping[str, pa.Table]:
    """The rows that parts of the statement have returned so far."""
    return {} if reads is None else reads.rows
