"""What CREATE TYPE … AS (…) makes: a row's type that has a name.

Values are those of a struct with the same fields. The name tells the type from other rows' in catalogs and for clients.
"""

from __future__ import annotations

from dataclasses import dataclass

from risingpy.types.enums.enum_type import quoted_name, shown_name


@dataclass(frozen=True, slots=True)
class CompositeType:
    """A named row type as a plan knows it. Two are the same type if their `oid` is the same."""

    oid: int
    array_oid: int
    schema_name: str
    name: str

    @property
    def shown(self) -> str:
        """The name in SQL, with its schema unless that is `public`."""
        return shown_name(self.schema_name, self.name)

    @property
    def bare(self) -> str:
        """The name in SQL, without its schema."""
        return quoted_name(self.name)
