"""A session's answers to a client's bytes, by the short path and by the conversation."""

from __future__ import annotations

import threading
from collections.abc import Callable

from risingpy.frontend.results import TakesLonger
from risingpy.frontend.session import ClientSession
from risingpy.frontend.wire.client_messages import CopyMessage, Message
from risingpy.frontend.wire.conversation import converse
from risingpy.frontend.wire.endings import Hangup
from risingpy.frontend.wire.protocol import ClientProtocol
from risingpy.frontend.wire.responder import Responder
from risingpy.frontend.wire.short_path.series import Repeats
from risingpy.frontend.wire.short_path.short_path import Later, ShortPath
from tests.frontend.wire import raw_client as raw


class _Channel:
    """A client all of whose bytes have arrived."""

    def __init__(self) -> None:
        self.protocol = ClientProtocol(1 << 20)
        self.protocol.end_authentication()
        self.said = b""

    def next_message(self) -> Message | None:
        return self.protocol.next_message()

    def next_copy_message(self, check: Callable[[], None]) -> CopyMessage:
        raise Hangup

    def sync_follows(self) -> bool:
        return self.protocol.sync_is_next

    def repeats(self, most: int, answered: Repeats | None) -> Repeats | None:
        return self.protocol.repeats(most, answered)

    def skip_to_sync(self) -> None:
        self.protocol.skip_to_sync()

    def begin_copy(self) -> None:
        self.protocol.begin_copy()

    def end_copy(self) -> None:
        self.protocol.end_copy()

    def rest(self, forget_cancel: Callable[[], None]) -> None:
        forget_cancel()

    def check_ending(self) -> None:
        pass

    def write(self, data: bytes | memoryview) -> None:
        self.said += data

    def flush(self) -> None:
        pass


class Answers:
    """Of one session."""

    def __init__(self, session: ClientSession) -> None:
        self.session = session
        self._channel = _Channel()
        self._responder = Responder(session, self._channel)
        self._short_path = ShortPath(session)

    def long(self, data: bytes) -> bytes:
        """What the conversation says, after what it has said before."""
        self._channel.said = b""
        self._channel.protocol.receive(data)
        converse(self._responder)
        return self._channel.said

    def short(self, data: bytes) -> bytes | None:
        """What the short path says at once, if it says anything."""
        answer = self._short_path.answer(data)
        return None if isinstance(answer, Later) else answer

    def awaited(self, data: bytes) -> bytes | None:
        """What it says when all is over that it must wait for, if it says anything."""
        answer = self._short_path.answer(data)
        while isinstance(answer, Later):
            over, rows = threading.Event(), list[int | None]()

            def done(
                count: int | None, over: threading.Event = over, rows: list[int | None] = rows
            ) -> Callable[[], None]:
                rows.append(count)
                return over.set

            try:
                answer.begin(done)()
            except TakesLonger:
                return None
            assert over.wait(30)
            answer = None if rows[0] is None else answer.answer(rows[0])
        return answer


def prepare(answers: Answers, name: bytes, text: str, oids: tuple[int, ...] = ()) -> None:
    """Prepares a statement in the long way."""
    said = answers.long(raw.parse(name, text.encode(), oids) + raw.SYNC)
    assert said[:1] == b"1", said


def series(
    statement: bytes,
    values: tuple[bytes | None, ...],
    formats: tuple[int, ...] = (),
    results: tuple[int, ...] = (),
    *,
    describes: bool = True,
) -> bytes:
    """The messages that run a prepared statement once."""
    described = raw.describe(b"P") if describes else b""
    return raw.bind(b"", statement, values, formats, results) + described + raw.execute() + raw.SYNC
