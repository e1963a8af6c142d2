"""What has_language_privilege and its like find by name: objects without a schema."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.parameters.definitions import ALIASES
from risingpy.frontend.system_catalog.oids import (
    DEFAULT_TABLESPACE,
    DEFAULT_TABLESPACE_OID,
    LANGUAGE_OIDS,
    parameter_oid,
)
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation


def _named(state: SystemState) -> Iterable[Row]:
    yield from (("language", name, oid) for name, oid in LANGUAGE_OIDS.items())
    yield "tablespace", DEFAULT_TABLESPACE, DEFAULT_TABLESPACE_OID
    yield from (("parameter", name, parameter_oid(name)) for name in state.catalog.server_acls.parameters)
    yield from (("parameter", earlier, parameter_oid(name)) for earlier, name in ALIASES.items())


NAMED_OBJECTS = relation("risingpy", "rp_named_objects", "rp_named_kind text, rp_named_name text, rp_named oid", _named)
