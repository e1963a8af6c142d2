"""A real PostgreSQL beside, for those that compare with it."""

from tests.postgres_oracle import postgres_oracle as postgres_oracle
