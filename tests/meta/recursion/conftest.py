"""A PostgreSQL to compare recursions with."""

from tests.postgres_oracle import postgres_oracle

__all__ = ["postgres_oracle"]
