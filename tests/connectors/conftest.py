"""`make test-connectors` sets RISINGPY_SKIP_NOTHING: a library or a system that is missing then fails its tests."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped and os.environ.get("RISINGPY_SKIP_NOTHING"):
        report.outcome = "failed"
    return report
