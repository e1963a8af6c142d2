"""What a CREATE that ends early has begun is taken away again."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager

from risingpy.meta.epochs.graph_changes import GraphChanges
from risingpy.meta.schema.relations import without_relation_id

GONE_SECONDS = 0.5  # how long a cancelled CREATE waits until what it began is gone


@contextmanager
def gone_if_cancelled(changes: GraphChanges, relation_id: int) -> Iterator[None]:
    """Has the job taken out if waiting for it ends early.

    That happens between two epochs. The client is told at once if the running one takes long: whatever anybody asks for
    next comes after, and a server that starts anew takes unfinished jobs out as well.
    """
    try:
        yield
    except BaseException:
        wait((changes.submit(lambda state: without_relation_id(state, relation_id)),), GONE_SECONDS)
        raise
