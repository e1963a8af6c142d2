"""LISTEN, UNLISTEN and NOTIFY. A channel has a name as a table has."""

from __future__ import annotations

from risingpy.frontend.parser.channels.trees import Listen, Notify, Unlisten
from risingpy.frontend.parser.cursor import Cursor


def parse_listen(cursor: Cursor) -> Listen:
    """LISTEN channel."""
    cursor.expect("LISTEN")
    return Listen(cursor.name().name)


def parse_unlisten(cursor: Cursor) -> Unlisten:
    """UNLISTEN of a channel, or of all."""
    cursor.expect("UNLISTEN")
    return Unlisten(None if cursor.accept("*") else cursor.name().name)


def parse_notify(cursor: Cursor) -> Notify:
    """NOTIFY channel, and perhaps a payload, which is a literal."""
    cursor.expect("NOTIFY")
    channel = cursor.name().name
    return Notify(channel, cursor.string() if cursor.accept(",") else "")
