"""Keeps the tables' jobs connected with the sinks that go into them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from risingpy.meta.state import MetaState
from risingpy.optimizer.stream.sink_inputs import connected
from risingpy.plan.catalog import Catalog, Sink


def with_sinks_connected(state: MetaState) -> MetaState:
    """`state` after sinks or their jobs came or went: each table reads the running sinks into it.

    The caller gives the state a new graph version.
    """
    sinks: dict[int, list[int]] = defaultdict(list)
    for relation in state.catalog.relations.values():
        if isinstance(relation, Sink) and relation.into is not None and relation.relation_id in state.jobs:
            sinks[relation.into].append(relation.relation_id)
    jobs = connected(state.jobs, sinks)
    return state if jobs is state.jobs else replace(state, jobs=jobs)


def feeds(catalog: Catalog, upstream: int, relation_id: int) -> bool:
    """Whether changes of `upstream` come to a relation: by queries, and by sinks into tables."""
    waiting, seen = [upstream], set[int]()
    while waiting:
        current = waiting.pop()
        if current == relation_id:
            return True
        if current in seen:
            continue
        seen.add(current)
        for reader in catalog.dependents(current):
            into = reader.into if isinstance(reader, Sink) else None
            if into is None:
                waiting.append(reader.relation_id)
            elif into != current:
                waiting.append(into)
    return False
