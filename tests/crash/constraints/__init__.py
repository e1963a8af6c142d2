"""Random writes by several clients to tables with constraints, beside a PostgreSQL, and kill -9."""
