"""Random transactions that change the schema: their statements, and what the catalog and the tables have after each.

Names are few, so that statements often meet what others have made, and fail.
"""

from __future__ import annotations

from random import Random

SCHEMAS = ("public", "s1", "s2")
_TABLES = ("t0", "t1", "t2")
_COLUMNS = ("a", "b", "c")
_TYPES = ("int", "bigint", "varchar", "date", "e0", "e1")

CATALOG = (
    "SELECT n.nspname, c.relname, c.relkind::text, obj_description(c.oid, 'pg_class') FROM pg_class AS c "
    "JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname IN ('public', 's1', 's2') "
    "AND c.relkind IN ('r', 'v', 'S') ORDER BY 1, 2",
    "SELECT table_schema, table_name, column_name, data_type, is_nullable FROM information_schema.columns "
    "WHERE table_schema IN ('public', 's1', 's2') ORDER BY 1, 2, 3",
    "SELECT schemaname, tablename, indexname FROM pg_indexes "
    "WHERE schemaname IN ('public', 's1', 's2') ORDER BY 1, 2, 3",
    "SELECT n.nspname, c.conname, c.contype::text FROM pg_constraint AS c JOIN pg_namespace AS n "
    "ON n.oid = c.connamespace WHERE n.nspname IN ('public', 's1', 's2') ORDER BY 1, 2, 3",
    "SELECT t.typname, e.enumlabel, rank() OVER (PARTITION BY t.oid ORDER BY e.enumsortorder) FROM pg_type AS t "
    "JOIN pg_enum AS e ON e.enumtypid = t.oid ORDER BY 1, 3",
    "SELECT nspname FROM pg_namespace WHERE nspname IN ('public', 's1', 's2') ORDER BY 1",
)
TABLES = "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname IN ('public', 's1', 's2') ORDER BY 1"

CLEAN = (
    "DROP SCHEMA IF EXISTS s1 CASCADE",
    "DROP SCHEMA IF EXISTS s2 CASCADE",
    *(f"DROP TABLE IF EXISTS {table} CASCADE" for table in _TABLES),
    "DROP TYPE IF EXISTS e0, e1 CASCADE",
    "DROP SEQUENCE IF EXISTS q0",
    "DROP SEQUENCE IF EXISTS q1",
    "CREATE SCHEMA s1",
)
_ABOUT_SCHEMAS = ("CREATE SCHEMA s1", "CREATE SCHEMA s2", "DROP SCHEMA s1 CASCADE", "DROP SCHEMA s2")


class Statements:
    """Statements, drawn one after the other."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._rows = 0

    def transaction(self) -> list[str]:
        """The statements of one transaction; it ends with COMMIT or ROLLBACK."""
        drawn: list[str] = ["BEGIN"]
        savepoints = 0
        for _ in range(self._random.randint(1, 12)):
            choice = self._random.random()
            if choice < 0.12:
                savepoints += 1
                drawn.append(f"SAVEPOINT p{savepoints}")
            elif choice < 0.24 and savepoints:
                savepoints = self._random.randint(1, savepoints)
                drawn.append(f"ROLLBACK TO SAVEPOINT p{savepoints}")
            elif choice < 0.28 and savepoints:
                drawn.append(f"RELEASE SAVEPOINT p{savepoints}")
                savepoints -= 1
            else:
                drawn.append(self._statement())
        return [*drawn, self._random.choice(("COMMIT", "COMMIT", "ROLLBACK"))]

    def _table(self) -> str:
        schema = self._random.choice(("public", "public", "public", "s1", "s2"))
        return f"{schema}.{self._random.choice(_TABLES)}"

    def _statement(self) -> str:
        random, table = self._random, self._table()
        column, type_ = random.choice(_COLUMNS), random.choice(_TYPES)
        self._rows += 1
        row = self._rows
        return random.choice(
            (
                f"CREATE TABLE {table} (id int PRIMARY KEY, a int)",
                f"CREATE TABLE {table} (id int PRIMARY KEY, a int, b varchar UNIQUE)",
                f"CREATE TABLE {table} (id int, a int NOT NULL, c date)",
                f"CREATE TABLE {table} (id int PRIMARY KEY, a int REFERENCES {self._table()})",
                f"INSERT INTO {table} (id) VALUES ({row})",
                f"INSERT INTO {table} (id, a) SELECT {1000 * row} + x, x % 5 FROM generate_series(1, 9) AS x",
                f"INSERT INTO {table} (id, a) VALUES ({row}, {row % 7})",
                f"UPDATE {table} SET a = 1 + a WHERE a > {row % 5}",
                f"DELETE FROM {table} WHERE a = {row % 7}",
                f"ALTER TABLE {table} ADD COLUMN {column} {type_}",
                f"ALTER TABLE {table} ADD COLUMN {column} int DEFAULT {row}",
                f"ALTER TABLE {table} DROP COLUMN {column}",
                f"ALTER TABLE {table} RENAME COLUMN {column} TO {random.choice(_COLUMNS)}",
                f"ALTER TABLE {table} RENAME TO {random.choice(_TABLES)}",
                f"ALTER TABLE {table} SET SCHEMA {random.choice(SCHEMAS)}",
                f"ALTER TABLE {table} ALTER COLUMN {random.choice(('a TYPE bigint', 'a TYPE int', 'id TYPE bigint'))}",
                f"ALTER TABLE {table} ALTER COLUMN a SET NOT NULL",
                f"ALTER TABLE {table} ALTER COLUMN a DROP NOT NULL",
                f"ALTER TABLE {table} ADD CONSTRAINT c{row % 2} CHECK (a < 8)",
                f"ALTER TABLE {table} ADD CONSTRAINT u{row % 2} UNIQUE (a)",
                f"ALTER TABLE {table} ADD PRIMARY KEY (id)",
                f"ALTER TABLE {table} DROP CONSTRAINT c{row % 2}",
                f"DROP TABLE {table}",
                f"DROP TABLE {table}, {self._table()} CASCADE",
                f"TRUNCATE {table}",
                f"COMMENT ON TABLE {table} IS 'no {row}'",
                f"CREATE INDEX i{row % 3} ON {table} (a)",
                f"CREATE UNIQUE INDEX i{row % 3} ON {table} (a, id)",
                f"DROP INDEX i{row % 3}",
                f"CREATE VIEW v{row % 2} AS SELECT id, a FROM {table}",
                f"CREATE VIEW v{row % 2} AS SELECT a, count(*) AS n FROM {table} GROUP BY a",
                f"DROP VIEW v{row % 2}",
                *self._about_types(table, column, row),
                f"CREATE SEQUENCE q{row % 2}",
                f"DROP SEQUENCE q{row % 2}",
                *_ABOUT_SCHEMAS,
                f"CREATE TABLE {table} AS SELECT id, a FROM {self._table()}",
                f"SELECT a FROM {table} WHERE id < 0",
            )
        )

    def _about_types(self, table: str, column: str, row: int) -> tuple[str, ...]:
        where = self._random.choice(("BEFORE", "AFTER"))
        return (
            f"CREATE TYPE e{row % 2} AS ENUM ('a', 'b', 'c')",
            f"ALTER TYPE e{row % 2} ADD VALUE 'v{row % 5}' {where} 'b'",
            f"ALTER TYPE e{row % 2} RENAME VALUE 'a' TO 'x{row % 2}'",
            f"ALTER TYPE e{row % 2} RENAME TO e{(row + 1) % 2}",
            f"ALTER TABLE {table} ADD COLUMN {column} e{row % 2} DEFAULT 'b'",
            f"ALTER TABLE {table} ADD COLUMN {column} e{row % 2}[]",
            f"CREATE TABLE {table} (id int PRIMARY KEY, a int, e e{row % 2} DEFAULT 'c' CHECK (e <> 'b'))",
            f"UPDATE {table} SET {column} = 'c' WHERE a = 3",
            f"DROP TYPE e{row % 2}",
            f"DROP TYPE e{row % 2} CASCADE",
        )
