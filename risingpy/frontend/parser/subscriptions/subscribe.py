"""SUBSCRIBE."""

from __future__ import annotations

from risingpy.frontend.parser.ast import Query, Subscribe
from risingpy.frontend.parser.cursor import Cursor

_FLAGS = {**dict.fromkeys(("true", "on", "t", "1"), True), **dict.fromkeys(("false", "off", "f", "0"), False)}


def parse_subscribe(cursor: Cursor) -> Subscribe:
    """`SUBSCRIBE [TO] relation | (query) [WITH (snapshot, progress, up_to = epoch)] [AFTER EPOCH epoch]`."""
    cursor.expect("SUBSCRIBE")
    cursor.accept("TO")
    target = _parse_query(cursor) if cursor.word == "(" else cursor.object_name()
    options = dict(cursor.in_parentheses(lambda: _parse_option(cursor))) if cursor.accept("WITH") else {}
    after_epoch = None
    if cursor.accept("AFTER"):
        cursor.expect("EPOCH")
        if options.get("snapshot"):
            cursor.fail_with("AFTER EPOCH takes no snapshot", cursor.position)
        after_epoch = _parse_epoch(cursor)
    snapshot = bool(options.get("snapshot", after_epoch is None))
    return Subscribe(target, snapshot, bool(options.get("progress")), options.get("up_to"), after_epoch)


def _parse_query(cursor: Cursor) -> Query:
    cursor.expect("(")
    query = cursor.query()
    cursor.expect(")")
    return query


def _parse_option(cursor: Cursor) -> tuple[str, int]:
    position = cursor.position
    name = cursor.any_word().lower()
    if name == "up_to":
        cursor.expect("=")
        return name, _parse_epoch(cursor)
    if name not in ("snapshot", "progress"):
        cursor.fail_with(f'unknown option "{name}" of SUBSCRIBE', position)
    if not cursor.accept("="):
        return name, True
    position, text = cursor.position, cursor.value()
    if text.lower() not in _FLAGS:
        cursor.fail_with(f'the option "{name}" is true or false', position)
    return name, _FLAGS[text.lower()]


def _parse_epoch(cursor: Cursor) -> int:
    position, text = cursor.position, cursor.value()
    if not text.isdigit() or int(text) >= 1 << 63:
        cursor.fail_with(f'syntax error at or near "{text}": an epoch is a number', position)
    return int(text)
