"""What has_language_privilege and its like look up: objects without a schema, and those that nobody grants."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import DEFAULT_TABLESPACE_OID, LANGUAGE_OIDS
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID
from risingpy.plan.catalog.acl import Privilege


def fixed_rights() -> Iterable[Row]:
    """Rows of rp_acls: tablespaces are the bootstrap user's."""
    yield "tablespace", DEFAULT_TABLESPACE_OID, 0, BOOTSTRAP_ROLE_ID, int(Privilege.CREATE)


def _named(_state: SystemState) -> Iterable[Row]:
    yield from (("language", name, oid) for name, oid in LANGUAGE_OIDS.items())
    yield "tablespace", "pg_default", DEFAULT_TABLESPACE_OID


NAMED_OBJECTS = relation("risingpy", "rp_named_objects", "rp_named_kind text, rp_named_name text, rp_named oid", _named)
