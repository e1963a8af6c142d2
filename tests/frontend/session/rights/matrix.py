"""What the matrix of rights is made of: users, what is granted, and what they try. All of it is valid PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

USERS = ("owner", "direct", "member", "aloof", "stranger")
"""Who owns everything; who is granted; who inherits from a group that is granted; who is in it and does not inherit."""
GRANTED_TO = "direct, team"

SETUP = (
    *(f"CREATE USER {name}" for name in USERS),
    "CREATE ROLE team",
    "ALTER USER aloof NOINHERIT",
    "GRANT team TO member",
    "GRANT team TO aloof",
    "CREATE SCHEMA s",
    "ALTER SCHEMA s OWNER TO owner",
    "GRANT CREATE ON SCHEMA public TO owner",
)
"""By the superuser."""
OBJECTS = (
    "CREATE TABLE t (a int PRIMARY KEY, b int)",
    "INSERT INTO t VALUES (1, 10), (2, 20)",
    "CREATE TABLE u (a int PRIMARY KEY, c int)",
    "INSERT INTO u VALUES (1, 100)",
    "CREATE VIEW v AS SELECT a, b FROM t",
    "CREATE VIEW w AS SELECT v.a, u.c FROM v JOIN u USING (a)",
    "CREATE MATERIALIZED VIEW mv AS SELECT a, b FROM t",
    "CREATE FUNCTION f(x int) RETURNS int LANGUAGE sql AS 'SELECT $1 + 1'",
    "REVOKE EXECUTE ON FUNCTION f(int) FROM PUBLIC",
    "CREATE VIEW vf AS SELECT f(a) AS n FROM t",
    "CREATE TABLE s.x (a int)",
    "CREATE VIEW s.y AS SELECT a FROM s.x",
)
"""By `owner`."""
GRANTS = (
    "",
    *(f"{each} ON t" for each in ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER", "ALL")),
    *(
        f"{each} ON t"
        for each in ("SELECT (a)", "SELECT (b)", "INSERT (a)", "UPDATE (b)", "ALL (a, b)", "REFERENCES (a)")
    ),
    *("SELECT, UPDATE ON t", "SELECT (a), DELETE ON t", "SELECT (a), UPDATE (b), INSERT (a, b) ON t"),
    *(
        "SELECT ON u",
        "SELECT ON v",
        "SELECT, UPDATE ON v",
        "SELECT, UPDATE ON w",
        "SELECT (a) ON v",
        "SELECT ON w",
        "SELECT ON mv",
        "SELECT (a) ON mv",
        "SELECT ON vf",
    ),
    *("EXECUTE ON FUNCTION f(int)", "SELECT ON vf, t"),
    *("USAGE ON SCHEMA s", "CREATE ON SCHEMA s", "USAGE, CREATE ON SCHEMA s", "SELECT ON s.x", "SELECT ON s.y"),
    *("SELECT ON ALL TABLES IN SCHEMA s", "CREATE ON SCHEMA public", "CREATE ON DATABASE {db}", "ALL ON SCHEMA s"),
)


@dataclass(frozen=True)
class Attempt:
    """A statement; `undo` is what the superuser runs where it succeeded. It runs in a transaction if it has none."""

    sql: str
    undo: str | None = None


_READS = (
    *("SELECT * FROM t", "SELECT a FROM t", "SELECT b FROM t WHERE a = 1", "SELECT count(*) FROM t", "SELECT 1 FROM t"),
    *("SELECT x.a FROM t x JOIN t y USING (a)", "SELECT x.a FROM t x NATURAL JOIN t y", "TABLE t"),
    *("SELECT q.a FROM (SELECT a, b FROM t) q", "WITH w AS (SELECT a FROM t) SELECT 1 FROM w"),
    *("SELECT 1 WHERE EXISTS (SELECT FROM t WHERE b = 1)", "SELECT a FROM u WHERE a IN (SELECT a FROM t)"),
    *("SELECT a FROM t ORDER BY b", "SELECT max(a) FROM t GROUP BY b", "SELECT a FROM t UNION SELECT c FROM u"),
    *("SELECT u.a FROM u, LATERAL (SELECT b FROM t WHERE t.a = u.a) l", "SELECT t.* FROM t", "SELECT x.a FROM t x"),
    *("EXPLAIN SELECT b FROM t", "DECLARE c CURSOR FOR SELECT a FROM t", "PREPARE p AS SELECT b FROM t; EXECUTE p"),
    *(
        "SELECT * FROM v",
        "SELECT a FROM v",
        "SELECT c FROM w",
        "SELECT * FROM mv",
        "SELECT a FROM mv",
        "SELECT * FROM vf",
    ),
    *("SELECT v.a FROM v JOIN t USING (a)", "SELECT f(1)", "SELECT f(a) FROM t", "SELECT a FROM t WHERE f(a) = 1"),
    *("SELECT * FROM s.x", "SELECT a FROM s.y", "SELECT * FROM nosuch", "SELECT c FROM t"),
    *("COPY t TO STDOUT", "COPY t (a) TO STDOUT", "COPY (SELECT b FROM t) TO STDOUT"),
)
_WRITES = (
    *("INSERT INTO t VALUES (3, 30)", "INSERT INTO t (a) VALUES (3)", "INSERT INTO t (b, a) VALUES (1, 3)"),
    *("INSERT INTO t (a) VALUES (3) RETURNING a", "INSERT INTO t (a) VALUES (3) RETURNING b"),
    *(
        "INSERT INTO t (a) SELECT a + 10 FROM t",
        "INSERT INTO t (a) SELECT a + 10 FROM u",
        "INSERT INTO u (a) SELECT b FROM t",
    ),
    *("INSERT INTO t VALUES (1, 1) ON CONFLICT DO NOTHING", "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO NOTHING"),
    "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = excluded.b",
    "INSERT INTO t (a) VALUES (1) ON CONFLICT (a) DO UPDATE SET b = t.b + 1",
    *(
        "UPDATE t SET b = 1",
        "UPDATE t SET b = b + 1",
        "UPDATE t SET b = 1 WHERE a = 1",
        "UPDATE t SET a = 9 WHERE a = 1",
    ),
    *("UPDATE t SET b = c FROM u WHERE u.a = t.a", "UPDATE t SET b = 1 RETURNING a", "UPDATE t SET b = DEFAULT"),
    *(
        "DELETE FROM t",
        "DELETE FROM t WHERE a = 1",
        "DELETE FROM t WHERE b = 1",
        "DELETE FROM t USING u WHERE u.a = t.a",
    ),
    *(
        "DELETE FROM t RETURNING a",
        "TRUNCATE t",
        "LOCK TABLE t IN ACCESS SHARE MODE",
        "LOCK TABLE t IN ROW EXCLUSIVE MODE",
    ),
    *("LOCK TABLE t IN ACCESS EXCLUSIVE MODE", "EXPLAIN UPDATE t SET b = 1", "EXPLAIN DELETE FROM t WHERE a = 1"),
    "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN UPDATE SET b = c",
    "MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE",
    "MERGE INTO t USING u ON t.a = u.a WHEN NOT MATCHED THEN INSERT (a) VALUES (u.a)",
    *("COPY t FROM STDIN", "COPY t (a) FROM STDIN"),
)
_LOCKS = (
    *("SELECT a FROM t FOR UPDATE", "SELECT b FROM t WHERE a = 1 FOR SHARE", "SELECT 1 FROM t FOR KEY SHARE"),
    *("SELECT a FROM t FOR NO KEY UPDATE", "SELECT t.a FROM t JOIN u USING (a) FOR UPDATE OF u"),
    *("SELECT t.a FROM t JOIN u USING (a) FOR SHARE OF t", "SELECT a FROM t WHERE a = 9 FOR UPDATE NOWAIT"),
    *(
        "SELECT x.a FROM t x FOR UPDATE",
        "SELECT q.a FROM (SELECT a FROM t) q FOR UPDATE",
        "SELECT c FROM w FOR SHARE",
        "SELECT a FROM v FOR UPDATE",
    ),
    *("PREPARE p AS SELECT a FROM t FOR UPDATE; EXECUTE p"),
    *("SET CONSTRAINTS ALL DEFERRED", "SET CONSTRAINTS t_pkey IMMEDIATE"),
)
_RECURSIONS = (
    "WITH RECURSIVE r (n) AS (SELECT a FROM t UNION SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION SELECT t.a FROM r JOIN t ON t.a > r.n) SELECT n FROM r",
    "WITH RECURSIVE r (n) AS (SELECT 1 UNION SELECT n + 1 FROM r WHERE n < 3) SELECT u.c FROM u JOIN r ON u.a = r.n",
    "CREATE TEMPORARY TABLE made AS SELECT a FROM t",
    "CREATE TEMPORARY VIEW made AS SELECT b FROM t",
)
_COMMENTS = (
    *("COMMENT ON TABLE t IS 'x'", "COMMENT ON COLUMN t.a IS 'x'", "COMMENT ON VIEW v IS NULL"),
    *("COMMENT ON MATERIALIZED VIEW mv IS 'x'", "COMMENT ON FUNCTION f(int) IS 'x'", "COMMENT ON SCHEMA s IS 'x'"),
    *("COMMENT ON CONSTRAINT t_pkey ON t IS 'x'", "COMMENT ON INDEX t_pkey IS 'x'", "COMMENT ON TABLE s.x IS 'x'"),
    *("COMMENT ON ROLE team IS 'x'", "COMMENT ON COLUMN v.a IS 'x'", "COMMENT ON COLUMN s.y.a IS 'x'"),
)
_DEFINITIONS = (
    Attempt("CREATE TABLE s.made (a int)", "DROP TABLE s.made"),
    Attempt("CREATE TABLE made (a int)", "DROP TABLE made"),
    Attempt("CREATE TABLE s.made AS SELECT a FROM t", "DROP TABLE s.made"),
    Attempt("CREATE VIEW s.made AS SELECT a FROM t", "DROP VIEW s.made"),
    Attempt("CREATE VIEW s.made AS SELECT a FROM s.x", "DROP VIEW s.made"),
    Attempt("CREATE MATERIALIZED VIEW s.made AS SELECT a FROM t", "DROP MATERIALIZED VIEW s.made"),
    Attempt(
        "CREATE MATERIALIZED VIEW s.made AS WITH RECURSIVE r (n) AS"
        " (SELECT a FROM t UNION SELECT n + 1 FROM r WHERE n < 3) SELECT n FROM r",
        "DROP MATERIALIZED VIEW s.made",
    ),
    Attempt("CREATE UNIQUE INDEX made ON t (b)", "DROP INDEX made"),
    Attempt("CREATE TABLE s.made (a int REFERENCES t)", "DROP TABLE s.made"),
    Attempt("CREATE SEQUENCE s.made", "DROP SEQUENCE s.made"),
    Attempt("ALTER TABLE t ADD CHECK (a > 0)", "ALTER TABLE t DROP CONSTRAINT t_a_check"),
    Attempt("SET log_statement = 'none'", "SELECT 1"),
    Attempt("CREATE FUNCTION s.made(x int) RETURNS int LANGUAGE sql AS 'SELECT $1'", "DROP FUNCTION s.made(int)"),
    Attempt("CREATE SCHEMA made", "DROP SCHEMA made"),
    Attempt("CREATE INDEX made ON t (b)", "DROP INDEX made"),
    Attempt("ALTER TABLE t ADD COLUMN made int", "ALTER TABLE t DROP COLUMN made"),
    Attempt("ALTER TABLE u RENAME TO made", "ALTER TABLE made RENAME TO u"),
    Attempt("ALTER VIEW w RENAME TO made", "ALTER VIEW made RENAME TO w"),
    Attempt("ALTER TABLE s.x SET SCHEMA public", "ALTER TABLE x SET SCHEMA s"),
    Attempt("ALTER TABLE t OWNER TO owner", "SELECT 1"),
    Attempt("ALTER FUNCTION f(int) OWNER TO team", "ALTER FUNCTION f(int) OWNER TO owner"),
    Attempt("ALTER SCHEMA s OWNER TO stranger", "ALTER SCHEMA s OWNER TO owner"),
    Attempt("DROP TABLE IF EXISTS nosuch", "SELECT 1"),
    Attempt("DROP TABLE t", "SELECT 1"),
    Attempt("DROP FUNCTION f(int)", "SELECT 1"),
    Attempt("DROP SCHEMA s", "SELECT 1"),
    Attempt("DROP VIEW v", "SELECT 1"),
    Attempt("GRANT SELECT ON t TO stranger", "REVOKE SELECT ON t FROM stranger CASCADE"),
    Attempt("GRANT USAGE ON SCHEMA s TO stranger", "REVOKE USAGE ON SCHEMA s FROM stranger CASCADE"),
    Attempt("REVOKE SELECT ON t FROM stranger", "SELECT 1"),
    Attempt("GRANT SELECT (a) ON t TO stranger", "REVOKE SELECT (a) ON t FROM stranger CASCADE"),
    Attempt("GRANT EXECUTE ON FUNCTION f(int) TO stranger", "REVOKE EXECUTE ON FUNCTION f(int) FROM stranger CASCADE"),
)
_IN_TRANSACTIONS = (*_READS, *_WRITES, *_LOCKS, *_RECURSIONS, *_COMMENTS)
ATTEMPTS = (*map(Attempt, _IN_TRANSACTIONS), *_DEFINITIONS)
KEPT = ("SELECT * FROM t", "SELECT a FROM t", "UPDATE t SET b = 1 WHERE a = 1", "SELECT * FROM v", "SELECT f(a) FROM t")
"""What is prepared while its user may, and run after a REVOKE."""


def cells(share: int) -> Iterator[tuple[str, str, Attempt]]:
    """One in `share` of all (grant, user, attempt): other ones of each grant, and all grants."""
    for number, grant in enumerate(GRANTS):
        of_grant = [(grant, user, attempt) for user in USERS for attempt in ATTEMPTS]
        yield from of_grant[number % share :: share]
