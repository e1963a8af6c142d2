"""Waiting for a new job (of a view or an index) until it has the rows of what it reads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager

from risingpy.meta.epochs.barrier_loop import BarrierLoop
from risingpy.meta.schema.relations import without_relation_id
from risingpy.meta.state import MetaState
from risingpy.plan.catalog import JobStatus

GONE_SECONDS = 0.5  # how long a cancelled CREATE waits until what it began is gone


@contextmanager
def gone_if_cancelled(loop: BarrierLoop, relation_id: int) -> Iterator[None]:
    """Has the job taken out if waiting for it ends early.

    That happens between two epochs. The client is told at once if the running one takes long: whatever anybody asks for
    next comes after, and a server that starts anew takes unfinished jobs out as well.
    """
    try:
        yield
    except BaseException:
        wait((loop.submit(lambda state: without_relation_id(state, relation_id)),), GONE_SECONDS)
        raise


def wait_for_job(loop: BarrierLoop, relation_id: int, cancelled: threading.Event | None) -> None:
    """Returns when the job has its upstreams' rows. Raises why it failed, if it did."""
    loop.published.wait_until(lambda state: not _creating(state, relation_id), cancelled)
    failure = loop.failure_of(relation_id)
    if failure is not None:
        raise failure


def _creating(state: MetaState, relation_id: int) -> bool:
    relation = state.catalog.relations.get(relation_id)
    return relation is not None and relation.status is JobStatus.CREATING
