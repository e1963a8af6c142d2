"""`connector = 'datagen'`: rows of sequences and random values, so many a second."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from risingpy.connectors.generators.clock import NANOSECONDS, Clock, GeneratedSplits
from risingpy.connectors.generators.fields import FIELD_OPTIONS, FieldOptions
from risingpy.connectors.generators.options import whole_option
from risingpy.connectors.seekable import MessageReader, RowReader, Splits
from risingpy.errors import InternalError, InvalidParameterValue
from risingpy.types import SqlType

BEGIN = "datagen.begin.millis"
_RATE, _SPLITS = "datagen.rows.per.second", "datagen.split.num"
_PREFIX = "fields."
ROWS_A_SECOND, MOST_ROWS_A_SECOND, MOST_SPLITS = 10, 100_000_000, 1024


class DatagenConnector:
    """Makes rows by their numbers. Exactly once: a position always gives the same row."""

    name = "datagen"
    gives_messages = False

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises InvalidParameterValue if an option is unknown or wrong."""
        by_field: dict[str, dict[str, str]] = {}
        for name, text in options.items():
            path, _, last = name.removeprefix(_PREFIX).rpartition(".")
            if name.startswith(_PREFIX) and path and last in FIELD_OPTIONS:
                by_field.setdefault(path, {})[last] = text
            elif name not in (BEGIN, _RATE, _SPLITS):
                raise InvalidParameterValue(f'unknown option "{name}" of the datagen connector')
        now = time.time_ns() // 1_000_000
        self._begin = whole_option(options, BEGIN, now, 0, 1 << 43)
        rate = whole_option(options, _RATE, ROWS_A_SECOND, 1, MOST_ROWS_A_SECOND)
        self._splits = whole_option(options, _SPLITS, 1, 1, MOST_SPLITS)
        self._fields = FieldOptions(by_field, self._begin * 1_000, NANOSECONDS // rate)
        self._clock = Clock(self._begin * 1_000, NANOSECONDS // rate, self._fields.rows())

    def check(self) -> None:
        """Does nothing: there is nobody to reach."""

    def check_columns(self, columns: Sequence[tuple[str, SqlType]]) -> None:
        self._fields.check(columns)

    def options_at_creation(self) -> Mapping[str, str]:
        """The moment of the first row."""
        return {BEGIN: str(self._begin)}

    def splits(self) -> Splits:
        return GeneratedSplits(self._clock.count, self._splits)

    def message_reader(self) -> MessageReader:
        raise InternalError("datagen has rows")

    def row_reader(self) -> RowReader:
        return _DatagenReader(self._fields, self._splits)


class _DatagenReader:
    def __init__(self, fields: FieldOptions, splits: int) -> None:
        self._fields = fields
        self._splits = splits

    def read(self, split: str, start: int, end: int, columns: Sequence[tuple[str, SqlType]]) -> list[pa.Array]:
        numbers = np.arange(start, end, dtype=np.int64) * self._splits + int(split)
        return [field.values(numbers) for field in self._fields.fields(columns)]

    def close(self) -> None:
        """Does nothing: there is nobody to leave."""
