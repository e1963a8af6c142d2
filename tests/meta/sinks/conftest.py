"""A real PostgreSQL to deliver to."""

from tests.postgres_oracle import postgres_oracle

__all__ = ["postgres_oracle"]
