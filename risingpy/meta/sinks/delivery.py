"""The thread of one sink: it takes whole committed epochs from the changelog, and delivers them in their order.

Nothing waits for it. If the other side does not answer, it tries again after pauses that grow, and the changelog keeps
what has not been delivered. `DeliveredEpochs` notes how far it has come; a target that keeps the number itself tells it
when it is opened, so that the note may be late.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from traceback import format_exc

from risingpy.connectors.secrets.opened_options import OpenedOptions, opened
from risingpy.connectors.secrets.vault import Vault
from risingpy.connectors.targets.choice import target_of
from risingpy.connectors.targets.engine_options import engine_options
from risingpy.connectors.targets.target import SinkTarget
from risingpy.errors import CannotConnectNow, QueryCanceled, SqlError, TargetUnavailable
from risingpy.meta.cancellation import CancelFlag
from risingpy.meta.changelogs.reader import ChangelogReader, Changes
from risingpy.meta.changelogs.trimming import Trimming
from risingpy.meta.sinks.delivered_epochs import DeliveredEpochs
from risingpy.meta.sinks.outgoing_changes import can_be_merged, outgoing_changes
from risingpy.plan.catalog import Sink
from risingpy.storage.fault_points import reach

MOST_ROWS = 1 << 17  # about so many go out as one delivery
NOTE_SECONDS = 1.0  # between two notes of how far it has come, if the target keeps the number
FIRST_BACK_OFF, LONGEST_BACK_OFF = 0.2, 30.0  # seconds after a failure
SILENT_SECONDS = 10.0  # without an answer, after which that counts as a failure
BACKLOG_SECONDS = 1.0  # between two looks at how much is left to deliver

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DeliveryStatus:
    """The last delivered epoch, the rows delivered since the server started, and why it does not get on, if so."""

    epoch: int = 0
    rows: int = 0
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class DeliveryTools:
    """What a delivery works with. `backlog` gives the bytes in a changelog; `give_up` stops a sink, for a reason."""

    changelogs: ChangelogReader
    delivered: DeliveredEpochs
    trimming: Trimming
    vault: Vault
    backlog: Callable[[int], int]
    give_up: Callable[[int, str], None]


class SinkDelivery:
    """Begins with its creation, once an `earlier` delivery of the sink has ended, and ends with `stop`.

    Any thread may call its methods.
    """

    def __init__(self, sink: Sink, tools: DeliveryTools, earlier: SinkDelivery | None = None) -> None:
        self.sink = sink
        self._earlier = earlier
        self.changed = threading.Condition()  # of the status
        self._schema = sink.schema
        self._types = [column.type for column in sink.columns if not column.hidden]
        self._options = engine_options(dict(sink.options), sink.message_format)
        self._opened = OpenedOptions(dict(sink.options))
        self._tools = tools
        self._status = DeliveryStatus()
        self._stopping = CancelFlag()
        self._hurry = threading.Event()
        self._noted = 0  # the last epoch of which there is a note
        self._noted_at = self._looked_at = 0.0  # time.monotonic
        self._failures = 0
        self._asked_at: float | None = None  # while the other side is asked for something
        self._thread = threading.Thread(target=self._run, name=f"sink {sink.name}", daemon=True)
        self._thread.start()

    @property
    def status(self) -> DeliveryStatus:
        asked, status = self._asked_at, self._status
        waited = 0.0 if asked is None else time.monotonic() - asked
        if status.failure is None and waited > SILENT_SECONDS:
            return replace(status, failure=f"the other side has not answered for {waited:.0f} s")
        return status

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def hurry(self) -> None:
        """Somebody waits: what is there goes out now, whatever the sink's interval is."""
        self._hurry.set()

    def stop(self) -> None:
        """Ends the thread after the running delivery, without waiting for it."""
        self._stopping.set()
        self._hurry.set()
        with self.changed:
            self.changed.notify_all()

    def join(self, seconds: float) -> None:
        """Waits for the end of the thread."""
        self._thread.join(seconds)

    # The delivery's own thread

    def _run(self) -> None:
        if self._earlier is not None:
            self._earlier.join(LONGEST_BACK_OFF)
            self._earlier = None
        while not self.is_stopping:
            try:
                self._deliver()
            except (QueryCanceled, CannotConnectNow):
                return
            except SqlError as error:
                self._fail(str(error), lasting=not isinstance(error, TargetUnavailable))
            except Exception as error:  # a target's own mistake must not end the thread without a word
                LOG.error('the target of sink "%s" failed\n%s', self.sink.name, self._masked(format_exc()))
                self._fail(f"{type(error).__name__}: {error}", lasting=True)

    def _deliver(self) -> None:
        """Connects and delivers until it is stopped, or something fails."""
        limit = self._options.rate_limit
        if limit == 0:
            self._stopping.wait()
            return
        sink, tools = self.sink, self._tools
        self._opened = opened(tools.vault, sink)
        target = target_of(self._opened.options, self._schema, self._opened.message_format)
        try:
            self._noted = tools.delivered.of(sink.relation_id)
            with self._asking():
                after = max(self._noted, target.open() or 0)
            self._reached(after, 0)
            if self._noted:  # what was delivered before the server was started
                tools.trimming.up_to(sink.table.table_id, self._noted)
            while not self.is_stopping:
                most = MOST_ROWS if limit is None else min(MOST_ROWS, limit)
                wait = None if self._noted == after else NOTE_SECONDS
                changes = tools.changelogs.read(sink.table, after, most_rows=most, wait=wait, cancelled=self._stopping)
                rows = self._send(target, changes)
                after = changes.up_to
                self._reached(after, rows)
                if not rows or time.monotonic() >= self._noted_at + NOTE_SECONDS:
                    self._note(after)
                self._pause(rows)
        finally:
            _close(target)

    def _send(self, target: SinkTarget, changes: Changes) -> int:
        """Delivers what was read; returns the number of rows."""
        if not changes.epochs:
            return 0
        if target.keeps_epochs and can_be_merged(self._schema):
            groups = [changes.epochs]
        else:
            groups = [(each,) for each in changes.epochs]
        sent = 0
        for group in groups:
            rows = outgoing_changes([each.rows for each in group], self._schema, self._types)
            reach("sink.deliver")
            if rows.num_rows:
                with self._asking():
                    target.deliver(group[-1].epoch, [rows])
            reach("sink.delivered")
            sent += rows.num_rows
            if not target.keeps_epochs:
                self._note(group[-1].epoch)
            if self._failures:
                LOG.info('sink "%s" delivers again', self.sink.name)
                self._failures = 0
        return sent

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """The block waits for the other side. What never answers fails by no error: see `status`."""
        self._asked_at = time.monotonic()
        try:
            yield
        finally:
            self._asked_at = None

    def _reached(self, epoch: int, rows: int) -> None:
        """Everything up to `epoch` is on the other side, `rows` more than before."""
        status = self._status
        with self.changed:
            self._status = DeliveryStatus(epoch, status.rows + rows)
            self.changed.notify_all()

    def _note(self, epoch: int) -> None:
        """Notes how far it has come, and lets the changelog forget what was before."""
        if epoch > self._noted:
            self._tools.delivered.record(self.sink.relation_id, epoch)
            reach("sink.noted")
            self._noted, self._noted_at = epoch, time.monotonic()
            self._tools.trimming.up_to(self.sink.table.table_id, epoch)

    def _pause(self, rows: int) -> None:
        """Keeps to the sink's rate and interval after a delivery of so many rows."""
        if rows and self._options.rate_limit:
            self._stopping.wait(rows / self._options.rate_limit)
        if rows and self._options.interval:
            self._hurry.wait(self._options.interval)
        self._hurry.clear()
        self._check_backlog()

    def _fail(self, reason: str, *, lasting: bool) -> None:
        """Tells why it does not get on, and waits before the next try. A lasting reason is one that users can mend."""
        reason = self._masked(reason)
        if self._status.failure != reason:
            LOG.warning('sink "%s" cannot deliver: %s', self.sink.name, reason)
        self._failures += 1
        with self.changed:
            self._status = replace(self._status, failure=reason)
            self.changed.notify_all()
        pause = LONGEST_BACK_OFF if lasting else FIRST_BACK_OFF * 2.0 ** min(self._failures - 1, 16)
        end = time.monotonic() + min(pause, LONGEST_BACK_OFF)
        while not self.is_stopping and time.monotonic() < end:
            self._check_backlog()
            self._stopping.wait(min(BACKLOG_SECONDS, max(end - time.monotonic(), 0.0)))

    def _masked(self, text: str) -> str:
        return self._opened.masked(text)

    def _check_backlog(self) -> None:
        """Gives the sink up if more waits for the other side than may."""
        limit = self._options.backlog_limit
        if limit is None or self.is_stopping or time.monotonic() < self._looked_at + BACKLOG_SECONDS:
            return
        self._looked_at = time.monotonic()
        waiting = self._tools.backlog(self.sink.table.table_id)
        if waiting > limit:
            reason = f"{waiting} bytes waited for the other side, more than backlog.limit"
            if self.status.failure is not None:
                reason += f": {self.status.failure}"
            LOG.error('sink "%s" has failed: %s', self.sink.name, reason)
            self._tools.give_up(self.sink.relation_id, reason)
            self._stopping.set()


def _close(target: SinkTarget) -> None:
    """Closes a target; what it may say against that changes nothing."""
    try:
        target.close()
    except Exception as error:
        LOG.debug("closing a sink's target: %s", error)
