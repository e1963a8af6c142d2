"""Which files a source has, and where each ends."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping

from risingpy.connectors.seekable import SplitEnd
from risingpy.connectors.stored_files.store import FileStore, StoredFile
from risingpy.errors import SourceUnavailable

RETRY_SECONDS = 60.0  # after which a file is looked at again that could not be read

LOG = logging.getLogger(__name__)


class FileList:
    """The `Splits` of the files that match, in the order of their names. It lists them every `interval` seconds.

    A file that cannot be measured is left out: the log says why, and the others are read.
    """

    def __init__(
        self,
        store: FileStore,
        pattern: re.Pattern[str],
        interval: float,
        measure: Callable[[StoredFile], int],
        row_positions: int,
    ) -> None:
        """`measure` returns the positions of a file, and raises SourceUnavailable."""
        self._store = store
        self._pattern = pattern
        self._interval = interval
        self._measure = measure
        self._row_positions = row_positions
        self._lengths: dict[StoredFile, int] = {}
        self._unreadable: dict[StoredFile, float] = {}  # until when
        self._ends: Mapping[str, SplitEnd] = {}
        self._list_at = 0.0

    def ends(self) -> Mapping[str, SplitEnd]:
        if time.monotonic() >= self._list_at:
            self._ends = self._listed()
            self._list_at = time.monotonic() + self._interval
        return self._ends

    def close(self) -> None:
        self._store.close()

    def _listed(self) -> Mapping[str, SplitEnd]:
        files = sorted(
            (file for file in self._store.files() if self._pattern.fullmatch(file.name)), key=lambda file: file.name
        )
        # What a file held before it was changed is forgotten.
        self._lengths = {file: self._lengths[file] for file in files if file in self._lengths}
        self._unreadable = {file: self._unreadable[file] for file in files if file in self._unreadable}
        lengths = ((file.name, self._length(file)) for file in files)
        return {
            name: SplitEnd(0, length, 0, is_final=True, row_positions=self._row_positions)
            for name, length in lengths
            if length
        }

    def _length(self, file: StoredFile) -> int:
        """The file's positions; 0 if it cannot be read."""
        if file in self._lengths:
            return self._lengths[file]
        if self._unreadable.get(file, 0.0) > time.monotonic():
            return 0
        try:
            length = self._measure(file)
        except SourceUnavailable as error:
            if file not in self._unreadable:
                LOG.warning("%s; it is left out until it can be read", error)
            self._unreadable[file] = time.monotonic() + RETRY_SECONDS
            return 0
        self._lengths[file] = length
        return length
