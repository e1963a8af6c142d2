"""DECLARE, FETCH, MOVE, CLOSE."""

from __future__ import annotations

from risingpy.errors import SqlError
from risingpy.frontend.parser.ast import CloseCursor, DeclareCursor, DeclareSubscriptionCursor, Fetch, FetchKind
from risingpy.frontend.parser.cursor import Cursor
from risingpy.frontend.parser.explain import QUERIES
from risingpy.frontend.parser.subscriptions import parse_subscription_cursor, parse_timeout

_OPTIONS = ("BINARY", "INSENSITIVE", "ASENSITIVE", "NO", "SCROLL")
_ROWS = {"NEXT": 1, "PRIOR": -1}
_ENDS = {"FIRST": 1, "LAST": -1}
_COUNTED = {"ABSOLUTE": FetchKind.ABSOLUTE, "RELATIVE": FetchKind.RELATIVE}
_WAYS = ("FORWARD", "BACKWARD")
_LARGEST = (1 << 31) - 1


def parse_declare(cursor: Cursor) -> DeclareCursor | DeclareSubscriptionCursor:
    """The query stays unread. Options stand in any order, as in PostgreSQL.

    Raises 42P11 for SCROLL beside NO SCROLL, and a syntax error if no query follows.
    """
    cursor.expect("DECLARE")
    name = cursor.name().name
    if cursor.accept("SUBSCRIPTION"):
        return parse_subscription_cursor(cursor, name)
    binary, scroll = False, None
    while not cursor.accept("CURSOR"):
        position = cursor.position
        option = cursor.one_of(*_OPTIONS)
        if option == "BINARY":
            binary = True
        elif option in ("NO", "SCROLL"):
            wanted = option == "SCROLL" or not cursor.one_of("SCROLL")
            if scroll is not None and scroll is not wanted:
                raise SqlError("cannot specify both SCROLL and NO SCROLL", sqlstate="42P11", position=position)
            scroll = wanted
    hold = cursor.accept("WITH", "HOLD")
    if not hold:
        cursor.accept("WITHOUT", "HOLD")
    cursor.expect("FOR")
    if cursor.word not in QUERIES:
        cursor.fail()
    return DeclareCursor(name, cursor.rest(), binary, scroll, hold)


def parse_fetch(cursor: Cursor) -> Fetch:
    """FETCH and MOVE; the direction and FROM or IN may be missing, which means the next row."""
    move = cursor.one_of("FETCH", "MOVE") == "MOVE"
    kind, count, backward = _parse_direction(cursor)
    _ = cursor.accept("FROM") or cursor.accept("IN")
    name = cursor.name().name
    return Fetch(name, kind, count, backward, move, parse_timeout(cursor))


def _parse_direction(cursor: Cursor) -> tuple[FetchKind, int | None, bool]:
    if len(cursor.peek(2)) < 2:  # a name alone, whatever word it is
        return FetchKind.FORWARD, 1, False
    word = cursor.word
    if word in _ROWS:
        cursor.expect(word)
        return FetchKind.FORWARD, _ROWS[word], False
    if word in _ENDS:
        cursor.expect(word)
        return FetchKind.ABSOLUTE, _ENDS[word], False
    if word in _COUNTED:
        cursor.expect(word)
        return _COUNTED[word], _parse_number(cursor), False
    backward = word == "BACKWARD"
    named = word in _WAYS
    if named:
        cursor.expect(word)
    if cursor.accept("ALL"):
        return FetchKind.FORWARD, None, backward
    count = _parse_number(cursor) if _is_number(cursor) else 1
    return FetchKind.FORWARD, -count if backward else count, False


def _is_number(cursor: Cursor) -> bool:
    return cursor.peek(1)[0].lstrip("-+")[:1].isdigit() or cursor.peek(1)[0] in ("-", "+")


def _parse_number(cursor: Cursor) -> int:
    position = cursor.position
    text = cursor.value()
    if not text.lstrip("-").isdigit() or abs(int(text)) > _LARGEST:
        cursor.fail_with(f'syntax error at or near "{text}"', position)
    return int(text)


def parse_close(cursor: Cursor) -> CloseCursor:
    """The cursor's name, or None for ALL."""
    cursor.expect("CLOSE")
    return CloseCursor(None if cursor.accept("ALL") else cursor.name().name)
