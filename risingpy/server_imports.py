"""Imports the server as a process should that does nothing else: fast, and with allocators that give memory back."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from risingpy.garbage import no_collections
from risingpy.memory_guard import return_freed_memory


def imported_server() -> ModuleType:
    """`risingpy.server`. Nothing that imports DuckDB, or makes Arrow arrays, may have been imported before."""
    return_freed_memory()
    with no_collections():
        import_module("risingpy.arrow_without_pandas").begin_without_pandas()
        return import_module("risingpy.server")
