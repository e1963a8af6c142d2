"""pg_am: the access methods that pg_class names."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.catalog.oids import BTREE_OID, HEAP_OID
from risingpy.frontend.catalog.system_relation import Row, SystemState, relation


def _rows(_state: SystemState) -> Iterable[Row]:
    yield HEAP_OID, "heap", "heap_tableam_handler", "t"
    yield BTREE_OID, "btree", "bthandler", "i"


PG_AM = relation("pg_catalog", "pg_am", "oid oid, amname name, amhandler text, amtype char", _rows)
