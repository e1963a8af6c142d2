"""A planner's bench, for plans to be stored."""

from __future__ import annotations

from tests.optimizer.conftest import bench

__all__ = ["bench"]
