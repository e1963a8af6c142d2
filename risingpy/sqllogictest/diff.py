"""Shows the differences of two lists of lines to people."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

MAX_LINES = 60  # of a diff; a result of thousands of rows must not flood the report
CONTEXT_LINES = 2


def render_diff(expected: Sequence[str], actual: Sequence[str]) -> str:
    """A diff with `-` before lines that are missing, and `+` before lines that were not expected."""
    if not actual:
        return "\n".join(["(no rows came)", *_cut([f"- {line}" for line in expected])])
    lines = list(difflib.unified_diff(list(expected), list(actual), lineterm="", n=CONTEXT_LINES))[3:]  # the headers
    shown = [f"{line[0]} {line[1:]}" if line[0] in "+- " else "…" for line in lines]
    return "\n".join(["(- expected, + came)", *_cut(shown)])


def render_sql(sql: str) -> str:
    """The statement's lines, indented by four blanks."""
    return "\n".join("    " + line for line in sql.splitlines())


def _cut(lines: list[str]) -> list[str]:
    if len(lines) <= MAX_LINES:
        return lines
    return [*lines[:MAX_LINES], f"… and {len(lines) - MAX_LINES} lines more"]
