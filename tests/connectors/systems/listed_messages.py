"""A source whose messages a test has written: any bytes, with any parts, and no broker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather

from risingpy.connectors.seekable import MESSAGES, MessageReader, RowReader, SplitEnd, Splits

CLASS = f"{__name__}:ListedMessages"


def write_messages(path: Path, payloads: list[bytes | None], **parts: Sequence[object]) -> None:
    """Makes these the messages of the source; `parts` are its other columns, NULL by default."""
    given = {"payload": payloads, "offset": list(range(len(payloads))), **parts}
    columns = [pa.array(given.get(field.name, [None] * len(payloads)), field.type) for field in MESSAGES]
    unfinished = path.with_suffix(".unfinished")
    feather.write_feather(pa.Table.from_arrays(columns, schema=MESSAGES), unfinished)
    unfinished.replace(path)  # a source may be reading it


class ListedMessages:
    """`path`: the file of `write_messages`."""

    name = "listed"
    gives_messages = True

    def __init__(self, options: Mapping[str, str]) -> None:
        self._path = options["path"]

    def check(self) -> None: ...

    def splits(self) -> Splits:
        return self

    def message_reader(self) -> MessageReader:
        return self

    def row_reader(self) -> RowReader:
        raise AssertionError("it has messages")

    def ends(self) -> Mapping[str, SplitEnd]:
        return {"0": SplitEnd(0, self._messages().num_rows, 0)}

    def read(self, split: str, start: int, end: int) -> pa.Table:
        return self._messages().slice(start, end - start)

    def close(self) -> None: ...

    def _messages(self) -> pa.Table:
        return feather.read_table(self._path, memory_map=False)
