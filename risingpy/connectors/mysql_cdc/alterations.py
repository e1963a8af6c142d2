"""What a statement of the binary log does to the tables that it names.

MySQL's events have no numbers of columns, so the statements themselves are read: they stand in the log between the
transactions before and after them. Only those parts are let pass of which it is known that they change no row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class EffectKind(Enum):
    """`ADDED`: a column has come. `COLUMN`: one is no more what it was. `TABLE`: the copy cannot go on at all."""

    TRUNCATED = 1
    ADDED = 2
    COLUMN = 3
    TABLE = 4


@dataclass(frozen=True, slots=True)
class Effect:
    """An effect on a table (`database.table`, or `database.*` for all). `what` names the column, or says the reason."""

    table: str
    kind: EffectKind
    what: str = ""


_NAME = r"(?:`(?:[^`]|``)+`|[\w$]+)"
_WHOLE = rf"(?:{_NAME}\s*\.\s*)?{_NAME}"
_FLAGS = re.IGNORECASE | re.DOTALL
_COMMENT = re.compile(r"/\*(?!!|M!).*?\*/|/\*M?!\d*|\*/|--\s[^\n]*|#[^\n]*")
_QUOTED = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"", re.DOTALL)
_TRUNCATE = re.compile(rf"TRUNCATE\s+(?:TABLE\s+)?({_WHOLE})", _FLAGS)
_DROP = re.compile(rf"DROP\s+TABLES?\s+(?:IF\s+EXISTS\s+)?({_WHOLE}(?:\s*,\s*{_WHOLE})*)", _FLAGS)
_DROP_DATABASE = re.compile(rf"DROP\s+(?:DATABASE|SCHEMA)\s+(?:IF\s+EXISTS\s+)?({_NAME})", _FLAGS)
_RENAME = re.compile(r"RENAME\s+TABLES?\s+(.*)", _FLAGS)
_REPLACE = re.compile(rf"CREATE\s+OR\s+REPLACE\s+TABLE\s+({_WHOLE})", _FLAGS)
_ALTER = re.compile(
    rf"ALTER\s+(?:ONLINE\s+)?(?:IGNORE\s+)?TABLE\s+(?:IF\s+EXISTS\s+)?({_WHOLE})\s*(?:(?:NO)?WAIT\s*\d*\s+)?(.*)",
    _FLAGS,
)
_ROWS = re.compile(r"(?:INSERT|UPDATE|DELETE|REPLACE|LOAD|WITH|MERGE)\b", _FLAGS)
_OF_COLUMN = re.compile(
    rf"(?:DROP\s+COLUMN|MODIFY\s+COLUMN|CHANGE\s+COLUMN|RENAME\s+COLUMN|MODIFY|CHANGE|DROP)\s+(?:IF\s+EXISTS\s+)?"
    rf"({_NAME})",
    _FLAGS,
)
_HARMLESS = re.compile(
    r"ADD\s+(?:(?:UNIQUE|FULLTEXT|SPATIAL)\b|INDEX\b|KEY\b|FOREIGN\b|CHECK\b|PARTITION\b"
    r"|CONSTRAINT\b(?!.*\bPRIMARY\s+KEY\b))"
    r"|DROP\s+(?:INDEX|KEY|CONSTRAINT|FOREIGN\s+KEY|CHECK)\b"
    r"|ALTER\s+(?!.*\bCHARACTER\b)|RENAME\s+(?:INDEX|KEY)\b"
    r"|(?:ENGINE|COMMENT|AUTO_INCREMENT|ROW_FORMAT|KEY_BLOCK_SIZE|STATS_\w+|AVG_ROW_LENGTH|MAX_ROWS|MIN_ROWS|CHECKSUM"
    r"|ALGORITHM|LOCK|PAGE_\w+|DEFAULT|CHARSET|CHARACTER\s+SET|COLLATE|ENCRYPT\w*)\b"
    r"|(?:ENABLE|DISABLE)\s+KEYS|FORCE\b|ORDER\s+BY|(?:ANALYZE|OPTIMIZE|REBUILD|REORGANIZE|REPAIR|CHECK)\s+PARTITION"
    r"|PARTITION\s+BY|REMOVE\s+PARTITIONING|$",
    _FLAGS,
)
_KEY = re.compile(r"(?:ADD|DROP)\s+(?:CONSTRAINT\b.*)?PRIMARY\s+KEY", _FLAGS)
_ADD = re.compile(r"ADD\b(?!.*\bPRIMARY\s+KEY\b)", _FLAGS)


def effects_of(database: str, statement: str) -> Iterator[Effect]:
    """The effects of a statement that was run in `database`."""
    text = _COMMENT.sub(" ", statement).strip()
    if found := _TRUNCATE.match(text):
        yield Effect(_whole(found[1], database), EffectKind.TRUNCATED)
    elif found := _DROP.match(text):
        for name in re.findall(_WHOLE, found[1]):
            yield Effect(_whole(name, database), EffectKind.TABLE, "was dropped upstream")
    elif found := _DROP_DATABASE.match(text):
        yield Effect(f"{_plain(found[1])}.*", EffectKind.TABLE, "was dropped upstream")
    elif found := _RENAME.match(text):
        for name in re.findall(rf"({_WHOLE})\s+(?:(?:NO)?WAIT\s*\d*\s+)?TO\s+{_WHOLE}", found[1], _FLAGS):
            yield Effect(_whole(name, database), EffectKind.TABLE, "was renamed upstream")
    elif found := _REPLACE.match(text):
        yield Effect(_whole(found[1], database), EffectKind.TABLE, "was made anew upstream")
    elif found := _ALTER.match(text):
        table = _whole(found[1], database)
        for action in _actions(found[2]):
            yield from _effects_of_action(table, action)


def is_of_rows(statement: str) -> bool:
    """Whether it changes rows: the server logs such a statement instead of its rows if a session asks for that."""
    return _ROWS.match(_COMMENT.sub(" ", statement).strip()) is not None


def _effects_of_action(table: str, action: str) -> Iterator[Effect]:
    if _KEY.match(action):
        yield Effect(table, EffectKind.TABLE, "has another primary key upstream")
    elif _HARMLESS.match(action):
        return
    elif _ADD.match(action):
        yield Effect(table, EffectKind.ADDED)
    elif re.match(
        r"(?:DROP|TRUNCATE|EXCHANGE|CONVERT|COALESCE|DISCARD|IMPORT)\s+(?:PARTITION|TABLESPACE)", action, _FLAGS
    ):
        yield Effect(table, EffectKind.TABLE, "lost or got rows upstream by its partitions or files")
    elif re.match(r"CONVERT\b", action, _FLAGS):
        yield Effect(table, EffectKind.TABLE, "has another character set upstream")
    elif found := _OF_COLUMN.match(action):
        yield Effect(table, EffectKind.COLUMN, _plain(found[1]))
    elif re.match(r"RENAME\b", action, _FLAGS):
        yield Effect(table, EffectKind.TABLE, "was renamed upstream")
    else:
        yield Effect(table, EffectKind.TABLE, f"was altered upstream: {action[:80]}")


def _actions(text: str) -> Iterator[str]:
    """The parts between commas that are in no brackets and in no quotes. What quotes enclose is left out."""
    depth, part = 0, ""
    for char in _QUOTED.sub("''", text):
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            yield part.strip()
            part = ""
        else:
            part += char
    yield part.strip()


def _whole(name: str, database: str) -> str:
    parts = [_plain(part) for part in re.findall(_NAME, name)]
    return ".".join(parts if len(parts) == 2 else [database, *parts])


def _plain(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
