"""ENCODE BYTES: the message is the value of one bytea column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from risingpy.connectors.formats.columns import Reasons, decoded
from risingpy.connectors.formats.decoder import Decoded
from risingpy.errors import InvalidParameterValue
from risingpy.types import BYTEA, SqlType


class BytesDecoder:
    """No message is bad; one without a payload is a row with NULL."""

    def __init__(self, columns: Sequence[tuple[str, SqlType]]) -> None:
        if [type_ for _, type_ in columns] != [BYTEA]:
            raise InvalidParameterValue("ENCODE BYTES needs one column of type bytea")

    def decode(self, messages: pa.Table) -> Decoded:
        payload = messages["payload"].combine_chunks()
        return decoded([payload], pa.array(np.arange(len(payload))), Reasons())
