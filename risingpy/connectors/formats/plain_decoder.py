"""FORMAT PLAIN: each message is a row that is inserted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from risingpy.connectors.formats.columns import Reasons, decoded
from risingpy.connectors.formats.decoder import Decoded
from risingpy.connectors.formats.payload_reader import PayloadReader


class PlainDecoder:
    """Rows of payloads alone."""

    def __init__(self, reader: PayloadReader) -> None:
        self._reader = reader

    def decode(self, messages: pa.Table) -> Decoded:
        reasons = Reasons()
        positions = np.arange(messages.num_rows)
        columns = self._reader.read(messages["payload"].combine_chunks(), positions, reasons)
        return decoded(columns, pa.array(positions), reasons)
