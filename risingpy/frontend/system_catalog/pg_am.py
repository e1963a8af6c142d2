"""pg_am: the access methods that pg_class names."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import BTREE_OID, HEAP_OID
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation

_HEAP_HANDLER_OID, _BTREE_HANDLER_OID = 3, 330  # heap_tableam_handler, bthandler


def _rows(_state: SystemState) -> Iterable[Row]:
    yield HEAP_OID, "heap", _HEAP_HANDLER_OID, "t"
    yield BTREE_OID, "btree", _BTREE_HANDLER_OID, "i"


PG_AM = relation("pg_catalog", "pg_am", "oid oid, amname name, amhandler regproc, amtype char", _rows)
