"""Every statement that the parser makes has a module that binds it."""

from __future__ import annotations

from typing import get_args

from risingpy.frontend.parser import ast
from risingpy.frontend.statements.dispatch import BINDERS


def test_every_statement_has_its_binder() -> None:
    assert set(BINDERS) == set(get_args(ast.Statement))
