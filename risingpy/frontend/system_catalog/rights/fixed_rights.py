"""What has_type_privilege and its like look up: objects whose rights nobody grants or revokes."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import DEFAULT_TABLESPACE_OID, LANGUAGE_OIDS
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID
from risingpy.plan.catalog.acl import PUBLIC, Privilege
from risingpy.types.type_entries import TYPES

_SUPERUSERS_LANGUAGE = "python"  # its functions are programs


def fixed_rights() -> Iterable[Row]:
    """Rows of rp_acls: everybody may use types and languages but Python; tablespaces are the bootstrap user's."""
    usage = int(Privilege.USAGE)
    for entry in TYPES:
        yield "type", entry.oid, 0, PUBLIC, usage
    for name, oid in LANGUAGE_OIDS.items():
        yield "language", oid, 0, BOOTSTRAP_ROLE_ID if name == _SUPERUSERS_LANGUAGE else PUBLIC, usage
    yield "tablespace", DEFAULT_TABLESPACE_OID, 0, BOOTSTRAP_ROLE_ID, int(Privilege.CREATE)


def _named(_state: SystemState) -> Iterable[Row]:
    yield from (("language", name, oid) for name, oid in LANGUAGE_OIDS.items())
    yield "tablespace", "pg_default", DEFAULT_TABLESPACE_OID


NAMED_OBJECTS = relation("risingpy", "rp_named_objects", "rp_named_kind text, rp_named_name text, rp_named oid", _named)
