"""KEY ENCODE …: what the keys of messages are, whatever their values are."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from risingpy.connectors.targets.encoders.json_leaves import JsonForms
from risingpy.connectors.targets.encoders.json_objects import JsonObjects
from risingpy.connectors.targets.encoders.plain import RowTexts
from risingpy.connectors.targets.encoders.text import ColumnBytes
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import SqlType
from risingpy.types.forms import text_column


class _Text:
    """The text of the only column, as SQL shows it."""

    def __init__(self, type_: SqlType) -> None:
        self._type = type_

    def rows(self, arrays: Sequence[pa.Array]) -> pa.Array:
        return text_column(self._type, arrays[0])


def key_rows(encoding: str, columns: Sequence[tuple[str, SqlType]]) -> RowTexts:
    """What writes keys of these columns. Raises FeatureNotSupported, InvalidParameterValue if they do not fit."""
    name = f"KEY ENCODE {encoding.upper()}"
    if not columns:
        raise InvalidParameterValue(f"{name} needs a primary key")
    match encoding:
        case "json":
            return JsonObjects(columns, JsonForms())
        case "text" if len(columns) == 1:
            return _Text(columns[0][1])
        case "bytes" if len(columns) == 1:
            return ColumnBytes(columns)
        case "text" | "bytes":
            raise InvalidParameterValue(f"{name} needs a primary key of a single column, and it has {len(columns)}")
    raise FeatureNotSupported(f"{name} is not supported for sinks", hint="It is JSON, TEXT or BYTES.")
