"""What the connectors of files have in common. How files are read is said by FORMAT PLAIN ENCODE …"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.seekable import MessageReader, RowReader, SeekableConnector, Splits
from risingpy.connectors.stored_files.file_bytes import FileBytes
from risingpy.connectors.stored_files.lines import LineReader
from risingpy.connectors.stored_files.listing import FileList
from risingpy.connectors.stored_files.parquet import ParquetReader, file_columns, refuse_options, row_count
from risingpy.connectors.stored_files.patterns import compiled
from risingpy.connectors.stored_files.store import FileStore
from risingpy.connectors.targets.options import Options
from risingpy.errors import FeatureNotSupported, InternalError, InvalidParameterValue
from risingpy.types import SqlType

ROW_BYTES = 64  # what a line is taken for where an epoch's rows are counted ahead
_ENCODINGS = ("csv", "json", "parquet")
_HEADER_OPTION = "without_header"
_COMMON = ("match_pattern", "refresh.interval.sec")
_LONGEST_INTERVAL = 86_400


@dataclass(frozen=True, slots=True)
class Place:
    """Where the files of the connector `name` are, which of them count, and how often they are listed."""

    name: str
    store: Callable[[], FileStore]
    pattern: str
    interval: float


class StoredFiles:
    """A `EncodedFilesConnector`: the options of WITH, checked. Each line or row of each file counts once."""

    def __init__(self, place: Place) -> None:
        self.name = place.name
        self._place = place

    def of_format(self, message_format: MessageFormat | None) -> SeekableConnector:
        """The connector of an encoding. Raises FeatureNotSupported and InvalidParameterValue."""
        checked = self.format_at_creation(message_format)
        if checked.encoding == "parquet":
            refuse_options(checked.options)
            return _ParquetFiles(self._place)
        return _LineFiles(self._place, has_header=dict(checked.options).get(_HEADER_OPTION) == "false")

    def format_at_creation(self, message_format: MessageFormat | None) -> MessageFormat:
        """The format with `without_header` said, which is false of CSV files where nothing else is."""
        if message_format is None:
            hint = "FORMAT PLAIN ENCODE CSV, JSON or PARQUET"
            raise InvalidParameterValue(f"the {self.name} connector needs FORMAT … ENCODE …", hint=hint)
        if message_format.row_format != "plain" or message_format.encoding not in _ENCODINGS:
            shown = f"FORMAT {message_format.row_format.upper()} ENCODE {message_format.encoding.upper()}"
            hint = f"FORMAT PLAIN has the encodings {', '.join(_ENCODINGS)}."
            raise FeatureNotSupported(f"{shown} is not supported by the {self.name} connector", hint=hint)
        if message_format.encoding != "csv":
            return message_format
        text = dict(message_format.options).get(_HEADER_OPTION, "false").lower()
        if text not in ("true", "false"):
            raise InvalidParameterValue(f'invalid {_HEADER_OPTION} "{text}"', hint="It is true or false.")
        said = {**dict(message_format.options), _HEADER_OPTION: text}
        return replace(message_format, options=tuple(said.items()))

    def columns(self) -> list[tuple[str, SqlType]]:
        """Names and types of the columns of the first Parquet file.

        Raises InvalidParameterValue if no file matches, SourceUnavailable, FeatureNotSupported.
        """
        store, pattern = self._place.store(), compiled(self._place.pattern)
        try:
            names = [file.name for file in store.files() if pattern.fullmatch(file.name)]
            if not names:
                message = f'no file of the {self.name} connector matches "{self._place.pattern}"'
                raise InvalidParameterValue(
                    message, hint="Name the columns, or create the source when there is a file."
                )
            return file_columns(store, min(names))
        finally:
            store.close()


class _LineFiles:
    """ENCODE CSV and JSON."""

    gives_messages = True

    def __init__(self, place: Place, *, has_header: bool) -> None:
        self.name = place.name
        self._place = place
        self._has_header = has_header

    def check(self) -> None:
        _check(self._place)

    def splits(self) -> Splits:
        store = self._place.store()
        pattern = compiled(self._place.pattern)
        return FileList(store, pattern, self._place.interval, FileBytes(store).length, ROW_BYTES)

    def message_reader(self) -> MessageReader:
        return LineReader(FileBytes(self._place.store()), has_header=self._has_header)

    def row_reader(self) -> RowReader:
        raise InternalError("lines are messages")


class _ParquetFiles:
    """ENCODE PARQUET."""

    gives_messages = False

    def __init__(self, place: Place) -> None:
        self.name = place.name
        self._place = place

    def check(self) -> None:
        _check(self._place)

    def splits(self) -> Splits:
        store = self._place.store()
        pattern = compiled(self._place.pattern)
        return FileList(store, pattern, self._place.interval, lambda file: row_count(store, file), 1)

    def message_reader(self) -> MessageReader:
        raise InternalError("Parquet files have rows")

    def row_reader(self) -> RowReader:
        return ParquetReader(self._place.store())


def checked_options(name: str, options: Mapping[str, str], own: tuple[str, ...]) -> Options:
    """The options, of which `own` are the connector's. Raises InvalidParameterValue for an unknown one."""
    unknown = options.keys() - {*own, *_COMMON}
    if unknown:
        hint = f"Options are {', '.join(sorted((*own, *_COMMON)))}."
        raise InvalidParameterValue(f'unknown option "{min(unknown)}" of the {name} connector', hint=hint)
    return Options(f"the {name} connector", options)


def place_of(name: str, options: Options, store: Callable[[], FileStore], *, seconds: int) -> Place:
    """The place; `seconds` are between two listings if the options do not say it. Raises InvalidParameterValue."""
    pattern = options.text("match_pattern") or "*"
    compiled(pattern)
    interval = options.number("refresh.interval.sec", seconds, least=1, most=_LONGEST_INTERVAL)
    return Place(name, store, pattern, float(interval))


def _check(place: Place) -> None:
    store = place.store()
    try:
        store.check()
    finally:
        store.close()
