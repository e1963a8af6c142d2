"""The PostgreSQL to compare with."""

from tests.postgres_oracle import postgres_oracle as postgres_oracle
