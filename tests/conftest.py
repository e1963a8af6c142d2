"""What every test may use."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files; read the diff")


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    """True if golden files are to be rewritten."""
    return bool(request.config.getoption("--update"))
