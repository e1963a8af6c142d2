"""Constants of the types of system catalogs, read from text."""

from __future__ import annotations

from risingpy.errors import InvalidTextRepresentation, NumericValueOutOfRange
from risingpy.types.forms import parse_text
from risingpy.types.sql_type import SqlType
from risingpy.types.system_types import is_oid, is_vector

_OIDS = 1 << 32


def parse_system(type_: SqlType, text: str) -> object:
    """The value that `text` means as a literal of a system type that is no text. Raises 22P02 and 22003."""
    if is_oid(type_):
        return _parse_oid(type_, text)
    if is_vector(type_):
        return tuple(parse_text(type_.element, part) for part in text.split())
    return parse_text(type_, text)


def _parse_oid(type_: SqlType, text: str) -> int:
    """As PostgreSQL, which takes a negative number for one that is counted from the end."""
    word = text.strip()
    if not word.removeprefix("-").removeprefix("+").isdecimal():
        raise InvalidTextRepresentation(f'invalid input syntax for type {type_.name}: "{text}"')
    number = int(word)
    if not -(_OIDS >> 1) <= number < _OIDS:
        raise NumericValueOutOfRange(f'value "{text}" is out of range for type {type_.name}')
    return number % _OIDS
