"""What CREATE TYPE … AS ENUM makes: labels in an order, each with a number that never changes.

    label    number          a column holds the numbers, so that equality, order, keys and joins are those of bigints
    sad      1 · 2³²
    ok       2 · 2³²         ADD VALUE 'fine' BEFORE 'happy' takes the middle: 5 · 2³¹
    happy    3 · 2³²

A number keeps its meaning for ever: RENAME VALUE gives it another text, and no value is ever dropped. So ALTER TYPE
rewrites no row. Texts become numbers, and numbers texts, where values come in and go out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from risingpy.sql_quoting import double_quoted

STEP = 1 << 32
"""Between the numbers of two labels of CREATE TYPE: 32 times a label can be added between the same two neighbours."""

DEFAULT_SCHEMA = "public"  # what is in it is shown without it
_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_$]*")


@dataclass(frozen=True, slots=True)
class EnumLabel:
    """A value: its OID in pg_enum, its text, and the number that stands for it in columns."""

    oid: int
    text: str
    number: int


@dataclass(frozen=True, slots=True)
class EnumType:
    """An enum as a plan knows it: all that turns its numbers into texts. `labels` are in order.

    Two are the same type if their `oid` is the same. Whoever changes one changes it in every plan at once.
    """

    oid: int
    array_oid: int
    schema_name: str
    name: str
    labels: tuple[EnumLabel, ...]

    def __hash__(self) -> int:
        return hash(self.oid)

    @property
    def shown(self) -> str:
        """The name in SQL, with its schema unless that is `public`."""
        return shown_name(self.schema_name, self.name)

    @property
    def bare(self) -> str:
        """The name in SQL, without its schema."""
        return quoted_name(self.name)


def shown_name(schema_name: str, name: str) -> str:
    """A type's name in SQL, with its schema unless that is `public`."""
    bare = quoted_name(name)
    return bare if schema_name == DEFAULT_SCHEMA else f"{quoted_name(schema_name)}.{bare}"


def quoted_name(name: str) -> str:
    """A name in SQL, in quotes if it needs them."""
    return name if _PLAIN_NAME.fullmatch(name) else double_quoted(name)
