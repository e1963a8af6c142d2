"""parse_ident: a qualified name as its parts, as PostgreSQL 15 takes it apart."""

from __future__ import annotations

import re

import pyarrow as pa

from risingpy.errors import InvalidParameterValue
from risingpy.functions.topics.calling import Function, by_row

_SPACE = re.compile(r"[ \t\n\r\f\v]*")
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_BARE = re.compile(r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*")
_LOWER = str.maketrans({chr(code): chr(code + 32) for code in range(ord("A"), ord("Z") + 1)})


def _parse_ident(text: str, strict: bool = True) -> list[str]:
    parts: list[str] = []
    at = _skipped(text, 0)
    while True:
        quoted, bare = _QUOTED.match(text, at), _BARE.match(text, at)
        if quoted is not None and quoted[1]:
            parts.append(quoted[1].replace('""', '"'))
            at = quoted.end()
        elif bare is not None:
            parts.append(bare[0].translate(_LOWER))
            at = bare.end()
        else:
            raise _no_name(text, _reason(text, at, after_dot=bool(parts), empty=quoted is not None))
        at = _skipped(text, at)
        if at < len(text) and text[at] == ".":
            at = _skipped(text, at + 1)
            continue
        if at < len(text) and strict:
            raise _no_name(text, None)
        return parts


def _skipped(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return at if space is None else space.end()


def _reason(text: str, at: int, *, after_dot: bool, empty: bool) -> str | None:
    if empty:
        return "Quoted identifier must not be empty."
    if text[at : at + 1] == '"':
        return "String has unclosed double quotes."
    if text[at : at + 1] == ".":
        return 'No valid identifier before ".".'
    return 'No valid identifier after ".".' if after_dot else None


def _no_name(text: str, reason: str | None) -> InvalidParameterValue:
    return InvalidParameterValue(f'string is not a valid identifier: "{text}"', detail=reason)


IDENTIFIERS: dict[str, Function] = {"parse_ident": Function(by_row(_parse_ident, pa.list_(pa.string())))}
