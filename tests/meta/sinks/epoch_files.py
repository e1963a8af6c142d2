"""What a sink has written to a directory: the files of its epochs, and what their changes add up to."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

Rows = Counter[tuple[Any, ...]]


def epochs_in(directory: Path) -> list[list[tuple[int, tuple[Any, ...]]]]:
    """(op, row) of each epoch of a sink of type retract, in the order of the epochs."""
    found = []
    for path in sorted(directory.glob("*.json")):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        found.append([(row.pop("op"), tuple(row.values())) for row in rows])
    return found


def added_up(directory: Path) -> Rows:
    """The rows that are left. Fails if a row is taken back that is not there after an epoch."""
    rows: Rows = Counter()
    for epoch in epochs_in(directory):
        for op, row in epoch:
            rows[row] += op
        assert min(rows.values(), default=0) >= 0, epoch
    return +rows


def file_sink(name: str, query: str, directory: Path, type_: str = "retract", more: str = "") -> str:
    """CREATE SINK to files. `query`: FROM name, or AS SELECT …."""
    options = f"connector = 'fs', fs.path = '{directory}', type = '{type_}', commit_checkpoint_interval = 0{more}"
    return f"CREATE SINK {name} {query} WITH ({options}) FORMAT PLAIN ENCODE JSON"
