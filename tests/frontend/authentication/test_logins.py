"""Real clients at the door: who is let in, and what the others are told."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pg8000.dbapi
import psycopg
import pytest

from risingpy.frontend.authentication.rules import parse_rules
from risingpy.frontend.wire import Limits
from tests.frontend.authentication.conftest import Served

SCRAM = "host all all all scram-sha-256"
Serve = Callable[..., Served]


def refusal(served: Served, user: str, password: str = "secret", **options: str) -> tuple[str | None, str]:
    """What psycopg is told: the SQLSTATE (libpq gives none at a start) and the message's last line."""
    with pytest.raises(psycopg.OperationalError) as raised:
        log_in(served, user, password, **options)
    first = str(raised.value).splitlines()[0]
    return raised.value.sqlstate, first[first.find("FATAL:") :] if "FATAL:" in first else first


def log_in(served: Served, user: str, password: str = "secret", **options: str) -> tuple[object, ...]:
    where = {"host": "127.0.0.1", "port": served.port, "dbname": "dev", "user": user, "password": password, **options}
    with psycopg.connect(**where) as connection:  # type: ignore[arg-type]
        row = connection.execute("SELECT current_user, session_user").fetchone()
        assert row is not None
        return row


def test_passwords(serve: Serve) -> None:
    served = serve(SCRAM)
    assert log_in(served, "alice") == ("alice", "alice")
    for user, password in (("alice", "wrong"), ("mallory", "secret"), ("robot", "secret"), ("late", "secret")):
        message = f'FATAL:  password authentication failed for user "{user}"'
        assert refusal(served, user, password)[1] == message
    assert refusal(served, "sleeper")[1] == 'FATAL:  role "sleeper" is not permitted to log in'
    assert refusal(served, "alice", dbname="nosuch")[1] == 'FATAL:  database "nosuch" does not exist'
    with psycopg.connect(host="127.0.0.1", port=served.port, dbname="dev", user="one", password="secret"):
        assert refusal(served, "one")[1] == 'FATAL:  too many connections for role "one"'
    outcomes = served.database.sessions.admissions.outcomes()
    assert outcomes["refused", "28P01"] >= 4 and outcomes["accepted", "scram-sha-256"] >= 2


def test_no_rule_and_a_rule_that_rejects(serve: Serve) -> None:
    served = serve("host dev robot 127.0.0.1/32 trust", "host dev late all reject", "hostssl all all all trust")
    assert log_in(served, "robot") == ("robot", "robot")
    where = 'host "127.0.0.1", user "{}", database "dev", no encryption'
    expected = f"FATAL:  no pg_hba.conf entry for {where.format('alice')}"
    assert refusal(served, "alice", sslmode="disable")[1] == expected
    expected = f"FATAL:  pg_hba.conf rejects connection for {where.format('late')}"
    assert refusal(served, "late", sslmode="disable")[1] == expected


def test_other_drivers(serve: Serve) -> None:
    served = serve(SCRAM)

    async def through_asyncpg(password: str) -> object:
        connection = await asyncpg.connect(
            host="127.0.0.1", port=served.port, user="alice", password=password, database="dev", ssl=False
        )
        try:
            return await connection.fetchval("SELECT current_user")
        finally:
            await connection.close()

    assert asyncio.run(through_asyncpg("secret")) == "alice"
    with pytest.raises(asyncpg.InvalidPasswordError, match='password authentication failed for user "alice"'):
        asyncio.run(through_asyncpg("wrong"))
    with pg8000.dbapi.connect("alice", "127.0.0.1", "dev", served.port, "secret") as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT current_user")
        assert cursor.fetchall() == (["alice"],)
    with pytest.raises(pg8000.dbapi.DatabaseError, match="28P01"):
        pg8000.dbapi.connect("alice", "127.0.0.1", "dev", served.port, "wrong")


def test_the_unix_socket_knows_the_user_of_the_operating_system(serve: Serve) -> None:
    served = serve()
    directory = str(served.directory)
    assert log_in(served, "root", host=directory) == ("root", "root")
    assert refusal(served, "alice", host=directory)[1] == 'FATAL:  Peer authentication failed for user "alice"'
    path = served.wire.socket_path
    assert path is not None and path.stat().st_mode & 0o777 == 0o700
    served.wire.stop()
    assert not path.exists()


def test_tls(serve: Serve, certificates: Path) -> None:
    served = serve("hostssl all all all scram-sha-256", tls=True)
    root = {"sslrootcert": str(certificates / "ca.crt")}
    assert log_in(served, "alice", sslmode="verify-full", **root) == ("alice", "alice")
    assert log_in(served, "alice", sslmode="verify-full", host="localhost", **root) == ("alice", "alice")
    assert log_in(served, "alice", sslmode="require", channel_binding="require") == ("alice", "alice")
    assert "no pg_hba.conf entry" in refusal(served, "alice", sslmode="disable")[1]
    wrong_authority = {"sslrootcert": str(certificates / "other-ca.crt")}
    assert "certificate verify failed" in refusal(served, "alice", sslmode="verify-ca", **wrong_authority)[1]
    assert "password authentication failed" in refusal(served, "alice", "wrong", sslmode="require")[1]


def test_bulk_through_tls(serve: Serve) -> None:
    served = serve(SCRAM, tls=True)
    with psycopg.connect(
        host="127.0.0.1", port=served.port, dbname="dev", user="alice", password="secret", sslmode="require"
    ) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bulk (n INT PRIMARY KEY, t TEXT)")
        connection.commit()
        with connection.cursor().copy("COPY bulk FROM STDIN") as copy:
            for number in range(20_000):
                copy.write(f"{number}\t{'x' * 100}\n")
        connection.commit()
        row = connection.execute("SELECT count(*), sum(length(t)) FROM bulk").fetchone()
        assert row == (20_000, 2_000_000)
        assert len(connection.execute("SELECT * FROM bulk").fetchall()) == 20_000
        with connection.pipeline():
            cursors = [connection.execute("SELECT t FROM bulk WHERE n = %s", (n,)) for n in range(200)]
        assert all(cursor.fetchone() == ("x" * 100,) for cursor in cursors)
        connection.execute("DROP TABLE bulk")
        connection.commit()


def test_client_certificates(serve: Serve, certificates: Path) -> None:
    served = serve("hostssl all robot all cert", "hostssl all alice all scram-sha-256 clientcert=verify-ca", tls=True)

    def shown(name: str) -> dict[str, str]:
        return {"sslcert": str(certificates / f"{name}.crt"), "sslkey": str(certificates / f"{name}.key")}

    require = {"sslmode": "require"}
    assert log_in(served, "robot", "", **shown("robot"), **require) == ("robot", "robot")
    assert log_in(served, "alice", **shown("robot"), **require) == ("alice", "alice")
    failed = 'FATAL:  certificate authentication failed for user "robot"'
    assert refusal(served, "robot", "", **shown("alice"), **require)[1] == failed
    needed = "FATAL:  connection requires a valid client certificate"
    none = {"sslcert": "/nowhere", "sslkey": "/nowhere"}
    assert refusal(served, "alice", **none, **require)[1] == needed
    with pytest.raises(psycopg.OperationalError):  # signed by a CA that the server does not know
        log_in(served, "alice", **shown("other"), **require)


def test_tls_from_the_first_byte(serve: Serve, certificates: Path) -> None:
    served = serve("hostssl all all all trust", tls=True)
    context = ssl.create_default_context(cafile=str(certificates / "ca.crt"))
    with socket.create_connection(("127.0.0.1", served.port), 5) as plain:
        without_alpn = context.wrap_socket(plain, server_hostname="localhost")
        with without_alpn, contextlib.suppress(OSError):
            without_alpn.sendall(_startup("robot"))
            assert without_alpn.recv(1) == b""
    context.set_alpn_protocols(["postgresql"])
    with (
        socket.create_connection(("127.0.0.1", served.port), 5) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as direct,
    ):
        direct.sendall(_startup("robot"))
        assert direct.recv(9) == b"R\0\0\0\x08\0\0\0\0"


def test_bytes_before_the_handshake_are_an_attack(serve: Serve) -> None:
    """CVE-2021-23214: what somebody in between puts in front of the encrypted bytes must not count."""
    served = serve("host all all all trust", tls=True)
    with socket.create_connection(("127.0.0.1", served.port), 5) as client:
        client.sendall(struct.pack("!II", 8, 80877103) + _startup("robot"))
        assert b"received unencrypted data after SSL request" in client.recv(1000)


def test_gssapi_is_declined(serve: Serve) -> None:
    served = serve("host all all all trust", tls=True)
    with socket.create_connection(("127.0.0.1", served.port), 5) as client:
        client.sendall(struct.pack("!II", 8, 80877104))
        assert client.recv(1) == b"N"
        client.sendall(_startup("robot"))
        assert client.recv(1) == b"R"


def test_messages_that_are_no_password(serve: Serve) -> None:
    served = serve(SCRAM)
    for message in (
        b"Q\0\0\0\x0dSELECT 1\0",
        b"p\0\0\0\x04",
        b"p\x7f\xff\xff\xff",
        b"p\0\0\0\x12SCRAM-SHA-256\0",
        b"p\0\0\0\x16SCRAM-SHA-256\0\xff\xff\xff\xff",
        b"p\0\0\0\x16SCRAM-SHA-256\0\0\0\xff\xff",
        b"d\0\0\0\x04",
        b"X\0\0\0\x04",
    ):
        with socket.create_connection(("127.0.0.1", served.port), 5) as client:
            client.sendall(_startup("alice") + message)
            answer = b""
            while piece := client.recv(4096):
                answer += piece
            assert answer.startswith(b"R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0\0E") and b"08P01" in answer


def test_nobody_is_held_up_by_clients_that_say_nothing(serve: Serve) -> None:
    """More half-open connections than there is room for, some of which drip bytes: a good client still comes in."""
    limits = Limits(max_connections=40, startup_timeout=30)
    served = serve(SCRAM, limits=limits)
    began = time.monotonic()
    log_in(served, "alice")
    alone = time.monotonic() - began
    idle: list[socket.socket] = []
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.05):
            for client in idle[::7]:
                with contextlib.suppress(OSError):  # the server has cut it
                    client.send(b"\0")

    dripping = threading.Thread(target=drip)
    try:
        for number in range(300):
            client = socket.create_connection(("127.0.0.1", served.port), 5)
            if number % 3:
                client.sendall(_startup("alice")[: number % 20])
            idle.append(client)
        dripping.start()
        times = []
        for _ in range(20):
            began = time.monotonic()
            assert log_in(served, "alice") == ("alice", "alice")
            times.append(time.monotonic() - began)
        assert sorted(times)[-2] < 3 * alone + 0.5
    finally:
        stop.set()
        dripping.join()
        for client in idle:
            client.close()


def test_startups_that_take_too_long_are_cut(serve: Serve) -> None:
    served = serve(SCRAM, tls=True, limits=Limits(startup_timeout=1.0))
    clients = [socket.create_connection(("127.0.0.1", served.port), 10) for _ in range(4)]
    clients[1].sendall(_startup("alice"))  # and no password
    clients[2].sendall(struct.pack("!II", 8, 80877103))  # and no handshake
    clients[3].sendall(b"\x16\x03\x01")
    began = time.monotonic()
    for client in clients:
        while client.recv(4096):
            pass
        client.close()
    assert time.monotonic() - began < 5


def test_rules_and_certificates_are_replaced_while_the_server_runs(serve: Serve, certificates: Path) -> None:
    served = serve("host all robot all trust", tls=True)
    with psycopg.connect(host="127.0.0.1", port=served.port, dbname="dev", user="robot") as kept:
        served.door.rules = parse_rules(["host all robot all reject"])
        assert "rejects connection" in refusal(served, "robot", sslmode="disable")[1]
        assert kept.execute("SELECT 1").fetchone() == (1,)
        served.door.rules = parse_rules(["host all robot all trust"])
        served.wire.tls = None
        assert "server does not support SSL" in refusal(served, "robot", sslmode="require")[1]


@pytest.mark.skipif(shutil.which("psql") is None, reason="needs psql")
def test_psql(serve: Serve, certificates: Path) -> None:
    served = serve(SCRAM, tls=True)

    def psql(password: str, **options: str) -> subprocess.CompletedProcess[str]:
        given = {"host": "localhost", "port": str(served.port), "user": "alice", "dbname": "dev", **options}
        conninfo = " ".join(f"{name}={value}" for name, value in given.items())
        environ = {**os.environ, "PGPASSWORD": password}
        return subprocess.run(
            ["psql", conninfo, "-Atc", "SELECT current_user"], env=environ, capture_output=True, text=True, timeout=30
        )

    full = {"sslmode": "verify-full", "sslrootcert": str(certificates / "ca.crt"), "channel_binding": "require"}
    assert psql("secret", **full).stdout == "alice\n"
    assert 'FATAL:  password authentication failed for user "alice"' in psql("wrong", **full).stderr


def _startup(user: str) -> bytes:
    body = struct.pack("!I", 196608) + f"user\0{user}\0database\0dev\0\0".encode()
    return struct.pack("!I", len(body) + 4) + body


def test_guessing_gets_nobody_in_and_holds_nobody_else_up(serve: Serve) -> None:
    """Ten threads try passwords for one user; another one of the same address logs in meanwhile, as fast as before."""
    served = serve(SCRAM)
    stop = threading.Event()
    got_in: list[int] = []

    def guess(first: int) -> None:
        number = first
        while not stop.is_set():
            number += 10
            with contextlib.suppress(psycopg.OperationalError):
                log_in(served, "late", f"password {number}", connect_timeout="2")
                got_in.append(number)

    guessers = [threading.Thread(target=guess, args=(number,)) for number in range(10)]
    try:
        for guesser in guessers:
            guesser.start()
        time.sleep(1)
        times = []
        for _ in range(20):
            began = time.monotonic()
            assert log_in(served, "alice") == ("alice", "alice")
            times.append(time.monotonic() - began)
        assert sorted(times)[-2] < 1.5
    finally:
        stop.set()
        for guesser in guessers:
            guesser.join()
    assert not got_in


def test_handshakes_of_nonsense(serve: Serve) -> None:
    """Nothing that is no TLS gets further, and the server goes on."""
    served = serve("hostssl all all all trust", tls=True)
    dice = random.Random(29)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = context.wrap_bio(incoming, outgoing)
    with contextlib.suppress(ssl.SSLWantReadError):
        hello.do_handshake()
    greeting = outgoing.read()
    for number in range(300):
        mangled = bytearray(greeting)
        for _ in range(dice.randrange(1, 9)):
            mangled[dice.randrange(len(mangled))] ^= 1 << dice.randrange(8)
        with socket.create_connection(("127.0.0.1", served.port), 5) as client:
            if number % 2:
                client.sendall(struct.pack("!II", 8, 80877103))
                assert client.recv(1) == b"S"
            with contextlib.suppress(OSError):  # the server may have gone already
                client.sendall(bytes(mangled[: dice.randrange(len(mangled))]) + _startup("robot"))
                client.shutdown(socket.SHUT_WR)
                while piece := client.recv(4096):
                    assert not piece.startswith(b"R\0\0\0\x08")
    assert log_in(served, "robot", sslmode="require") == ("robot", "robot")


def test_rules_of_the_first_database_hold_under_its_other_names(serve: Serve) -> None:
    served = serve("host dev alice all reject", "host all all all scram-sha-256")
    for name in ("dev", "postgres", "template1"):
        assert refusal(served, "alice", dbname=name)[1].startswith("FATAL:  pg_hba.conf rejects connection")
