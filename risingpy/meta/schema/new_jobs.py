"""Removes the new job of a CREATE that ends early."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import wait
from contextlib import ExitStack, contextmanager

from risingpy.meta.epochs.graph_changes import GraphChanges
from risingpy.meta.schema.relations import without_relation_id

GONE_SECONDS = 0.5  # how long a cancelled CREATE waits for the removal of its job


@contextmanager
def gone_if_cancelled(changes: GraphChanges, relation_id: int) -> Iterator[None]:
    """Has the job removed, between two epochs, if the block is left by an error.

    If the running epoch takes long, the client gets its answer first. That is safe: later changes are applied after the
    removal, and a server that restarts also removes unfinished jobs.
    """
    try:
        yield
    except BaseException:
        wait((changes.submit(lambda state: without_relation_id(state, relation_id)),), GONE_SECONDS)
        raise


@contextmanager
def all_gone_if_cancelled(changes: GraphChanges, relation_ids: Iterable[int]) -> Iterator[None]:
    """`gone_if_cancelled` for several jobs."""
    with ExitStack() as stack:
        for relation_id in relation_ids:
            stack.enter_context(gone_if_cancelled(changes, relation_id))
        yield
