"""pandas, polars, ADBC, asyncpg and pg8000: rows in and out, metadata. Argument: the port."""

import asyncio
import io
import sys

import adbc_driver_postgresql.dbapi as adbc
import asyncpg
import pandas
import pg8000.native
import polars
from sqlalchemy import create_engine

port = int(sys.argv[1])
url = f"postgresql://root@127.0.0.1:{port}/dev"

frame = pandas.DataFrame({"a": [1, 2, 3], "b": ["x", "y", None], "f": [1.5, 2.5, None]})
frame["t"] = pandas.to_datetime(["2024-01-01"] * 3)
for driver in ("psycopg", "psycopg2"):
    engine = create_engine(url.replace(":", f"+{driver}:", 1))
    frame.to_sql("frame", engine, if_exists="replace", index=False)
    frame.to_sql("frame", engine, if_exists="append", index=False, method="multi")
    read = pandas.read_sql_table("frame", engine)
    assert (len(read), read.a.sum()) == (6, 12)
    counted = pandas.read_sql("SELECT b, count(*) AS n FROM frame GROUP BY b ORDER BY b", engine)
    assert counted.n.tolist() == [2, 2, 2]
    frame.to_sql("frame", engine, if_exists="replace", index=True)

columns = polars.DataFrame({"a": [1, 2], "b": ["x", "y"]})
columns.write_database("columns", url, if_table_exists="replace", engine="adbc")
columns.write_database("columns", url, if_table_exists="append", engine="adbc")
read = polars.read_database_uri("SELECT * FROM columns ORDER BY a", url, engine="adbc")
assert read.to_dict(as_series=False) == {"a": [1, 1, 2, 2], "b": ["x", "x", "y", "y"]}

with adbc.connect(url) as connection:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT 1::int2 AS a, 2::int8 AS b, 1.5::float8 AS c, 'x'::text AS d, true AS e, '2024-01-01'::date AS f,"
            " '{1,2}'::int[] AS g, 1.25::numeric AS h, '{}'::jsonb AS i,"
            " '\\x00'::bytea AS j, now() AS k, '{}'::json AS l"
        )
        assert cursor.fetch_arrow_table().schema.names == list("abcdefghijkl")
    assert connection.adbc_get_table_schema("columns").names == ["a", "b"]
    connection.adbc_get_objects(depth="all", db_schema_filter="public").read_all()


async def with_asyncpg():
    connection = await asyncpg.connect(host="127.0.0.1", port=port, user="root", database="dev")
    await connection.execute("DROP TABLE IF EXISTS held")
    await connection.execute("CREATE TABLE held (a int, j json, jb jsonb, list int[])")
    rows = [(number, '{"a":1}', '{"b":1}', [number]) for number in range(5)]
    await connection.executemany("INSERT INTO held VALUES ($1, $2, $3, $4)", rows)
    assert (await connection.fetch("SELECT * FROM held ORDER BY a"))[0]["j"] == '{"a":1}'
    copied = io.BytesIO()
    await connection.copy_from_query("SELECT a FROM held WHERE a < $1", 3, output=copied)
    assert len(copied.getvalue().split()) == 3
    await connection.copy_records_to_table("held", records=[(9, None, None, None)])
    async with connection.transaction():
        assert len([row async for row in connection.cursor("SELECT a FROM held")]) == 6
    await connection.close()


asyncio.run(with_asyncpg())
connection = pg8000.native.Connection("root", host="127.0.0.1", port=port, database="dev")
assert connection.run("SELECT :a::int, :b::json", a=1, b='{"x":1}') == [[1, {"x": 1}]]
