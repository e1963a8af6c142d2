"""Keeps a `MetaState` in the meta store. One synced transaction per commit is the database's commit point.

The epoch, the log position and the source offsets become durable together, so a recovery never reads a row twice and
never skips one. The shards commit their own transactions before; if the server dies in between, each shard undoes its
last epoch from its undo record, and the log from the committed position runs again.

Keys: `relation/<id>`, `function/<id>`, `type/<id>`, `secret/<id>`, `connection/<id>`, `job/<id>`, `stopped/<id>`,
`role/<id>`, `database/<id>`, `server_acls` (plan codec), `counters`, `committed`, `purge` (JSON). A store of before
there were roles has no `role/…`: it gets those of a new database. One of before there were several databases has
`schemas` and `schema_owners` (JSON) of the only one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from risingpy.meta.sinks.into_tables import with_sinks_connected
from risingpy.meta.state import Dropped, MetaState
from risingpy.meta.stored_state import all_stored, catalog_version, changed_objects, stored_catalog, stored_state
from risingpy.plan.catalog import (
    DEFAULT_DATABASE_ID,
    FIRST_ROLES,
    Catalog,
    CreatedRelation,
    DatabaseDesc,
    ExternalSource,
    ForeignKey,
    Index,
    JobRelation,
    JobStatus,
    NumberSequence,
    RecoverableRelation,
    Role,
    Sink,
    Subscription,
    Table,
    is_temporary,
)
from risingpy.plan.codec import encode
from risingpy.storage.engine.meta_store import MetaStore, MetaTransaction

_KINDS_IN_CATALOG = ("relation", "function", "type", "secret", "connection", "comment", "role", "database")


class DurableState:
    """Reads and replaces the durable `MetaState`."""

    def __init__(self, store: MetaStore) -> None:
        self._store = store
        self._has_databases = False

    def load(self, default_shards: int) -> MetaState:
        """The last committed state; on a new data directory, an empty one with `default_shards` shards."""
        with self._store.transaction() as txn:
            if txn.get("counters") is None:
                return MetaState(shards=default_shards)
            return stored_state(txn, stored_catalog(txn, partial(all_stored, txn)), partial(all_stored, txn))

    def after(self, old: MetaState, written: Mapping[str, bytes | None]) -> MetaState:
        """The stored state. `old` is the one before, and `written` the keys that have changed since (None: deleted).

        What has not changed is the same object.
        """
        known = objects_by_kind(old)

        def all_of(kind: str) -> dict[int, Any]:
            return changed_objects(known[kind], kind, written)

        with self._store.transaction() as txn:
            in_catalog = {key.partition("/")[0] for key in written} & {*_KINDS_IN_CATALOG, "server_acls"}
            is_same = not in_catalog and catalog_version(txn) == old.catalog.version
            return stored_state(txn, old.catalog if is_same else stored_catalog(txn, all_of), all_of)

    def commit(
        self,
        old: MetaState,
        new: MetaState,
        also: Callable[[MetaTransaction], None] | None = None,
        *,
        encoded: Callable[[object], bytes] = encode,
    ) -> None:
        """Makes `new` durable. Writes only what differs from `old`, which must be the last committed state.

        `also` writes what is to be durable with it. `encoded` may know the bytes of an object that `encode` would give.
        """
        with self._store.transaction() as txn:
            if also is not None:
                also(txn)
            before = objects_by_kind(old)
            if not self._has_databases:
                before["database"] = _stored_databases(txn, old.catalog)
            for kind, objects in objects_by_kind(new).items():
                _write_changed(txn, kind, before[kind], objects, encoded)
            if new.catalog.server_acls != old.catalog.server_acls:
                txn.put("server_acls", encode(new.catalog.server_acls))
            _put(txn, "purge", sorted(new.purge))
            _put(txn, "counters", _counters(new))
            committed = new.committed
            _put(
                txn,
                "committed",
                {
                    "epoch": committed.epoch,
                    "lsn": committed.lsn,
                    "offsets": dict(committed.offsets),
                    "watermarks": dict(committed.watermarks),
                    "settled": committed.settled,
                    "pushed": dict(committed.pushed),
                },
            )
        self._has_databases = True


def objects_by_kind(state: MetaState) -> dict[str, Mapping[int, Any]]:
    """The objects of a state, by kind and id: `<kind>/<id>` is the key of each."""
    catalog = state.catalog
    return {
        "relation": catalog.relations,
        "function": catalog.functions,
        "type": catalog.types,
        "secret": catalog.secrets,
        "connection": catalog.connections,
        "comment": catalog.comments,
        "role": _stored_roles(catalog),
        "database": catalog.databases,
        "job": state.jobs,
        "stopped": state.stopped,
    }


def _counters(state: MetaState) -> Mapping[str, object]:
    """What is written with each commit, as it is small."""
    return {
        "catalog_version": state.catalog.version,
        "shards": state.shards,
        "graph_version": state.graph_version,
        "fresh_jobs": sorted(state.fresh_jobs),
        "errors": dict(state.errors),
        "compactions": dict(state.compactions),
        "next_id": state.next_id,
        "wanted_shards": state.wanted_shards,
        "adaptive_parallelism": state.adaptive_parallelism,
        "old_snapshot_threshold": state.old_snapshot_threshold,
        "job_epoch_seconds": state.job_epoch_seconds,
        "set_aside": {job: asdict(each) for job, each in state.set_aside.items()},
        "dropped": {key: asdict(each) for key, each in state.dropped.items()},
        "backfill_limits": dict(state.backfill_limits),
    }


def _stored_databases(txn: MetaTransaction, catalog: Catalog) -> Mapping[int, DatabaseDesc]:
    """Those that the store has in their present form: none, if it is new or of before there were several."""
    return catalog.databases if txn.get(f"database/{DEFAULT_DATABASE_ID}") is not None else {}


def _stored_roles(catalog: Catalog) -> Mapping[int, Role]:
    """Those that a statement has made or changed: every database has the others."""
    return {key: role for key, role in catalog.roles.items() if FIRST_ROLES.get(key) is not role}


class RowIds:
    """Hands out row ids. None is used twice, even after a crash.

    Ids are reserved in the meta store in blocks, so that only one insert in `BLOCK` rows pays for a commit.
    """

    BLOCK = 1 << 20

    def __init__(self, store: MetaStore) -> None:
        self._store = store
        with store.transaction() as txn:
            value = txn.get("row_id_limit")
        self._next = self._limit = int(value) if value is not None else 1

    def take(self, count: int) -> int:
        """The first of `count` consecutive fresh ids. Callers must not overlap (hold a lock)."""
        first = self._next
        if first + count > self._limit:
            self._limit = first + count + self.BLOCK
            with self._store.transaction() as txn:
                txn.put("row_id_limit", str(self._limit).encode())
        self._next = first + count
        return first


def without_unfinished(state: MetaState) -> MetaState:
    """`state` without what a SUBSCRIBE read, whose client is gone, and tables that were not taken in yet.

    A view, an index or a sink in creation goes on where its backfill was: its progress is part of each epoch.
    """
    unfinished = [
        r
        for r in state.catalog.relations.values()
        if (isinstance(r, Table) and r.is_being_created)
        or (is_temporary(r) and not (isinstance(r, Subscription) and r.kept_for is not None))
    ]
    for relation in unfinished:
        state = without_relation(state, relation)
    return state


def without_backfills(state: MetaState) -> MetaState:
    """`without_unfinished`, and without what still reads its upstreams' rows: its progress is noted by shards.

    What is recovered begins anew. So does an index: the table may have had it before an ALTER made it anew.
    """
    state = without_unfinished(state)
    for relation in [each for each in state.catalog.relations.values() if each.is_being_created]:
        if isinstance(relation, Index):
            state = with_status(state, relation.relation_id, JobStatus.RECOVERING)
        if relation.has_no_answer or isinstance(relation, Index):
            state = without_job(state, relation.relation_id)
        else:
            state = without_relation(state, relation)
    return state


def without_relation(state: MetaState, relation: CreatedRelation) -> MetaState:
    """`state` after `relation`, with the sequences of its columns, is dropped. Later epochs purge its rows."""
    return without_relations(state, (relation,))


def without_relations(state: MetaState, dropped: Sequence[CreatedRelation]) -> MetaState:
    """As `without_relation`, of many relations at once."""
    for relation in dropped:
        state = without_feeds(state, relation.relation_id)
    gone = {relation.relation_id for relation in dropped}
    gone |= {each.relation_id for relation in dropped for each in state.catalog.sequences_of(relation.relation_id)}
    kept = {k: _without_keys_to(v, gone) for k, v in state.catalog.relations.items() if k not in gone}
    purge, listed = state.purge, state.dropped
    for relation in dropped:
        tables = _tables_of(state, relation)
        purge, listed = purge | tables, _with_dropped(listed, relation, tables - purge)
    without = replace(
        state,
        catalog=replace(state.catalog, version=state.catalog.version + 1, relations=kept),
        jobs={k: v for k, v in state.jobs.items() if k not in gone},
        stopped={k: v for k, v in state.stopped.items() if k not in gone},
        graph_version=state.graph_version + bool(gone & state.jobs.keys()),
        fresh_jobs=state.fresh_jobs - gone,
        errors={k: v for k, v in state.errors.items() if k not in gone},
        purge=purge,
        dropped=listed,
        compactions={k: v for k, v in state.compactions.items() if k not in gone},
        backfill_limits={k: v for k, v in state.backfill_limits.items() if k not in gone},
    )
    return with_sinks_connected(without) if any(isinstance(each, Sink) for each in dropped) else without


def _tables_of(state: MetaState, relation: CreatedRelation) -> frozenset[int]:
    """The tables in storage that a relation has."""
    job = state.jobs.get(relation.relation_id)
    if job is not None:
        return frozenset((job.table.table_id, *(table.table_id for table in job.state_tables)))
    return frozenset((relation.table.table_id,)) if isinstance(relation, JobRelation) else frozenset()


def _without_keys_to(other: CreatedRelation, gone: Collection[int]) -> CreatedRelation:
    """The other relation without foreign keys to a table, or by an index, that is dropped."""
    if not isinstance(other, Table) or not other.constraints:
        return other
    refer = [c for c in other.constraints if isinstance(c, ForeignKey) and (c.table_id in gone or c.index_id in gone)]
    if not refer:
        return other
    kept = tuple(each for each in other.constraints if each not in refer)
    return replace(other, constraints=kept, rules=other.rules + 1)


def _with_dropped(
    dropped: Mapping[int, Dropped], relation: CreatedRelation, tables: frozenset[int]
) -> Mapping[int, Dropped]:
    if not tables or (isinstance(relation, Subscription) and relation.is_temporary):
        return dropped
    statement = f"DROP {relation.noun.upper()} {relation.qualified_name}"
    return {**dropped, relation.relation_id: Dropped(statement, tuple(sorted(tables)))}


def without_feeds(state: MetaState, job_id: int) -> MetaState:
    """`state` in which the job is not set aside, and nothing is kept for it."""
    aside = state.set_aside.get(job_id)
    if aside is None:
        return state
    others = {other: each for other, each in state.set_aside.items() if other != job_id}
    state = replace(state, set_aside=others, graph_version=state.graph_version + 1)
    for subscription_id in aside.feeds.values():
        subscription = state.catalog.relations.get(subscription_id)
        if subscription is not None:
            state = without_relation(state, subscription)
    return state


def without_job(state: MetaState, job_id: int) -> MetaState:
    """`state` after a job has stopped. Its relation's rows stay readable; later epochs purge its other tables.

    Those of one that was being recovered, or of which an epoch of its own is partly stored, go, too.
    """
    is_partial = state.partial == job_id
    state = without_feeds(state, job_id)
    job = state.jobs.get(job_id)
    if job is None:
        return state
    relation = state.catalog.relations[job_id]
    gone = {table.table_id for table in job.state_tables}
    without = replace(
        state,
        jobs={k: v for k, v in state.jobs.items() if k != job_id},
        stopped={**state.stopped, job_id: job} if isinstance(relation, RecoverableRelation) else state.stopped,
        purge=state.purge | gone | ({job.table.table_id} if relation.has_no_answer or is_partial else set()),
        fresh_jobs=state.fresh_jobs - {job_id},
    )
    return with_sinks_connected(without)


def with_status(state: MetaState, relation_id: int, status: JobStatus) -> MetaState:
    """`state` with the status changed of a relation that has a job, or of a view."""
    catalog = state.catalog
    before = catalog.relations[relation_id]
    assert not isinstance(before, ExternalSource | NumberSequence)
    relation = replace(before, status=status)
    return replace(
        state,
        catalog=replace(catalog, version=catalog.version + 1, relations={**catalog.relations, relation_id: relation}),
    )


def _write_changed(
    txn: MetaTransaction,
    kind: str,
    old: Mapping[int, object],
    new: Mapping[int, object],
    encoded: Callable[[object], bytes],
) -> None:
    for key in old.keys() - new.keys():
        txn.delete(f"{kind}/{key}")
    for key, value in new.items():
        if old.get(key) is not value:
            txn.put(f"{kind}/{key}", encoded(value))


def _put(txn: MetaTransaction, key: str, value: object) -> None:
    txn.put(key, json.dumps(value).encode())
