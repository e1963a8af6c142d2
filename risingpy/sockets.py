"""Waiting for sockets, whatever their descriptor's number: select() takes only those below 1,024."""

from __future__ import annotations

import select
import socket


def is_readable(connected: socket.socket | int, seconds: float) -> bool:
    """Waits until something can be read or the other end has closed; False if nothing came in `seconds`."""
    poller = select.poll()
    poller.register(connected, select.POLLIN)
    return bool(poller.poll(seconds * 1000))


def has_hung_up(connected: socket.socket) -> bool:
    """True if the client has closed its end (Linux). False for a socket that is closed on this side."""
    poller = select.poll()
    try:
        poller.register(connected, select.POLLRDHUP)
        return bool(poller.poll(0))
    except (OSError, ValueError):
        return False
