"""LISTEN and NOTIFY in psycopg, psycopg2 and asyncpg: clients at rest hear of it. Argument: the port."""

import asyncio
import select
import sys

import asyncpg
import psycopg
import psycopg2
import psycopg2.extensions

port = int(sys.argv[1])
address = {"host": "127.0.0.1", "port": port, "user": "root"}

speaker = psycopg.connect(**address, dbname="dev", autocommit=True)

with psycopg.connect(**address, dbname="dev", autocommit=True) as listener:
    listener.execute("LISTEN tour")
    speaker.execute("NOTIFY tour, 'psycopg'")
    [heard] = list(listener.notifies(timeout=10, stop_after=1))
    assert (heard.channel, heard.payload, heard.pid) == ("tour", "psycopg", speaker.info.backend_pid)

old = psycopg2.connect(**address, dbname="dev")
old.set_isolation_level(psycopg2.extensions.ISOLATION_LEVEL_AUTOCOMMIT)
old.cursor().execute("LISTEN tour")
speaker.execute("SELECT pg_notify('tour', 'psycopg2')")
assert select.select([old], [], [], 10)[0]
old.poll()
[heard] = old.notifies
assert (heard.channel, heard.payload) == ("tour", "psycopg2")
old.close()


async def with_asyncpg():
    connection = await asyncpg.connect(**address, database="dev")
    heard = asyncio.Queue()
    await connection.add_listener("tour", lambda *said: heard.put_nowait(said[1:]))
    speaker.execute("NOTIFY tour, 'asyncpg'")
    assert await asyncio.wait_for(heard.get(), 10) == (speaker.info.backend_pid, "tour", "asyncpg")
    async with connection.transaction():
        await connection.execute("NOTIFY tour, 'own'")
    assert (await asyncio.wait_for(heard.get(), 10))[2] == "own"
    await connection.execute("UNLISTEN *")
    await connection.close()


asyncio.run(with_asyncpg())
speaker.close()
