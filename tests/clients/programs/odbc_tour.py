"""psqlODBC: catalogs, parameters, transactions, as PostgreSQL answers them. Argument: the connection string."""

import datetime
import decimal
import re
import sys
import uuid

import pyodbc

SCHEMA = (
    "DROP SCHEMA IF EXISTS od CASCADE",
    "CREATE SCHEMA od",
    "CREATE TABLE od.customer (id serial PRIMARY KEY, name varchar(40) NOT NULL UNIQUE, born date,"
    " score numeric(10,2) DEFAULT 1.5, seen timestamp, note char(5), big bigint, small smallint, yes boolean,"
    " f double precision, g real, h uuid, raw bytea, t time, long text, doc json)",
    "CREATE TABLE od.line (customer int REFERENCES od.customer (id) ON DELETE CASCADE, line int, qty int,"
    " PRIMARY KEY (customer, line))",
    "CREATE INDEX line_by_qty ON od.line (qty DESC)",
    "CREATE VIEW od.cheap AS SELECT id, name FROM od.customer WHERE score < 3",
    "CREATE MATERIALIZED VIEW od.counted AS SELECT customer, count(*) AS n FROM od.line GROUP BY customer",
    "CREATE FUNCTION od.twice(n int) RETURNS int LANGUAGE sql AS 'select n * 2'",
    "COMMENT ON TABLE od.customer IS 'who buys'",
)


def say(section, key, value):
    text = str(value).replace("\n", "\\n")
    print(f"{section} | {key} | {text}")


def step(section, key, run):
    try:
        say(section, key, run())
    except pyodbc.Error as error:
        say(section, key, f"error {error.args[0]}")


def rows(result):
    names = [each[0] for each in result.description or ()]
    return [names, *[list(row) for row in result.fetchall()]]


connection = pyodbc.connect(sys.argv[1], autocommit=True)
cursor = connection.cursor()
for statement in SCHEMA:
    cursor.execute(statement)


def catalog(key, ask):
    try:
        for row in rows(ask()):
            say("catalog", key, re.sub(r"\b\d{5}\b", "oid", str(row)))
    except pyodbc.Error as error:
        say("catalog", key, f"error {error.args}")


catalog("tables", lambda: cursor.tables(schema="od"))
catalog("tables of a type", lambda: cursor.tables(schema="od", tableType="VIEW"))
catalog("tables like", lambda: cursor.tables(table="cust%", schema="od"))
catalog("columns", lambda: cursor.columns(schema="od", table="customer"))
catalog("columns of a view", lambda: cursor.columns(schema="od", table="cheap"))
catalog("columns like", lambda: cursor.columns(schema="od", table="line", column="q%"))
catalog("primaryKeys", lambda: cursor.primaryKeys("customer", schema="od"))
catalog("primaryKeys of two", lambda: cursor.primaryKeys("line", schema="od"))
catalog("foreignKeys from", lambda: cursor.foreignKeys(foreignTable="line", foreignSchema="od"))
catalog("foreignKeys to", lambda: cursor.foreignKeys(table="customer", schema="od"))
catalog("statistics", lambda: cursor.statistics("customer", schema="od"))
catalog("statistics unique", lambda: cursor.statistics("line", schema="od", unique=True))
catalog("rowIdColumns", lambda: cursor.rowIdColumns("line", schema="od"))
catalog("rowVerColumns", lambda: cursor.rowVerColumns("line", schema="od"))
catalog("procedures", lambda: cursor.procedures(schema="od"))
catalog("procedureColumns", lambda: cursor.procedureColumns(schema="od"))
catalog("types", lambda: cursor.getTypeInfo())
for name in (
    "SQL_DBMS_NAME",
    "SQL_IDENTIFIER_QUOTE_CHAR",
    "SQL_TXN_CAPABLE",
    "SQL_MAX_IDENTIFIER_LEN",
    "SQL_PROCEDURES",
):
    say("info", name, connection.getinfo(getattr(pyodbc, name)))

GIVEN = {
    "name": "ünï'%_\\",
    "born": datetime.date(2020, 2, 29),
    "score": decimal.Decimal("-12345.67"),
    "seen": datetime.datetime(2020, 1, 2, 3, 4, 5, 678000),
    "note": "ab",
    "big": 2**62,
    "small": -7,
    "yes": True,
    "f": 1.25,
    "g": 0.5,
    "h": uuid.UUID(int=10),
    "raw": b"\x00\x01\xff",
    "t": datetime.time(1, 2, 3),
    "long": "x" * 10_000,
    "doc": '{"a": [1]}',
}
places = ", ".join("?" for _ in GIVEN)
step(
    "parameters",
    "insert",
    lambda: cursor.execute(f"INSERT INTO od.customer ({', '.join(GIVEN)}) VALUES ({places})", *GIVEN.values()).rowcount,
)
step(
    "parameters",
    "nulls",
    lambda: (
        cursor.execute(
            f"INSERT INTO od.customer ({', '.join(GIVEN)}) VALUES ({places})", "n", *[None] * (len(GIVEN) - 1)
        ).rowcount
    ),
)
for name, value in GIVEN.items():
    step(
        "parameters",
        f"read {name}",
        lambda name=name: cursor.execute(f"SELECT {name} FROM od.customer ORDER BY id").fetchall(),
    )
    if name != "doc":
        step(
            "parameters",
            f"where {name}",
            lambda name=name, value=value: cursor.execute(
                f"SELECT count(*) FROM od.customer WHERE {name} = ?", value
            ).fetchval(),
        )
step("parameters", "call", lambda: cursor.execute("{? = CALL od.twice(?)}".replace("? = ", ""), 4).fetchall())
step(
    "parameters",
    "escapes",
    lambda: cursor.execute("SELECT {fn UCASE('a')}, {d '2020-01-02'}, {ts '2020-01-02 03:04:05'}").fetchall(),
)
for fast in (False, True):
    cursor.fast_executemany = fast
    first = 1000 + 100 * fast
    step(
        "parameters",
        f"many {fast}",
        lambda first=first: cursor.executemany(
            "INSERT INTO od.customer (id, name, score) VALUES (?, ?, ?)",
            [(first + i, f"m{first + i}", decimal.Decimal(i)) for i in range(100)],
        ),
    )
step(
    "parameters",
    "sum",
    lambda: cursor.execute("SELECT count(*), sum(score) FROM od.customer WHERE id >= 1000").fetchall(),
)
cursor.fast_executemany = False

connection.autocommit = False
step("transactions", "insert", lambda: cursor.execute("INSERT INTO od.line VALUES (1000, 1, 5)").rowcount)
connection.rollback()
step("transactions", "rolled back", lambda: cursor.execute("SELECT count(*) FROM od.line").fetchval())
step("transactions", "insert again", lambda: cursor.execute("INSERT INTO od.line VALUES (1000, 1, 5)").rowcount)
connection.commit()
step("transactions", "committed", lambda: cursor.execute("SELECT count(*) FROM od.line").fetchval())
for refused in (
    "INSERT INTO od.line VALUES (1000, 1, 6)",
    "INSERT INTO od.line VALUES (-1, 1, 6)",
    "INSERT INTO od.customer (name) VALUES (NULL)",
    "SELECT * FROM od.nowhere",
    "SELECT 1 +",
    "SELECT 'a'::int",
):
    step("transactions", refused, lambda refused=refused: cursor.execute(refused).rowcount)
    step("transactions", "and goes on", lambda: cursor.execute("SELECT 1").fetchval())
    connection.rollback()
connection.autocommit = True
step("columns", "of a query", lambda: cursor.execute("SELECT * FROM od.customer").description)
step(
    "columns",
    "of an expression",
    lambda: cursor.execute("SELECT 1, 'a', 1.5, now()::date, true, NULL, sum(qty) FROM od.line").description,
)
step("rows", "update", lambda: cursor.execute("UPDATE od.customer SET score = 1 WHERE id >= 1000").rowcount)
step("rows", "fetchmany", lambda: len(cursor.execute("SELECT id FROM od.customer ORDER BY id").fetchmany(7)))
cursor.close()
cursor = connection.cursor()
cursor.execute("DROP SCHEMA od CASCADE")
connection.close()
