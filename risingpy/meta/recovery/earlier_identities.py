"""Identity columns of earlier versions had a counter in the meta store, and no sequence: opening gives them one."""

from __future__ import annotations

from dataclasses import replace

from risingpy.meta.schema.objects.sequences import with_sequences_of
from risingpy.meta.state import MetaState
from risingpy.meta.writing.sequence_counters import SequencePosition, store_position
from risingpy.plan.catalog import DEFAULT_DATABASE_ID, Identity, NumberSequence, Table
from risingpy.storage.engine.meta_store import MetaStore


def with_sequences_of_identities(state: MetaState, store: MetaStore) -> MetaState:
    """`state` in which every identity column has a sequence, which goes on where the counter was.

    Where they stand is durable when this returns; the state is not yet. If the server dies in between, this is done
    again.
    """
    for table in [each for each in state.catalog.relations.values() if isinstance(each, Table)]:
        counters = {
            column.column_id: column.identity
            for column in table.columns
            if column.identity is not None and not column.identity.sequence
        }
        if not counters:
            continue
        state = with_sequences_of(_seen_from(state, table.database_id), table.relation_id)
        for sequence in state.catalog.sequences_of(table.relation_id):
            if sequence.owned_by is not None and sequence.owned_by.column_id in counters:
                _store(store, sequence, counters[sequence.owned_by.column_id])
    return _seen_from(state, DEFAULT_DATABASE_ID)


def _seen_from(state: MetaState, database_id: int) -> MetaState:
    return replace(state, catalog=state.catalog.seen_from(database_id))


def _store(store: MetaStore, sequence: NumberSequence, identity: Identity) -> None:
    """The counter had the place of the next number, from 1."""
    with store.transaction() as txn:
        stored = txn.get(f"identity/{identity.counter}")
        place = 1 if stored is None else int(stored)
        if place > 1:
            last = identity.start + (place - 2) * identity.increment
            store_position(txn, sequence.relation_id, SequencePosition(last, called=True))
