"""A column of a Parquet file as a column of a source."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from risingpy.connectors.formats.arrow_columns import plain_column, sql_type
from risingpy.connectors.formats.columns import Reasons
from risingpy.connectors.formats.conversion import converted
from risingpy.errors import SourceUnavailable, SqlError
from risingpy.types import SqlType
from risingpy.types.clocks.nano_moments import holds_nanos


def as_column(file: str, name: str, found: pa.Array, type_: SqlType) -> pa.Array:
    """A file's column as one of a source. What has no cast is read as a literal of the type would be.

    Raises SourceUnavailable where a value is none of the type: no row can be left out of rows that have numbers.
    """
    reasons = Reasons()
    try:
        own = sql_type(name, found.type, nanos=holds_nanos(type_.arrow))
        made = converted(name, plain_column(found, own), own, type_, np.arange(len(found)), reasons)
    except (SqlError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise SourceUnavailable(f'column "{name}" of source file "{file}" is no {type_}: {error}') from None
    if reasons.by_message:
        raise SourceUnavailable(f'source file "{file}": {next(iter(reasons.by_message.values()))}')
    return made
