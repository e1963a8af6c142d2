"""Clients who begin and do not go on, or go on a byte at a time."""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.frontend.authentication.campaign.attacks import HOST, SSL_REQUEST, VICTIM, startup

Dripping = tuple[socket.socket, Iterator[int]]
_STEP_SECONDS = 0.05
_BEGUN = startup(VICTIM)
BEGINNINGS = (b"", _BEGUN[:3], _BEGUN[:17], _BEGUN, SSL_REQUEST, SSL_REQUEST + b"\x16\x03\x01\x02\0", b"\x16\x03\x01")
WIRE = _BEGUN[:4] * 100
METRICS = b"GET /metrics HTTP/1.1\r\nHost: here\r\nX-Long: " + b"x" * 4000
WEBHOOK = b"POST /webhook/dev/public/hooked HTTP/1.1\r\nHost: here\r\nContent-Length: 4000\r\n\r\n" + b"x" * 3999


@contextmanager
def half_open(port: int, count: int) -> Iterator[None]:
    """So many connections at once that say a part of something, and then nothing."""
    dice = random.Random(29)
    clients = []
    try:
        for _ in range(count):
            client = socket.create_connection((HOST, port), 10)
            clients.append(client)
            with contextlib.suppress(OSError):  # cut already
                client.sendall(dice.choice(BEGINNINGS))
        yield
    finally:
        for client in clients:
            client.close()


def drip(port: int, text: bytes, count: int, seconds: float) -> int:
    """So many connections at once say the text a byte at a time; whoever is cut comes again. How often one came."""
    clients: list[Dripping | None] = [None] * count
    end, turn, came = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        for place in range(turn % 4, count, 4):
            came += clients[place] is None
            clients[place] = _dripped(port, text, clients[place])
        turn += 1
        time.sleep(_STEP_SECONDS)
    for each in clients:
        if each is not None:
            each[0].close()
    return came


def _dripped(port: int, text: bytes, client: Dripping | None) -> Dripping | None:
    connected: socket.socket | None = None
    try:
        if client is None:
            connected = socket.create_connection((HOST, port), 10)
            connected.setblocking(False)
            client = connected, iter(text)
        connected, rest = client
        connected.send(bytes([next(rest)]))
        with contextlib.suppress(BlockingIOError):
            if not connected.recv(4096):
                raise ConnectionResetError
    except (OSError, StopIteration):
        if connected is not None:
            connected.close()
        return None
    return client
