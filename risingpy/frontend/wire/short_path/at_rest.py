"""A client at rest that says something: short requests are answered at once, in the event loop's thread.

What the loop does never blocks. So bytes of an answer that the client's socket does not take are left to a thread. A
request that writes is answered when its rows are durable; until then nobody reads what the client says next.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from risingpy.frontend.results import TakesLonger
from risingpy.frontend.wire.activity import Activity
from risingpy.frontend.wire.protocol import ClientProtocol
from risingpy.frontend.wire.session_protocol import Session
from risingpy.frontend.wire.short_path.short_path import Later, ShortPath
from risingpy.frontend.wire.threads.event_loop import Next
from risingpy.frontend.wire.transport import Transport

_log = logging.getLogger(__name__)

_READ_BYTES = 1 << 16


class _WriteOutcome(Enum):
    """How a request stands that writes."""

    NOT_BEGUN = auto()
    UNDER_WAY = auto()
    DURABLE = auto()
    TAKES_LONGER = auto()


@dataclass(slots=True)
class _Writing:
    """A request that writes, and its bytes."""

    later: Later
    data: bytes
    outcome: _WriteOutcome = _WriteOutcome.NOT_BEGUN
    rows: int = 0


class AtRest:
    """For the thread that has the connection.

    `resume` has the loop call `resumed`, and may be called from any thread; it returns what wakes the loop. `soon` has
    the loop call something at the end of its turn.
    """

    def __init__(
        self,
        transport: Transport,
        protocol: ClientProtocol,
        activity: Activity,
        session: Session,
        resume: Callable[[], Callable[[], None]],
        soon: Callable[[Callable[[], None]], None],
    ) -> None:
        self._transport = transport
        self._protocol = protocol
        self._activity = activity
        self._session = session
        self._short_path = ShortPath(session)
        self._resume = resume
        self._soon = soon
        self._unsent = b""
        self._writing: _Writing | None = None

    def take_unsent(self) -> bytes:
        """What is still to be sent of the last answer, before anything else."""
        unsent, self._unsent = self._unsent, b""
        return unsent

    @property
    def is_writing(self) -> bool:
        """Whether a request that writes is not answered yet. The loop is to begin what a thread has read: `resumed`."""
        return self._writing is not None

    def wake(self) -> Next:
        """Receives what the client of a parked connection has sent, and answers it."""
        if self._writing is not None:
            return Next.WAIT
        while True:
            try:
                data = self._transport.receive_parked(_READ_BYTES)
            except BlockingIOError:
                return Next.REST
            except OSError:  # the client is gone
                data = b""
            answer = self._answer(data)
            if answer is None:
                return Next.SERVE
            if isinstance(answer, Later):
                self._writing = _Writing(answer, data)
                return self._begin(self._writing)
            if not self._is_sent(answer):
                return Next.SERVE
            if not self._transport.holds_bytes:
                return Next.REST

    def resumed(self) -> Next:
        """Goes on with the request that writes: begins it, or answers it."""
        writing = self._writing
        assert writing is not None
        match writing.outcome:
            case _WriteOutcome.NOT_BEGUN:
                return self._begin(writing)
            case _WriteOutcome.UNDER_WAY:
                return Next.REST
            case _WriteOutcome.TAKES_LONGER:
                return self._leave_to_thread(writing)
            case _WriteOutcome.DURABLE:
                self._writing = None
                self._activity.rest(time.monotonic(), self._session.forget_cancel)
                if not self._is_sent(writing.later.answers[writing.rows]):
                    return Next.SERVE
                return self.wake() if self._transport.holds_bytes else Next.REST

    def answer(self) -> bool:
        """Likewise in a thread. False: the protocol has the bytes, and the conversation goes on."""
        data = self._transport.receive(_READ_BYTES)
        answer = self._answer(data)
        if isinstance(answer, Later):
            self._writing = _Writing(answer, data)
            return True
        self._unsent = answer or b""
        return answer is not None

    def _begin(self, writing: _Writing) -> Next:
        def done(rows: int | None) -> Callable[[], None]:
            writing.rows = rows or 0
            writing.outcome = _WriteOutcome.TAKES_LONGER if rows is None else _WriteOutcome.DURABLE
            return self._resume()

        self._activity.work()
        writing.outcome = _WriteOutcome.UNDER_WAY
        try:
            self._soon(writing.later.begin(done))
        except TakesLonger:
            return self._leave_to_thread(writing)
        except Exception:
            _log.exception("a short write failed")
            return self._leave_to_thread(writing)
        return Next.REST

    def _leave_to_thread(self, writing: _Writing) -> Next:
        self._writing = None
        self._protocol.receive(writing.data)
        return Next.SERVE

    def _is_sent(self, answer: bytes) -> bool:
        """Sends it. False: a thread must send the rest, or finds that the client is gone."""
        try:
            self._unsent = answer[self._transport.send_parked(answer) :]
        except OSError:
            self._protocol.receive(b"")
            return False
        return not self._unsent

    def _answer(self, data: bytes) -> bytes | Later | None:
        try:
            answer = self._short_path.answer(data) if data else None
        except Exception:  # the conversation finds out what it means for the client; others must not feel it
            _log.exception("a short answer failed")
            answer = None
        if answer is None:
            self._protocol.receive(data)
        elif not isinstance(answer, Later):
            self._activity.rest(time.monotonic())
        return answer
