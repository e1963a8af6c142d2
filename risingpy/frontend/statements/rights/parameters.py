"""Which run-time parameters GRANT … ON PARAMETER may name."""

from __future__ import annotations

import re
from collections.abc import Iterable

from risingpy.errors import SqlError
from risingpy.frontend.parameters.definitions import BY_NAME
from risingpy.frontend.statements.alter_system import SYSTEM_PARAMETERS
from risingpy.plan.catalog.rights import Securable

_OWN_NAME = re.compile(r"[^\W\d][\w$]*(\.[^\W\d][\w$]*)+")  # one of the clients' own, as PostgreSQL checks it


def grantable_parameters(named: Iterable[Securable]) -> list[Securable]:
    """Raises SqlError (42602) for what can be no parameter; one with a dot need not be there yet."""
    found = list(named)
    for each in found:
        if each.name not in BY_NAME and each.name not in SYSTEM_PARAMETERS and not _OWN_NAME.fullmatch(each.name):
            raise SqlError(f'invalid parameter name "{each.name}"', sqlstate="42602")
    return found
