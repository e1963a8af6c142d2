"""A client at rest that says something: short requests are answered at once, in the event loop's thread.

It is told, too, what other sessions have notified it of.

What the loop does never blocks. So bytes of an answer that the client's socket does not take are left to a thread. A
request that writes is answered when its rows are durable, one that needs a lock is begun again when it has that; until
then nobody reads what the client says next.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from risingpy.frontend.results import TakesLonger
from risingpy.frontend.wire import server_messages
from risingpy.frontend.wire.activity import Activity
from risingpy.frontend.wire.protocol import ClientProtocol
from risingpy.frontend.wire.session_protocol import Session
from risingpy.frontend.wire.short_path.short_path import Later, ShortPath
from risingpy.frontend.wire.threads.event_loop import EventLoop, Next
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
    """A request that waits, for the disk or for a lock, and its bytes."""

    later: Later
    data: bytes
    outcome: _WriteOutcome = _WriteOutcome.NOT_BEGUN
    rows: int = 0


class AtRest:
    """The connection as the loop sees it (`Parked`). For the thread that has the connection, but for `nudge`.

    `serve` is what a thread does with it. While it `is_ending`, a thread shall find that out.
    """

    def __init__(
        self,
        transport: Transport,
        protocol: ClientProtocol,
        activity: Activity,
        session: Session,
        loop: EventLoop,
        serve: Callable[[], None],
        is_ending: Callable[[], bool],
    ) -> None:
        self._transport = transport
        self._protocol = protocol
        self._activity = activity
        self._session = session
        self._short_path = ShortPath(session)
        self._loop = loop
        self.serve = serve
        self._is_ending = is_ending
        self._unsent = b""
        self._writing: _Writing | None = None

    def take_unsent(self) -> bytes:
        """What is still to be sent of the last answer, before anything else."""
        unsent, self._unsent = self._unsent, b""
        return unsent

    def fileno(self) -> int:
        """The socket's descriptor; -1 when it is closed."""
        return self._transport.socket.fileno()

    def park(self) -> None:
        """Leaves the connection to the loop, which begins at once to write what a thread has read."""
        begins = self._writing is not None
        self._transport.park()
        self._loop.park(self)
        if begins:
            self._loop.resume(self)()
        elif self._session.has_notifications():  # since the thread has last looked; nobody could nudge the loop
            self.nudge()

    def nudge(self) -> None:
        """Notifications wait for the session: the loop sends them if the connection is parked. From any thread."""
        self._loop.nudge(self)()

    def wake(self) -> Next:
        """Receives what the client of a parked connection has sent, and answers it."""
        if self._writing is not None:
            return Next.WAIT
        return Next.SERVE if self._is_ending() else self._told(self._wake())

    def notified(self) -> Next:
        """Sends the notifications that have come."""
        return Next.WAIT if self._writing is not None else self._told(Next.REST)

    def _told(self, then: Next) -> Next:
        """What is next, once the client has got the notifications that wait for it, if it is at rest."""
        if then is not Next.REST or self._writing is not None:
            return then
        told = self._session.drain_notifications()
        return then if self._is_sent(b"".join(map(server_messages.notification_response, told))) else Next.SERVE

    def _wake(self) -> Next:
        while True:
            try:
                data = self._transport.receive_parked()
            except BlockingIOError:
                return Next.REST
            except OSError:  # the client is gone
                data = b""
            then = self._answer_now(data)
            if then is not Next.REST or self._writing is not None or not self._transport.holds_bytes:
                return then

    def resumed(self) -> Next:
        """Goes on with the request that writes: begins it, or answers it."""
        then = self._told(self._resumed())
        return Next.SERVE if self._is_ending() and self._writing is None else then

    def _resumed(self) -> Next:
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
                return self._go_on(writing)

    def answer(self) -> bool:
        """Likewise in a thread. False: the protocol has the bytes, and the conversation goes on."""
        data = self._transport.receive(_READ_BYTES)
        answer = self._answer(data)
        if isinstance(answer, Later):
            self._writing = _Writing(answer, data)
            return True
        self._unsent = answer or b""
        return answer is not None

    def _answer_now(self, data: bytes) -> Next:
        """In the loop's thread."""
        answer = self._answer(data)
        if answer is None:
            return Next.SERVE
        if isinstance(answer, Later):
            self._writing = _Writing(answer, data)
            return self._begin(self._writing)
        return self._sent(answer)

    def _sent(self, answer: bytes) -> Next:
        return Next.REST if self._is_sent(answer) else Next.SERVE

    def _go_on(self, writing: _Writing) -> Next:
        """What was waited for has happened."""
        self._writing = None
        try:
            answer = writing.later.answer(writing.rows)
        except Exception:
            _log.exception("a short answer failed")
            return self._leave_to_thread(writing)
        if isinstance(answer, Later):
            self._writing = _Writing(answer, writing.data)
            return self._begin(self._writing)
        self._activity.rest(time.monotonic(), self._session.forget_cancel)
        then = self._answer_now(writing.data) if answer is None else self._sent(answer)
        if then is Next.REST and self._writing is None and self._transport.holds_bytes:
            return self._wake()
        return then

    def _begin(self, writing: _Writing) -> Next:
        def done(rows: int | None) -> Callable[[], None]:
            writing.rows = rows or 0
            writing.outcome = _WriteOutcome.TAKES_LONGER if rows is None else _WriteOutcome.DURABLE
            return self._loop.resume(self)

        self._activity.work()
        writing.outcome = _WriteOutcome.UNDER_WAY
        try:
            self._loop.soon(writing.later.begin(done))
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
        if not answer:
            return True
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
