"""CREATE SOURCE: INCLUDE, WITH (options) and FORMAT … ENCODE … after the columns. CREATE TABLE: FROM source TABLE."""

from __future__ import annotations

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.included_columns import TYPES
from risingpy.errors import FeatureNotSupported
from risingpy.frontend.parser.ast_create import CopiedTable, IncludeDefinition, OptionPlace, OptionReference
from risingpy.frontend.parser.ast_parts import ObjectName
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
        self.references: list[OptionReference] = []

    def read(self, *, of_format: bool = False) -> tuple[tuple[str, str], ...]:
        """`(name = value, …)`: names in lower case, in order. Those of secrets and connections go to `references`.

        As in RisingWave, a comma may end the list.
        """
        cursor, found = self._cursor, list[tuple[str, str] | None]()
        cursor.expect("(")
        while cursor.word != ")":
            found.append(self._option_or_reference(of_format=of_format))
            if not cursor.accept(","):
                break
        cursor.expect(")")
        return tuple(option for option in found if option is not None)

    def altered(self) -> tuple[tuple[str, str], ...]:
        """What ALTER changes: `CONNECTOR WITH (name = value, …)` or `SET name = | TO value`, if one of them comes."""
        if self._cursor.accept("CONNECTOR"):
            self._cursor.expect("WITH")
            return self.read()
        return self.read_one() if self._cursor.accept("SET") else ()

    def read_one(self) -> tuple[tuple[str, str], ...]:
        """`name = value`, or `name TO value`, of ALTER … SET; empty if it is a reference."""
        found = self._option_or_reference(of_format=False, signs=("=", "TO"))
        return () if found is None else (found,)

    def option(self) -> tuple[str, str]:
        """`name = value`, or `name TO value`, which is no reference."""
        found = self._option_or_reference(of_format=False, signs=("=", "TO"))
        if found is None:
            reference = self.references[-1]
            position = reference.object.position
            return self._cursor.fail_with(f"the option {reference.option} cannot be a reference", position)
        return found

    def _option_or_reference(self, *, of_format: bool, signs: tuple[str, ...] = ("=",)) -> tuple[str, str] | None:
        """Words of a name are joined by dots, or by hyphens as those of `headers.X-Api-Key`."""
        cursor = self._cursor
        name = cursor.any_word()
        while cursor.word in (".", "-"):
            joint = cursor.one_of(".", "-")
            name += f"{joint}{cursor.any_word()}"
        cursor.one_of(*signs)
        begin, name = cursor.position, name.lower()
        reference = self._reference(name, of_format=of_format)
        if reference is not None:
            self.references.append(reference)
            self.places.append(OptionPlace(name, begin, cursor.end, is_reference=True))
            return None
        value = cursor.value()
        self.places.append(OptionPlace(name, begin, cursor.end))
        return name, value

    def _reference(self, name: str, *, of_format: bool) -> OptionReference | None:
        """`SECRET name [AS FILE]`, and the name of a connection, if one comes."""
        cursor = self._cursor
        if name == "connection":
            if cursor.word:
                return OptionReference(name, cursor.object_name(), of_format, is_connection=True)
            position = cursor.position
            return OptionReference(name, ObjectName(cursor.value(), None, position), of_format, is_connection=True)
        if cursor.word != "SECRET" or cursor.peek(2)[-1] in (",", ")", "SECRET"):  # a word may be a value, too
            return None
        cursor.expect("SECRET")
        secret = cursor.object_name()
        as_file = cursor.accept("AS", "FILE")
        if not as_file and cursor.accept("AS"):
            cursor.expect("TEXT")
        return OptionReference(name, secret, of_format, as_file=as_file)


def parse_includes(cursor: Cursor) -> tuple[IncludeDefinition, ...]:
    """`INCLUDE part ['header' [type]] [AS name]`, any number of them."""
    includes: list[IncludeDefinition] = []
    while cursor.accept("INCLUDE"):
        position = cursor.position
        part = cursor.any_word()
        if part not in TYPES:
            cursor.fail_with(f'cannot include "{part}": it is {", ".join(TYPES)}', position)
        header, header_type = None, None
        if part == "header" and not cursor.at_end and cursor.word == "" and cursor.peek(1)[0] not in ("''", ";"):
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


def no_key_of_source(position: int) -> FeatureNotSupported:
    """The error for PRIMARY KEY in CREATE SOURCE: only what keeps rows knows which one a later row replaces."""
    hint = "CREATE TABLE with the same text keeps them by their key, and views read the table."
    return FeatureNotSupported("a source has no PRIMARY KEY: it keeps no rows", position=position, hint=hint)


def parse_format(cursor: Cursor, options: OptionsReader) -> MessageFormat | None:
    """`FORMAT row_format ENCODE encoding [(options)]`."""
    if not cursor.accept("FORMAT"):
        return None
    row_format = cursor.any_word().lower()
    cursor.expect("ENCODE")
    encoding = cursor.any_word().lower()
    return MessageFormat(row_format, encoding, options.read(of_format=True) if cursor.word == "(" else ())
