"""Asks the system behind one source, in a thread of its own, where its splits end.

The barrier loop never waits for another system: it reads the newest answer, and is woken when there is news. If the
other side does not answer, the watcher asks again after pauses that grow, and views of the source stand still.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from traceback import format_exc

from risingpy.connectors.registry import connector_of, rate_limit
from risingpy.connectors.secrets.opened_options import OpenedOptions, opened
from risingpy.connectors.secrets.vault import Vault
from risingpy.connectors.seekable import SeekableConnector, SplitEnd, Splits
from risingpy.errors import SqlError
from risingpy.plan.catalog import ExternalSource

BUSY_PAUSE, IDLE_PAUSE, LONGEST_PAUSE = 0.01, 0.05, 1.0  # seconds between two questions
BUSY_SECONDS = 2.0  # after news
SHARE_OF_A_CORE = 0.02  # that the questions may cost
FIRST_BACK_OFF, LONGEST_BACK_OFF = 0.5, 30.0  # seconds after a failure

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """What is known of a source: where its splits end (None: not asked yet), and why it does not answer."""

    ends: Mapping[str, SplitEnd] | None = None
    failure: str | None = None


class SourceWatcher:
    """The thread of one source. Any thread may call its methods; `wake` is called with news."""

    def __init__(self, source: ExternalSource, vault: Vault, wake: Callable[[], None]) -> None:
        self.source = source
        self._vault = vault
        self._options = OpenedOptions(dict(source.options))
        self.gives_messages = True
        self.rate_limit = rate_limit(dict(source.options))
        self._wake = wake
        self._status = SourceStatus()
        self._changed = threading.Condition()
        self._asked = self._answered = 0  # questions that somebody waits for
        self._active = False
        self._stopping = False
        self._failures = 0
        self._failed_until = self._news_at = 0.0  # time.monotonic
        self._thread = threading.Thread(target=self._run, name=f"source {source.name}", daemon=True)
        self._thread.start()

    @property
    def status(self) -> SourceStatus:
        return self._status

    @property
    def is_standing(self) -> bool:
        """Whether the source is left out of epochs for a while, because a task could not read it."""
        return time.monotonic() < self._failed_until

    def follow(self, active: bool) -> None:
        """Whether a job reads the source. If none does, the watcher asks only on request."""
        if active != self._active:
            with self._changed:
                self._active = active
                self._changed.notify_all()

    def failed(self, reason: str) -> None:
        """A task could not read the source: it is left out until the next answer after a pause."""
        with self._changed:
            self._fail(reason)
            self._changed.notify_all()

    def refresh(self, seconds: float) -> SourceStatus:
        """Asks now, and returns the answer. What was known, if none comes in time or the source is left out."""
        if self.is_standing:
            return self._status
        with self._changed:
            self._asked += 1
            mine = self._asked
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._answered >= mine or self._stopping, seconds)
        return self._status

    def stop(self) -> None:
        """Ends the thread, without waiting for it: it may be waiting for the other system."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    # The watcher's own thread

    def _run(self) -> None:
        connector: SeekableConnector | None = None
        splits: Splits | None = None
        pause = 0.0
        while self._wait(pause):
            asked, began = self._asked, time.thread_time()
            try:
                connector = connector or self._connector()
                self.gives_messages = connector.gives_messages
                splits = splits or connector.splits()
                self._answer(SourceStatus(dict(splits.ends())), asked)
            except SqlError as error:
                self._answer_failure(str(error), asked)
                splits = None
            except Exception as error:  # a connector's own mistake must not stop the others
                LOG.error('the connector of source "%s" failed\n%s', self.source.name, self._masked(format_exc()))
                self._answer_failure(f"{type(error).__name__}: {error}", asked)
                splits = None
            took = time.thread_time() - began
            shortest = BUSY_PAUSE if time.monotonic() < self._news_at + BUSY_SECONDS else IDLE_PAUSE
            pause = max(shortest, min(took / SHARE_OF_A_CORE, LONGEST_PAUSE), self._back_off_left())
        if splits is not None:
            splits.close()

    def _wait(self, pause: float) -> bool:
        """Sleeps until it is time to ask; False if the watcher is to end."""
        with self._changed:
            if pause:
                self._changed.wait_for(lambda: self._stopping or self._asked > self._answered, pause)
            self._changed.wait_for(lambda: self._stopping or self._active or self._asked > self._answered)
            return not self._stopping

    def _answer(self, status: SourceStatus, asked: int) -> None:
        with self._changed:
            if self.is_standing:
                status = SourceStatus(status.ends, self._status.failure)
            elif self._failures and time.monotonic() > self._failed_until + LONGEST_BACK_OFF:
                LOG.info('source "%s" answers again', self.source.name)
                self._failures = 0
            news, self._status = status != self._status, status
            self._answered = asked
            self._changed.notify_all()
        if news:
            self._news_at = time.monotonic()
            self._wake()

    def _connector(self) -> SeekableConnector:
        self._options = opened(self._vault, self.source)
        return connector_of(self._options.options, self._options.message_format)

    def _answer_failure(self, reason: str, asked: int) -> None:
        with self._changed:
            self._fail(reason)
            self._answered = asked
            self._changed.notify_all()

    def _masked(self, text: str) -> str:
        return self._options.masked(text)

    def _fail(self, reason: str) -> None:
        reason = self._masked(reason)
        if not self._failures:
            LOG.warning('source "%s" does not answer: %s', self.source.name, reason)
        self._failures += 1
        back_off = min(FIRST_BACK_OFF * 2.0 ** min(self._failures - 1, 16), LONGEST_BACK_OFF)
        self._failed_until = time.monotonic() + back_off
        self._status = SourceStatus(self._status.ends, reason)

    def _back_off_left(self) -> float:
        return max(0.0, self._failed_until - time.monotonic())
