"""The PostgreSQL that TPC-DS is compared with."""

from tests.postgres_oracle import postgres_oracle

__all__ = ["postgres_oracle"]
