"""A real PostgreSQL to compare with; see tests/types/conftest.py."""

from tests.types.conftest import postgres

__all__ = ["postgres"]
