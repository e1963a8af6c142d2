"""asyncpg, pg8000 and psql against the wire server."""

from __future__ import annotations

import asyncio
import datetime
import shutil
import subprocess
from collections.abc import Awaitable, Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import asyncpg
import pg8000.dbapi
import pg8000.native
import pytest

from risingpy.frontend.wire import WireServer


def run_asyncpg(server: WireServer, work: Callable[[Any], Awaitable[Any]]) -> Any:
    async def go() -> Any:
        connection = await asyncpg.connect(host="127.0.0.1", port=server.port, user="u", database="db", timeout=5)
        try:
            return await asyncio.wait_for(work(connection), 10)
        finally:
            await connection.close(timeout=2)

    return asyncio.run(go())


def test_asyncpg(server: WireServer) -> None:
    async def work(connection: Any) -> None:
        assert await connection.execute("select 1") == "SELECT 1"
        assert await connection.fetchval("select $1::int + 1", 41) == 42
        assert await connection.fetchval("select $1::varchar", None) is None
        sql = "select $1::date, $2::timestamptz, $3::bytea, $4::double, $5::interval"
        values = (
            datetime.date(1999, 1, 2),
            datetime.datetime(2024, 1, 2, tzinfo=datetime.UTC),
            b"\0\xff",
            -1.5,
            datetime.timedelta(days=1, hours=2),
        )
        assert tuple(await connection.fetchrow(sql, *values)) == values
        assert await connection.fetchval("select -12345.6700::decimal(12,4)") == Decimal("-12345.6700")
        async with connection.transaction():
            cursor = [row[0] async for row in connection.cursor("select k from kv order by k limit 7", prefetch=2)]
        assert cursor == list(range(7))
        await connection.execute("create or replace table apg(a int, b varchar)")
        assert await connection.fetch("insert into apg values (1, 'x')") == []
        assert await connection.copy_records_to_table("apg", records=[(2, "y"), (3, None)]) == "COPY 2"
        assert await connection.fetchval("select count(*) from apg") == 3
        with pytest.raises(asyncpg.UndefinedTableError):
            await connection.fetch("select * from nope")
        with pytest.raises(asyncio.TimeoutError):
            await connection.fetch("select pg_sleep(20)", timeout=0.3)
        assert await connection.fetchval("select 7") == 7

    run_asyncpg(server, work)


def test_pg8000(server: WireServer) -> None:
    connection = pg8000.native.Connection("u", host="127.0.0.1", port=server.port, database="db", timeout=10)
    assert connection.run("select true, 1, 'x'") == [[True, 1, "x"]]
    assert connection.run("select :v::varchar", v="May") == [["May"]]
    assert connection.run("select :v::int", v=None) == [[None]]
    connection.run("create or replace table p8(a int)")
    connection.prepare("insert into p8 values (1)").run()
    assert connection.run("select count(*) from p8") == [[1]]
    with pytest.raises(pg8000.exceptions.DatabaseError) as caught:
        connection.run("select * from nope")
    assert caught.value.args[0]["C"] == "42P01"
    connection.close()
    second = pg8000.dbapi.connect("u", host="127.0.0.1", port=server.port, database="db", timeout=10)
    cursor = second.cursor()
    cursor.execute("select v from kv where k = %s::int", (5,))
    assert cursor.fetchall() == (["v5"],)
    second.close()


def psql(server: WireServer, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    if shutil.which("psql") is None:
        pytest.skip("no psql")
    command = ["psql", "-X", "-h", "127.0.0.1", "-p", str(server.port), "-U", "u", "-d", "db", *arguments]
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=30, check=False)


def test_psql_queries(server: WireServer) -> None:
    assert psql(server, "-At", "-c", "select 1; select 2").stdout == "1\n2\n"
    assert psql(server, "-c", "create or replace table pq(a int)").stdout == "CREATE_TABLE\n"
    assert psql(server, "-c", "insert into pq values (1)").stdout == "INSERT 0 1\n"
    wrong = psql(server, "-v", "VERBOSITY=verbose", "-c", "select * from nope")
    assert wrong.stderr.startswith('ERROR:  42P01: relation "nope" does not exist\nLINE 1: select * from nope\n')
    assert 'FATAL:  database "nope" does not exist' in psql(server, "-d", "nope").stderr
    script = "begin;\nselect * from nope;\nselect 1;\nrollback;\nselect 2;\n"
    both = psql(server, "-At", "-v", "ON_ERROR_STOP=0", text=script)
    assert both.stdout.splitlines() == ["BEGIN", "ROLLBACK", "2"]
    assert "current transaction is aborted" in both.stderr
    big = psql(server, "-At", "-c", "select i, 'row ' || i from range(40000) t(i)").stdout.splitlines()
    assert (len(big), big[-1]) == (40000, "39999|row 39999")


def test_psql_copy(server: WireServer, tmp_path: Path) -> None:
    psql(server, "-c", "create or replace table pc(a int, b varchar, c double)")
    data = tmp_path / "in.csv"
    data.write_text('a,b,c\n1,,1.5\n2,"",-0.25\n3,"x,""y""\nz",1e20\n')
    done = psql(server, "-c", f"\\copy pc from '{data}' with (format csv, header)")
    assert (done.stdout, done.stderr) == ("COPY 3\n", "")
    assert (
        psql(server, "-At", "-P", "null=~", "-c", "select * from pc").stdout == '1|~|1.5\n2||-0.25\n3|x,"y"\nz|1e+20\n'
    )
    out = tmp_path / "out.csv"
    assert psql(server, "-c", f"\\copy pc to '{out}' with (format csv, header)").stdout == "COPY 3\n"
    assert out.read_text() == data.read_text().replace("1e20", "1e+20")
    text = psql(server, "-c", "copy pc to stdout").stdout
    assert text == '1\t\\N\t1.5\n2\t\t-0.25\n3\tx,"y"\\nz\t1e+20\n'
    assert psql(server, "-c", "copy pc from stdin", text=text).stdout == "COPY 3\n"
    inline = psql(server, text="copy pc from stdin;\n7\tseven\t7\n\\.\nselect count(*) from pc;\n")
    assert "COPY 1" in inline.stdout and "7" in inline.stdout
