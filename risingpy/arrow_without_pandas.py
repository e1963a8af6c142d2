"""Has PyArrow begin without pandas, which our processes never use and which takes 0.3 to 0.5 s to import.

The first `pyarrow.array` of a Python list looks whether pandas is installed, by importing it, and remembers the
answer. Who calls this first has it find none; pandas itself can be imported afterwards as ever.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType


class _NoPandas:
    """An import hook that knows pandas as missing."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name == "pandas":
            raise ModuleNotFoundError("pandas is hidden from PyArrow", name=name)
        return None


def begin_without_pandas() -> None:
    """Call it before anything that makes Arrow arrays is imported."""
    import pyarrow

    hook = _NoPandas()
    sys.meta_path.insert(0, hook)
    try:
        pyarrow.array([0])
    finally:
        sys.meta_path.remove(hook)
