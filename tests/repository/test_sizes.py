"""Files and functions stay short enough to be read at once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_FILES = sorted(path for top in ("risingpy", "tests", "benchmarks") for path in (_ROOT / top).rglob("*.py"))
_MOST_LINES = 400
_MOST_LINES_OF_A_FUNCTION = 50
_MOST_BRANCHES = 12

_BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.Match)


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef]:
    for child in ast.walk(node):
        if isinstance(child, ast.FunctionDef):
            yield child


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions in it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, ast.FunctionDef):
            yield child
            yield from _own_nodes(child)


def _branches(function: ast.FunctionDef) -> int:
    """How many statements choose or repeat. The arms of a `match` are read side by side: it counts once."""
    return sum(isinstance(node, _BRANCHES) for node in _own_nodes(function))


def test_no_file_is_longer_than_what_is_read_at_once() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in _FILES}
    assert {str(path): lines for path, lines in lengths.items() if lines > _MOST_LINES} == {}


def test_no_function_is_long_or_parts_in_many_ways() -> None:
    too_much = {}
    for path in _FILES:
        for function in _functions(ast.parse(path.read_text())):
            lines, branches = (function.end_lineno or 0) - function.lineno + 1, _branches(function)
            if lines > _MOST_LINES_OF_A_FUNCTION or branches > _MOST_BRANCHES:
                too_much[f"{path}:{function.lineno} {function.name}"] = (lines, branches)
    assert too_much == {}
