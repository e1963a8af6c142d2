"""Replaces expected rows in files by the actual ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from risingpy.sqllogictest.records import Lines, QueryRecord


def rewrite(changes: Iterable[tuple[QueryRecord, Sequence[str]]]) -> list[Path]:
    """Replaces the expected lines of each query; gives the files that changed."""
    by_path: dict[Path, list[tuple[Lines, Sequence[str]]]] = defaultdict(list)
    for query, lines in changes:
        if query.lines is not None:
            by_path[query.location.path].append((query.lines, lines))
    for path, edits in by_path.items():
        text = path.read_text(encoding="utf-8").split("\n")
        # From the end of the file, so that earlier queries keep their line numbers.
        for place, lines in sorted(edits, key=lambda edit: edit[0].first, reverse=True):
            text[place.first - 1 : place.last] = lines
        path.write_text("\n".join(text), encoding="utf-8")
    return sorted(by_path)
