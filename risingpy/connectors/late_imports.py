"""Imports modules of connectors when a source, a sink or a format names them: their libraries may not be installed.

Several threads do so at the start of a server: a source's watcher, a sink's delivery, a task. Python lets two threads
import modules that import each other, and gives one of them a module that is not complete yet: its names are missing,
and the connector counts as not installed. So one thread imports at a time.
"""

from __future__ import annotations

import importlib
import threading
from types import ModuleType

_ONE_AT_A_TIME = threading.RLock()  # as the table of modules, it belongs to the process


def imported(module: str) -> ModuleType:
    """The module of that name. Raises ImportError if it, or a library that it needs, is missing."""
    with _ONE_AT_A_TIME:
        return importlib.import_module(module)
