"""What every test may use."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

from risingpy.nesting import allow_deep_nesting
from tests.examples import FUZZ, FUZZ_EXAMPLES

allow_deep_nesting()  # as every process of the database

# `make fuzz` takes the second: many more examples.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(FUZZ, settings.get_profile("default"), max_examples=FUZZ_EXAMPLES)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="rewrite golden files; read the diff")


@pytest.fixture
def update_goldens(request: pytest.FixtureRequest) -> bool:
    """True if golden files are to be rewritten."""
    return bool(request.config.getoption("--update"))
