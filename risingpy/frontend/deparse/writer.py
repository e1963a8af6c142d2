"""Text with line breaks and indentation as PostgreSQL 15's ruleutils.c makes them."""

from __future__ import annotations

STANDARD = 8
JOINED = 4
VARIED = 4
_LIMIT = 40  # columns, from which on each level indents less


class Writer:
    """The text so far, and how far its clauses are indented."""

    def __init__(self, *, pretty: bool, indent: int = 0) -> None:
        self.pretty = pretty  # without parentheses that precedence makes needless
        self.text = ""
        self.indent = indent

    def add(self, text: str) -> None:
        """Appends to the line."""
        self.text += text

    def keyword(self, text: str, before: int = 0, after: int = 0, plus: int = 0) -> None:
        """Appends on a line of its own. `before` and `after` change the indentation, `plus` adds to this line's."""
        self.indent += before
        if self.indent < _LIMIT:
            amount = max(self.indent, 0)
        else:
            amount = (_LIMIT + (self.indent - _LIMIT) // (STANDARD // 2)) % _LIMIT
        self.text = self.text.rstrip(" ") + "\n" + " " * (amount + plus) + text
        self.indent = max(self.indent + after, 0)

    def clause(self, text: str, plus: int) -> None:
        """Begins a clause of a SELECT."""
        self.keyword(text, -STANDARD, STANDARD, plus)

    def next_item(self, text: str, *, is_first: bool, breaks: bool = True) -> None:
        """Appends an item of a list, after the comma: on a line of its own, unless it begins with one, or is first."""
        if text.startswith("\n"):
            self.text = self.text.rstrip(" ")
        elif not is_first and breaks:
            self.clause("", VARIED)
        self.text += text
