"""The functions of pg_proc, the built-in ones too, as what rights are on."""

from __future__ import annotations

from risingpy.frontend.system_catalog.system_relation import SystemState
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID
from risingpy.plan.catalog.acl import ObjectKind
from risingpy.plan.catalog.rights import Securable, securable


def function_of_proc(state: SystemState, oid: int, name: str) -> Securable:
    """The function of that oid; a built-in one is the bootstrap user's, and everybody's to execute."""
    function = state.catalog.functions.get(oid)
    if function is not None:
        return securable(state.catalog, function)
    return Securable(ObjectKind.FUNCTION, oid, "function", name, BOOTSTRAP_ROLE_ID, None)
