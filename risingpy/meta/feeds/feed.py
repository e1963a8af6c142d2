"""The thread of one pushed source: it runs the connector, and starts it again after pauses when it has failed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from traceback import format_exc

from risingpy.connectors.pushed import PushedConnector
from risingpy.connectors.registry import pushed_connector_of
from risingpy.connectors.secrets.opened_options import OpenedOptions, opened
from risingpy.connectors.secrets.vault import Vault
from risingpy.errors import SqlError
from risingpy.meta.feeds.feed_rows import FeedRows
from risingpy.plan.catalog import ExternalSource

FIRST_BACK_OFF, LONGEST_BACK_OFF = 0.5, 30.0  # seconds after a failure

LOG = logging.getLogger(__name__)


class Feed:
    """Made for a source of the catalog; `start` and `stop` are called once each."""

    def __init__(
        self,
        source: ExternalSource,
        vault: Vault,
        make_rows: Callable[[threading.Event, Callable[[], None]], FeedRows],
    ) -> None:
        """`make_rows` is given what says that the thread is to end, and what to call when the other side answers."""
        self.source = source
        self._vault = vault
        self._options = OpenedOptions(dict(source.options))
        self._stopping = threading.Event()
        self._guard = threading.Lock()
        self._run_ends = threading.Event()  # of the connector's present run
        self._forgets = False
        self._failures = 0
        self.rows = make_rows(self._stopping, self._answers)
        self._thread = threading.Thread(target=self._run, name=f"source {source.name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, *, forgets: bool) -> None:
        """Ends the thread, without waiting for it. `forgets`: the source is dropped, and the other side is told."""
        with self._guard:
            self._forgets = forgets
            self._stopping.set()
            self._run_ends.set()

    def renew(self, source: ExternalSource) -> None:
        """The source as it is now. If its options are others than before, the connector begins again with them."""
        with self._guard:
            before, self.source = self.source, source
            if (before.options, before.hidden) != (source.options, source.hidden):
                self._run_ends.set()

    def join(self, seconds: float) -> None:
        """Waits for the thread's end."""
        self._thread.join(seconds)

    # The feed's own thread

    def _run(self) -> None:
        while not self._stopping.is_set():
            with self._guard:
                if not self._stopping.is_set():
                    self._run_ends = threading.Event()
            ends = self._run_ends
            try:
                connector = self._connector()
                self.rows.use_format(self._options.message_format)
                connector.run(self.rows, ends)
            except SqlError as error:
                self._failed(str(error))
            except Exception as error:  # a connector's own mistake must not stop the others
                if not ends.is_set():
                    LOG.error('the connector of source "%s" failed\n%s', self.source.name, self._masked(format_exc()))
                self._failed(f"{type(error).__name__}: {error}")
        if self._forgets:
            self._forget()

    def _forget(self) -> None:
        try:
            self._connector().forget()
        except Exception as error:
            reason = self._masked(str(error))
            LOG.warning('source "%s" is dropped, but the other side still keeps rows: %s', self.source.name, reason)

    def _failed(self, reason: str) -> None:
        if self._run_ends.is_set():
            return
        reason = self._masked(reason)
        if not self._failures:
            LOG.warning('source "%s" stands still: %s', self.source.name, reason)
        self._failures += 1
        self.rows.failed(reason)
        self._run_ends.wait(min(FIRST_BACK_OFF * 2.0 ** min(self._failures - 1, 16), LONGEST_BACK_OFF))

    def _masked(self, text: str) -> str:
        return self._options.masked(text)

    def _connector(self) -> PushedConnector:
        self._options = opened(self._vault, self.source)
        return pushed_connector_of(self._options.options)

    def _answers(self) -> None:
        if self._failures:
            LOG.info('source "%s" goes on', self.source.name)
            self._failures = 0
