"""Finds the oids of constant texts of type regclass and similar types, for the binder.

Other texts are looked up when the query runs (`functions/evaluation/sql/catalog.py`), in the same rows and with the
same errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from risingpy.errors import SqlError
from risingpy.frontend.system_catalog.lookups import SCHEMA_NAMES, SPELLINGS, TYPE_SPELLINGS
from risingpy.frontend.system_catalog.pg_namespace import all_schemas
from risingpy.frontend.system_catalog.pg_proc import FUNCTION_SPELLINGS
from risingpy.frontend.system_catalog.pg_roles import ROLE_NAMES
from risingpy.frontend.system_catalog.system_relation import SystemState
from risingpy.functions.topics.object_names import key, no_such_object
from risingpy.types.families import TypeKind
from risingpy.types.forms import parse_text
from risingpy.types.sql_type import SqlType
from risingpy.types.system_types import TEXT

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

    def value(self, sql_type: SqlType, text: str) -> object:
        """The value that a text means as a regclass or one of its siblings, or as an array of them.

        Raises what `oid` raises, and 22P02 for a text that is no array.
        """
        if sql_type.kind is not TypeKind.ARRAY:
            return self.oid(sql_type.system, text)
        return self._oids(sql_type.leaf.system, parse_text(_of_texts(sql_type), text))

    def _oids(self, kind: str, value: object) -> object:
        """The oids of the names in an array of any depth."""
        match value:
            case list() | tuple():
                return tuple(self._oids(kind, item) for item in value)
            case str():
                return self.oid(kind, value)
        return None

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
                rows = ((name, oid) for oid, name, _ in ROLE_NAMES.rows(self.state))
            case _:
                rows = ((text, oid) for text, _with_types, oid in FUNCTION_SPELLINGS.rows(self.state))
        for name, oid in rows:
            assert isinstance(oid, int)
            yield name, oid


def _of_texts(sql_type: SqlType) -> SqlType:
    """The type of arrays as deep, of texts."""
    element = sql_type.element
    return replace(sql_type, items=(TEXT if element.kind is not TypeKind.ARRAY else _of_texts(element),))
