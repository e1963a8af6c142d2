"""The name of a role where a statement has one."""

from __future__ import annotations

from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.roles.trees import RoleName

_KEYWORDS = ("CURRENT_USER", "CURRENT_ROLE", "SESSION_USER")


def role_name(cursor: Cursor) -> RoleName:
    """A name, or one of the words for the session's own roles."""
    position, word = cursor.position, cursor.word
    if word in _KEYWORDS:
        cursor.expect(word)
        return RoleName(word.lower(), position, word)
    name = cursor.name()
    return RoleName(name.name, name.position)
