"""CREATE and ALTER SEQUENCE, and the same options in GENERATED … AS IDENTITY (START WITH 10 INCREMENT BY 5 …)."""

from __future__ import annotations

from typing import NoReturn

from risingpy.frontend.parser.ast import AlterSequence, CreateSequence, ObjectName, SequenceOptions
from risingpy.frontend.parser.ast_parts import NONE, ColumnName, OptionValue
from risingpy.frontend.parser.cursor import Cursor

_NUMBERS = {"INCREMENT": "BY", "START": "WITH", "MINVALUE": "", "MAXVALUE": "", "CACHE": ""}


def parse_create_sequence(cursor: Cursor) -> CreateSequence:
    """`[IF NOT EXISTS] name [options]`."""
    if_not_exists = cursor.accept("IF", "NOT", "EXISTS")
    name = cursor.object_name()
    position = cursor.position
    return CreateSequence(name, _options(cursor, position), if_not_exists)


def parse_altered_sequence(cursor: Cursor, name: ObjectName, if_exists: bool) -> AlterSequence:
    """The options, of which there is at least one."""
    position = cursor.position
    if cursor.at_end:
        cursor.fail()
    return AlterSequence(name, _options(cursor, position), if_exists)


def parse_numbering(cursor: Cursor) -> SequenceOptions:
    """The options in parentheses, if there are any."""
    position = cursor.position
    if not cursor.accept("("):
        return SequenceOptions(position=position)
    options = _options(cursor, position, end=")")
    cursor.expect(")")
    return options


def parse_one_option(cursor: Cursor) -> SequenceOptions:
    """One option, as after ALTER COLUMN … SET, or RESTART."""
    position = cursor.position
    name, value = _option(cursor)
    return SequenceOptions(((name, value),), position)


def _options(cursor: Cursor, position: int, end: str = "") -> SequenceOptions:
    given: dict[str, OptionValue] = {}
    while not cursor.at_end and (not end or cursor.word != end):
        at = cursor.position
        name, value = _option(cursor)
        if name in given:
            cursor.fail_with("conflicting or redundant options", at)
        given[name] = value
    return SequenceOptions(tuple(given.items()), position)


def _option(cursor: Cursor) -> tuple[str, OptionValue]:
    if cursor.accept("NO"):
        word = cursor.one_of("MINVALUE", "MAXVALUE", "CYCLE")
        return word, False if word == "CYCLE" else None
    if cursor.accept("AS"):
        return "AS", cursor.type_name()
    if cursor.accept("OWNED", "BY"):
        return "OWNED BY", _owner(cursor)
    if cursor.accept("SEQUENCE", "NAME"):
        return "SEQUENCE NAME", cursor.object_name()
    if cursor.accept("CYCLE"):
        return "CYCLE", True
    if cursor.accept("RESTART"):
        given = cursor.accept("WITH") or cursor.word == "-" or cursor.word[:1].isdigit() or _is_number(cursor)
        return "RESTART", _integer(cursor) if given else None
    for word, filler in _NUMBERS.items():
        if cursor.accept(word):
            if filler:
                cursor.accept(filler)
            return word, _integer(cursor)
    return _fail(cursor)


def _fail(cursor: Cursor) -> NoReturn:
    cursor.fail()


def _is_number(cursor: Cursor) -> bool:
    return not cursor.at_end and cursor.peek(1)[0].removeprefix("-").isdigit()


def _owner(cursor: Cursor) -> OptionValue:
    """The names of a column, its table and perhaps its schema; NONE."""
    if cursor.accept("NONE"):
        return NONE
    names: list[ColumnName] = [cursor.name()]
    while cursor.accept("."):
        names.append(cursor.name())
    return tuple(names)


def _integer(cursor: Cursor) -> int:
    position, text = cursor.position, cursor.value()
    if not text.removeprefix("-").isdigit():
        cursor.fail_with(f'syntax error at or near "{text}"', position)
    return int(text)
