"""Functions on text that DuckDB lacks, or whose characters are not code points there."""

from __future__ import annotations

import pyarrow.compute as pc

from risingpy.executors.expression.functions.calling import Function

TEXT: dict[str, Function] = {
    "reverse": Function(pc.utf8_reverse),
}
