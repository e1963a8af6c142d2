"""GENERATED … AS IDENTITY (START WITH 10 INCREMENT BY 5 …): PostgreSQL's options of a sequence."""

from __future__ import annotations

from risingpy.frontend.parser.ast import NumberingOptions
from risingpy.frontend.parser.cursor import Cursor

_NAMES = {"MINVALUE": "minimum", "MAXVALUE": "maximum", "CYCLE": "cycle"}


def parse_numbering(cursor: Cursor) -> NumberingOptions:
    """The options in parentheses, if there are any."""
    position = cursor.position
    given: dict[str, int | None] = {}
    if cursor.accept("("):
        while not cursor.accept(")"):
            name, value = _option(cursor)
            if name in given:
                cursor.fail_with("conflicting or redundant options", cursor.position)
            given[name] = value
    # CACHE says nothing here: numbers are always handed out in blocks.
    start, increment, minimum, maximum = map(given.get, ("start", "increment", "minimum", "maximum"))
    return NumberingOptions(start, increment, minimum, maximum, position)


def _option(cursor: Cursor) -> tuple[str, int | None]:
    if cursor.accept("NO"):
        return _NAMES[cursor.one_of("MINVALUE", "MAXVALUE", "CYCLE")], None
    if cursor.word == "CYCLE":
        cursor.unsupported("CYCLE of an identity column")
    match cursor.one_of("START", "INCREMENT", "MINVALUE", "MAXVALUE", "CACHE"):
        case "START":
            cursor.accept("WITH")
            return "start", _integer(cursor)
        case "INCREMENT":
            cursor.accept("BY")
            return "increment", _integer(cursor)
        case "MINVALUE":
            return "minimum", _integer(cursor)
        case "MAXVALUE":
            return "maximum", _integer(cursor)
        case _:
            return "cache", _integer(cursor)


def _integer(cursor: Cursor) -> int:
    position, text = cursor.position, cursor.value()
    if not text.removeprefix("-").isdigit():
        cursor.fail_with(f'syntax error at or near "{text}"', position)
    return int(text)
