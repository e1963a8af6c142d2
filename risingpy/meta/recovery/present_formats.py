"""Objects that an earlier version wrote get the present form in the first transaction of whoever opens the directory.

So a crash leaves all of them as they were, or as they are to be.
"""

from __future__ import annotations

from risingpy.formats import PLANS
from risingpy.meta.durable_state import objects_by_kind
from risingpy.meta.state import MetaState
from risingpy.plan.codec import encode, version_of
from risingpy.storage.engine.meta_store import MetaTransaction

_EARLIER_KEYS = ("schemas", "schema_owners")  # of before there were several databases


def write_in_present_formats(txn: MetaTransaction, state: MetaState) -> None:
    """Writes the objects of the stored `state` anew that the store has in an earlier version's form."""
    for kind, objects in objects_by_kind(state).items():
        for number, value in objects.items():
            key = f"{kind}/{number}"
            stored = txn.get(key)
            if stored is not None and version_of(stored) != PLANS.written:
                txn.put(key, encode(value))
    acls = txn.get("server_acls")
    if acls is not None and version_of(acls) != PLANS.written:
        txn.put("server_acls", encode(state.catalog.server_acls))
    for key in _EARLIER_KEYS:
        if txn.get(key) is not None:
            txn.delete(key)
