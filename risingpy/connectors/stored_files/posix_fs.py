"""`connector = 'posix_fs'`: files of a directory of the server."""

from __future__ import annotations

from collections.abc import Mapping

from risingpy.connectors.stored_files.connector import StoredFiles, checked_options, place_of
from risingpy.connectors.stored_files.directory import DirectoryStore


class PosixFsConnector(StoredFiles):
    """`posix_fs.root` is the directory. It is listed every second if nothing else is said."""

    def __init__(self, options: Mapping[str, str]) -> None:
        """Raises InvalidParameterValue if an option is missing, unknown or wrong."""
        checked = checked_options("posix_fs", options, ("posix_fs.root",))
        root = checked.required("posix_fs.root")
        DirectoryStore(root)
        super().__init__(place_of("posix_fs", checked, lambda: DirectoryStore(root), seconds=1))
