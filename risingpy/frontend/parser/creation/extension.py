"""CREATE EXTENSION."""

from __future__ import annotations

from risingpy.errors import FeatureNotSupported
from risingpy.frontend.parser.ast import Maintenance
from risingpy.frontend.parser.cursor import Cursor

BUILT_IN_EXTENSIONS = frozenset({"vector", "uuid-ossp", "pgcrypto"})


def parse_create_extension(cursor: Cursor) -> Maintenance:
    """`CREATE EXTENSION` has been taken. Raises FeatureNotSupported (0A000) for what is not built in."""
    cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.name()
    cursor.accept("WITH")
    if cursor.accept("SCHEMA"):
        cursor.name()
    if cursor.accept("VERSION"):
        cursor.any_word()
    cursor.accept("CASCADE")
    if name.name not in BUILT_IN_EXTENSIONS:
        hint = f"What is built in is known by the name of its extension: {', '.join(sorted(BUILT_IN_EXTENSIONS))}."
        raise FeatureNotSupported(f'extension "{name.name}" is not available', position=name.position, hint=hint)
    return Maintenance("CREATE EXTENSION")
