"""CREATE SOURCE: INCLUDE, WITH (options) and FORMAT … ENCODE … after the columns. CREATE TABLE: FROM source TABLE."""

from __future__ import annotations

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.included_columns import TYPES
from risingpy.frontend.parser.ast_create import CopiedTable, IncludeDefinition, OptionPlace
from risingpy.frontend.parser.cursor import Cursor

_STORAGE_PARAMETERS = (
    *("fillfactor", "parallel_workers", "toast_tuple_target", "vacuum_index_cleanup", "vacuum_truncate"),
    *("log_autovacuum_min_duration", "user_catalog_table", "deduplicate_items"),
)


def is_storage_parameter(name: str) -> bool:
    """Whether PostgreSQL has a storage parameter of this name for tables or indexes."""
    plain = name.removeprefix("toast.")
    return plain in _STORAGE_PARAMETERS or plain.startswith("autovacuum_")


class OptionsReader:
    """Reads options, and notes where their values stand."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self.places: list[OptionPlace] = []

    def read(self) -> tuple[tuple[str, str], ...]:
        """`(name = value, …)`: names in lower case, in order."""
        return self._cursor.in_parentheses(self.option)

    def option(self) -> tuple[str, str]:
        """`name = value`."""
        cursor = self._cursor
        name = cursor.any_word()
        while cursor.accept("."):
            name += f".{cursor.any_word()}"
        cursor.expect("=")
        begin = cursor.position
        value = cursor.value()
        self.places.append(OptionPlace(name.lower(), begin, cursor.end))
        return name.lower(), value


def parse_includes(cursor: Cursor) -> tuple[IncludeDefinition, ...]:
    """`INCLUDE part ['header' [type]] [AS name]`, any number of them."""
    includes: list[IncludeDefinition] = []
    while cursor.accept("INCLUDE"):
        position = cursor.position
        part = cursor.any_word()
        if part not in TYPES:
            cursor.fail_with(f'cannot include "{part}": it is {", ".join(TYPES)}', position)
        header, header_type = None, None
        if part == "header" and not cursor.at_end and cursor.word == "" and cursor.peek(1)[0] not in ("", ";"):
            header = cursor.string()
            if cursor.word not in ("AS", "INCLUDE", "WITH", ""):
                header_type = cursor.type_name()
        name = cursor.name() if cursor.accept("AS") else None
        includes.append(IncludeDefinition(part, header, header_type, name, position))
    return tuple(includes)


def parse_copied_table(cursor: Cursor, *, all_columns: bool) -> CopiedTable | None:
    """`FROM source TABLE 'name'`, if it comes next."""
    position = cursor.position
    if not cursor.accept("FROM"):
        return None
    source = cursor.object_name()
    cursor.expect("TABLE")
    return CopiedTable(source, cursor.string(), all_columns, position)


def parse_format(cursor: Cursor, options: OptionsReader) -> MessageFormat | None:
    """`FORMAT row_format ENCODE encoding [(options)]`."""
    if not cursor.accept("FORMAT"):
        return None
    row_format = cursor.any_word().lower()
    cursor.expect("ENCODE")
    encoding = cursor.any_word().lower()
    return MessageFormat(row_format, encoding, options.read() if cursor.word == "(" else ())
