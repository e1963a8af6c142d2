"""Finds the oids of constant texts of type regclass and similar types, for the binder.

Other texts are looked up when the query runs (`functions/evaluation/sql_catalog.py`), in the same rows and with the
same errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from risingpy.errors import SqlError
from risingpy.frontend.system_catalog.lookups import SCHEMA_NAMES, SPELLINGS, TYPE_SPELLINGS
from risingpy.frontend.system_catalog.oids import ROOT_USER_OID
from risingpy.frontend.system_catalog.pg_namespace import all_schemas
from risingpy.frontend.system_catalog.pg_proc import FUNCTION_SPELLINGS
from risingpy.frontend.system_catalog.system_relation import SystemState
from risingpy.functions.topics.object_names import key, no_such_object

_LARGEST_OID = 2**32 - 1


@dataclass(frozen=True, slots=True)
class ObjectNames:
    """Names as one session sees them, in one state of the catalog."""

    state: SystemState
    database: str

    @property
    def schemas(self) -> tuple[str, ...]:
        """Every schema, including the system's."""
        return all_schemas(self.state)

    def oid(self, kind: str, text: str) -> int:
        """The oid that a text of type `kind` (regclass, …) means: a name, digits, or `-` for 0.

        Raises the error of the cast: 42P01 for a missing relation, 42704 for a type, 42725 for an ambiguous function
        name, and so on.
        """
        if text.isdigit() and int(text) <= _LARGEST_OID:
            return int(text)
        if text == "-":
            return 0
        wanted = key(kind, text, self.database)
        found = [] if wanted is None else [oid for name, oid in self._spelled(kind) if name == wanted]
        if not found:
            raise no_such_object(kind, text, self.database, self.schemas)
        if kind == "regproc" and len(found) > 1:
            raise SqlError(f'more than one function named "{wanted}"', sqlstate="42725")
        return min(found)

    def _spelled(self, kind: str) -> Iterable[tuple[object, int]]:
        match kind:
            case "regclass":
                rows = SPELLINGS.rows(self.state)
            case "regtype":
                rows = TYPE_SPELLINGS.rows(self.state)
            case "regnamespace":
                rows = ((name, oid) for oid, name in SCHEMA_NAMES.rows(self.state))
            case "regrole":
                rows = (("root", ROOT_USER_OID),)
            case _:
                rows = ((text, oid) for text, _with_types, oid in FUNCTION_SPELLINGS.rows(self.state))
        for name, oid in rows:
            assert isinstance(oid, int)
            yield name, oid
