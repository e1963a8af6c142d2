"""Case files: one expression a line, `#` comments, `@zone NAME` and `@relative ERROR` for the lines that follow.

A line that begins with `!` is a lasting difference: at least one row must differ (docs/sql/differences.md says why).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tests.functions.judge import Case

DIRECTORY = Path(__file__).parent / "cases"


@dataclass(frozen=True, slots=True)
class Listed:
    """A case, the file it is in, and whether it is listed as a difference."""

    family: str
    case: Case
    differs: bool


def read_cases() -> Iterator[Listed]:
    for path in sorted(DIRECTORY.glob("*.txt")):
        settings = Case("")
        for line in path.read_text().splitlines():
            text = line.strip()
            if text.startswith("@zone "):
                settings = replace(settings, zone=text.split()[1])
            elif text.startswith("@relative "):
                settings = replace(settings, relative=float(text.split()[1]))
            elif text and not text.startswith("#"):
                yield Listed(path.stem, replace(settings, text=text.removeprefix("!").strip()), text.startswith("!"))
