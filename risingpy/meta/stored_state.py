"""Makes the parts of a `MetaState` from the keys of the meta store: see `DurableState`, which says what they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from risingpy.formats import IncompatibleStore
from risingpy.meta.state import (
    JOB_EPOCH_SECONDS,
    OLD_SNAPSHOT_SECONDS,
    CommittedEpoch,
    Dropped,
    MetaState,
    SetAside,
    Taking,
)
from risingpy.plan.catalog import DEFAULT_DATABASE_ID, FIRST_DATABASES, FIRST_ROLES, Catalog, DatabaseDesc
from risingpy.plan.catalog.acl import ServerAcls
from risingpy.plan.codec import decode
from risingpy.storage.engine.meta_store import MetaTransaction


def stored_state(txn: MetaTransaction, catalog: Catalog, all_of: Callable[[str], dict[int, Any]]) -> MetaState:
    """The stored state with this catalog; `all_of` gives the objects of a kind, by id."""
    counters = _json(txn, "counters")
    return MetaState(
        catalog=catalog,
        jobs=dict(sorted(all_of("job").items())),  # upstreams must run first, and have lower ids
        stopped=all_of("stopped"),
        shards=counters["shards"],
        graph_version=counters["graph_version"],
        committed=_committed(_json(txn, "committed")),
        fresh_jobs=frozenset(counters["fresh_jobs"]),
        purge=frozenset(_json(txn, "purge")),
        compactions={int(k): v for k, v in counters.get("compactions", {}).items()},
        errors={int(k): v for k, v in counters["errors"].items()},
        next_id=counters["next_id"],
        wanted_shards=counters["wanted_shards"],
        adaptive_parallelism=counters.get("adaptive_parallelism", False),
        old_snapshot_threshold=counters.get("old_snapshot_threshold", OLD_SNAPSHOT_SECONDS),
        job_epoch_seconds=counters.get("job_epoch_seconds", JOB_EPOCH_SECONDS),
        set_aside={int(job): _set_aside(each) for job, each in counters.get("set_aside", {}).items()},
        dropped={
            int(key): Dropped(each["statement"], tuple(each["tables"]))
            for key, each in counters.get("dropped", {}).items()
        },
        backfill_limits={int(job): limit for job, limit in counters.get("backfill_limits", {}).items()},
    )


def catalog_version(txn: MetaTransaction) -> int:
    """That of the stored catalog."""
    version: int = _json(txn, "counters")["catalog_version"]
    return version


def stored_catalog(txn: MetaTransaction, all_of: Callable[[str], dict[int, Any]]) -> Catalog:
    """The stored catalog; `all_of` gives the objects of a kind, by id."""
    return Catalog(
        version=catalog_version(txn),
        databases=all_of("database") or _only_database(txn),
        relations=all_of("relation"),
        functions=all_of("function"),
        types=all_of("type"),
        secrets=all_of("secret"),
        connections=all_of("connection"),
        roles={**FIRST_ROLES, **all_of("role")},
        comments=all_of("comment"),
        server_acls=_server_acls(txn),
    )


def all_stored(txn: MetaTransaction, kind: str) -> dict[int, Any]:
    """The objects of a kind, by id."""
    return {int(key.removeprefix(f"{kind}/")): _decoded(key, value) for key, value in txn.scan(f"{kind}/")}


def changed_objects(known: Mapping[int, Any], kind: str, written: Mapping[str, bytes | None]) -> dict[int, Any]:
    """The objects of a kind after a change of some of the store's keys."""
    found = dict(known)
    for key, value in written.items():
        if key.startswith(f"{kind}/"):
            number = int(key.removeprefix(f"{kind}/"))
            if value is None:
                found.pop(number, None)
            else:
                found[number] = _decoded(key, value)
    return found


def _decoded(key: str, value: bytes) -> Any:
    """The object under a key. Raises IncompatibleStore: what this program does not know, a later one has written."""
    try:
        return decode(value)
    except ValueError as error:
        raise IncompatibleStore(
            f"this version of RisingPy cannot read {key} in the meta store: {error}",
            hint="Start the version that wrote it, or a later one.",
        ) from error


def _only_database(txn: MetaTransaction) -> Mapping[int, DatabaseDesc]:
    """That of a store of before there were several."""
    owners = txn.get("schema_owners")
    first = replace(
        FIRST_DATABASES[DEFAULT_DATABASE_ID],
        schemas=tuple(_json(txn, "schemas")),
        schema_owners={} if owners is None else json.loads(owners),
    )
    return {DEFAULT_DATABASE_ID: first}


def _server_acls(txn: MetaTransaction) -> ServerAcls:
    stored = txn.get("server_acls")
    if stored is None:
        return ServerAcls()
    found = _decoded("server_acls", stored)
    assert isinstance(found, ServerAcls)
    return found


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
    return SetAside(
        stored["position"], feeds, stored["since"], stored["reason"], watermarks, taken, stored.get("wanted", 0)
    )


def _json(txn: MetaTransaction, key: str) -> Any:
    value = txn.get(key)
    assert value is not None, key
    return json.loads(value)
