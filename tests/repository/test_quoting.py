"""Only `sql_quoting.py` makes texts and names parts of SQL: nobody else doubles quotes, or writes them around a value.

What a text in another place quotes is named here, with what it is.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "risingpy"
QUOTES = "sql_quoting.py"
NO_SQL = {"types/composite.py"}  # a row as text: `("a ""b""",1)`
_DOUBLED = {("'", "''"), ('"', '""'), ("`", "``")}
_STATEMENT = re.compile(
    r"\s*(SELECT|COPY|CREATE|INSERT|UPDATE|DELETE|SET|ATTACH|DETACH|DROP|ALTER|PRAGMA|LOAD|INSTALL|START_REPLICATION"
    r"|IDENTIFY_SYSTEM|CALL|EXPLAIN|SHOW|WITH|VALUES)\b"
)


def doubles_quotes(node: ast.AST) -> bool:
    """`text.replace("'", "''")` and its like."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "replace"):
        return False
    values = [each.value if isinstance(each, ast.Constant) else None for each in node.args]
    return tuple(values[:2]) in _DOUBLED


def quotes_a_value(node: ast.AST) -> bool:
    """An f-string that begins as a statement, and has a value between single or backward quotes."""
    if not isinstance(node, ast.JoinedStr):
        return False
    texts = [each.value if isinstance(each, ast.Constant) else None for each in node.values]
    if not _STATEMENT.match(str(texts[0] or "")):
        return False
    around = zip(texts, texts[1:], texts[2:], strict=False)
    return any(
        value is None and isinstance(before, str) and isinstance(after, str) and before[-1:] == after[:1] in ("'", "`")
        for before, value, after in around
    )


def findings(source: str) -> Iterator[int]:
    for node in ast.walk(ast.parse(source)):
        if doubles_quotes(node) or quotes_a_value(node):
            assert isinstance(node, ast.expr)
            yield node.lineno


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('text.replace("\'", "\'\'")', True),
        ("name.replace('\"', '\"\"')", True),
        ("f\"SELECT * FROM t WHERE a = '{text}'\"", True),
        ("f\"SET x = '{text}B'\"", False),  # a number with its unit: the value does not end the literal by itself
        ('f"SELECT {quoted_text(text)}"', False),
        ("f\"ALTER failed: '{text}' is\"", True),
        ("text.replace('a', 'b')", False),
    ],
)
def test_what_is_found(source: str, found: bool) -> None:
    assert bool(list(findings(source))) is found


def test_one_place_quotes() -> None:
    places = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != QUOTES and str(path.relative_to(PACKAGE)) not in NO_SQL
        for line in findings(path.read_text())
    ]
    assert not places, "use risingpy/sql_quoting.py"
