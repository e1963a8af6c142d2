"""Keeps a `MetaState` in the meta store. One synced transaction per commit is the database's commit point.

The epoch, the log position and the source offsets become durable together, so a recovery never reads a row twice and
never skips one. The shards commit their own transactions before; if the server dies in between, each shard undoes its
last epoch from its undo record, and the log from the committed position runs again.

Keys: `relation/<id>`, `function/<id>`, `secret/<id>`, `connection/<id>`, `job/<id>`, `stopped/<id>`, `role/<id>`,
`database/<id>`, `server_acls` (plan codec), `counters`, `committed`, `purge` (JSON). A store of before there were
roles has no `role/…`: it gets those of a new database. One of before there were several databases has `schemas` and
`schema_owners` (JSON) of the only one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from risingpy.meta.sinks.into_tables import with_sinks_connected
from risingpy.meta.state import (
    JOB_EPOCH_SECONDS,
    OLD_SNAPSHOT_SECONDS,
    CommittedEpoch,
    Dropped,
    MetaState,
    SetAside,
    Taking,
)
from risingpy.plan.catalog import (
    DEFAULT_DATABASE_ID,
    FIRST_DATABASES,
    FIRST_ROLES,
    Catalog,
    CreatedRelation,
    DatabaseDesc,
    ExternalSource,
    ForeignKey,
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
from risingpy.plan.catalog.acl import ServerAcls
from risingpy.plan.codec import decode, encode
from risingpy.storage.engine.meta_store import MetaStore, MetaTransaction


class DurableState:
    """Reads and replaces the durable `MetaState`."""

    def __init__(self, store: MetaStore) -> None:
        self._store = store

    def load(self, default_shards: int) -> MetaState:
        """The last committed state; on a new data directory, an empty one with `default_shards` shards."""
        with self._store.transaction() as txn:
            if txn.get("counters") is None:
                return MetaState(shards=default_shards)
            counters = _json(txn, "counters")
            committed = _json(txn, "committed")
            return MetaState(
                catalog=Catalog(
                    version=counters["catalog_version"],
                    databases=_databases(txn),
                    relations=_all_of(txn, "relation"),
                    functions=_all_of(txn, "function"),
                    secrets=_all_of(txn, "secret"),
                    connections=_all_of(txn, "connection"),
                    roles={**FIRST_ROLES, **_all_of(txn, "role")},
                    comments=_all_of(txn, "comment"),
                    server_acls=_server_acls(txn),
                ),
                jobs=dict(sorted(_all_of(txn, "job").items())),  # upstreams must run first, and have lower ids
                stopped=_all_of(txn, "stopped"),
                shards=counters["shards"],
                graph_version=counters["graph_version"],
                committed=_committed(committed),
                fresh_jobs=frozenset(counters["fresh_jobs"]),
                purge=frozenset(_json(txn, "purge")),
                compactions={int(k): v for k, v in counters.get("compactions", {}).items()},
                errors={int(k): v for k, v in counters["errors"].items()},
                next_id=counters["next_id"],
                wanted_shards=counters["wanted_shards"],
                old_snapshot_threshold=counters.get("old_snapshot_threshold", OLD_SNAPSHOT_SECONDS),
                job_epoch_seconds=counters.get("job_epoch_seconds", JOB_EPOCH_SECONDS),
                set_aside={int(job): _set_aside(each) for job, each in counters.get("set_aside", {}).items()},
                dropped={
                    int(key): Dropped(each["statement"], tuple(each["tables"]))
                    for key, each in counters.get("dropped", {}).items()
                },
                backfill_limits={int(job): limit for job, limit in counters.get("backfill_limits", {}).items()},
            )

    def commit(self, old: MetaState, new: MetaState, also: Callable[[MetaTransaction], None] | None = None) -> None:
        """Makes `new` durable. Writes only what differs from `old`, which must be the last committed state.

        `also` writes what is to be durable with it.
        """
        with self._store.transaction() as txn:
            if also is not None:
                also(txn)
            _write_changed(txn, "relation", old.catalog.relations, new.catalog.relations)
            _write_changed(txn, "function", old.catalog.functions, new.catalog.functions)
            _write_changed(txn, "secret", old.catalog.secrets, new.catalog.secrets)
            _write_changed(txn, "connection", old.catalog.connections, new.catalog.connections)
            _write_changed(txn, "comment", old.catalog.comments, new.catalog.comments)
            _write_changed(txn, "job", old.jobs, new.jobs)
            _write_changed(txn, "stopped", old.stopped, new.stopped)
            _write_changed(txn, "role", _stored_roles(old.catalog), _stored_roles(new.catalog))
            _write_changed(txn, "database", _stored_databases(txn, old.catalog), new.catalog.databases)
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


def _all_of(txn: MetaTransaction, kind: str) -> dict[int, Any]:
    """The objects of a kind, by id."""
    return {int(key.removeprefix(f"{kind}/")): decode(value) for key, value in txn.scan(f"{kind}/")}


def _databases(txn: MetaTransaction) -> Mapping[int, DatabaseDesc]:
    stored = _all_of(txn, "database")
    if stored:
        return stored
    owners = txn.get("schema_owners")
    first = replace(
        FIRST_DATABASES[DEFAULT_DATABASE_ID],
        schemas=tuple(_json(txn, "schemas")),
        schema_owners={} if owners is None else json.loads(owners),
    )
    return {DEFAULT_DATABASE_ID: first}


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
        "old_snapshot_threshold": state.old_snapshot_threshold,
        "job_epoch_seconds": state.job_epoch_seconds,
        "set_aside": {job: asdict(each) for job, each in state.set_aside.items()},
        "dropped": {key: asdict(each) for key, each in state.dropped.items()},
        "backfill_limits": dict(state.backfill_limits),
    }


def _server_acls(txn: MetaTransaction) -> ServerAcls:
    stored = txn.get("server_acls")
    if stored is None:
        return ServerAcls()
    found = decode(stored)
    assert isinstance(found, ServerAcls)
    return found


def _stored_databases(txn: MetaTransaction, catalog: Catalog) -> Mapping[int, DatabaseDesc]:
    """Those that the store has in their present form: none, if it is new or of before there were several."""
    return catalog.databases if txn.get(f"database/{DEFAULT_DATABASE_ID}") is not None else {}


def _stored_roles(catalog: Catalog) -> Mapping[int, Role]:
    """Those that a statement has made or changed: every database has the others."""
    return {key: role for key, role in catalog.roles.items() if FIRST_ROLES.get(key) is not role}


def _committed(stored: Mapping[str, Any]) -> CommittedEpoch:
    """The committed epoch of its JSON; earlier versions had no watermarks and no pushed sources."""
    return CommittedEpoch(
        stored["epoch"],
        stored["lsn"],
        {
            int(job): {int(source): splits for source, splits in sources.items()}
            for job, sources in stored["offsets"].items()
        },
        {int(key): value for key, value in stored.get("watermarks", {}).items()},
        stored.get("settled", True),
        {int(source): offset for source, offset in stored.get("pushed", {}).items()},
    )


def _set_aside(stored: Mapping[str, Any]) -> SetAside:
    """A job that was set aside, of its JSON."""
    feeds = {int(table): subscription for table, subscription in stored["feeds"].items()}
    watermarks = {int(key): value for key, value in stored["watermarks"].items()}
    taking = stored.get("taking")
    taken = None if taking is None else Taking(taking["directory"], taking["pieces"])
    return SetAside(stored["position"], feeds, stored["since"], stored["reason"], watermarks, taken)


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
    """`without_unfinished`, and without what still reads its upstreams' rows: its progress is noted by shards."""
    state = without_unfinished(state)
    for relation in [each for each in state.catalog.relations.values() if each.is_being_created]:
        if relation.has_no_answer:  # one that is recovered begins anew
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


def _write_changed(txn: MetaTransaction, kind: str, old: Mapping[int, object], new: Mapping[int, object]) -> None:
    for key in old.keys() - new.keys():
        txn.delete(f"{kind}/{key}")
    for key, value in new.items():
        if old.get(key) is not value:
            txn.put(f"{kind}/{key}", encode(value))


def _put(txn: MetaTransaction, key: str, value: object) -> None:
    txn.put(key, json.dumps(value).encode())


def _json(txn: MetaTransaction, key: str) -> Any:
    value = txn.get(key)
    assert value is not None, key
    return json.loads(value)
