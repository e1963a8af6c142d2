"""A client at rest that says something: short requests are answered at once, in the event loop's thread.

What the loop does never blocks. So bytes of an answer that the client's socket does not take are left to a thread.
"""

from __future__ import annotations

import logging
import time

from risingpy.frontend.wire.activity import Activity
from risingpy.frontend.wire.protocol import ClientProtocol
from risingpy.frontend.wire.short_path.short_path import ShortPath
from risingpy.frontend.wire.transport import Transport

_log = logging.getLogger(__name__)

_READ_BYTES = 1 << 16


class AtRest:
    """For the thread that has the connection."""

    def __init__(
        self, transport: Transport, protocol: ClientProtocol, activity: Activity, short_path: ShortPath
    ) -> None:
        self._transport = transport
        self._protocol = protocol
        self._activity = activity
        self._short_path = short_path
        self._unsent = b""

    def take_unsent(self) -> bytes:
        """What is still to be sent of the last answer, before anything else."""
        unsent, self._unsent = self._unsent, b""
        return unsent

    def wake(self) -> bool:
        """Receives what the client of a parked connection has sent, and answers it. False: a thread must go on."""
        while True:
            try:
                data = self._transport.receive_parked(_READ_BYTES)
            except BlockingIOError:
                return True
            except OSError:  # the client is gone
                data = b""
            answer = self._answer(data)
            if answer is None:
                return False
            try:
                self._unsent = answer[self._transport.send_parked(answer) :]
            except OSError:
                self._protocol.receive(b"")
                return False
            if self._unsent:
                return False
            if not self._transport.holds_bytes:
                return True

    def answer(self) -> bool:
        """Likewise in a thread. False: the protocol has the bytes, and the conversation goes on."""
        answer = self._answer(self._transport.receive(_READ_BYTES))
        self._unsent = answer or b""
        return answer is not None

    def _answer(self, data: bytes) -> bytes | None:
        try:
            answer = self._short_path.answer(data) if data else None
        except Exception:  # the conversation finds out what it means for the client; others must not feel it
            _log.exception("a short answer failed")
            answer = None
        if answer is None:
            self._protocol.receive(data)
        else:
            self._activity.rest(time.monotonic())
        return answer
