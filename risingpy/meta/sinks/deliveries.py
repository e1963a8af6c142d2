"""Begins and ends the deliveries as sinks are created, altered and dropped, and waits for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from risingpy.errors import Check, SqlError, UndefinedTable
from risingpy.meta.cancellation import CancelFlag, check_of
from risingpy.meta.sinks.delivery import DeliveryStatus, DeliveryTools, SinkDelivery
from risingpy.plan.catalog import Catalog, JobStatus, Sink

BEGIN_SECONDS = 0.005  # between two looks whether a delivery has begun
LOOK_SECONDS = 0.25  # how often a statement that waits looks whether it is cancelled
END_SECONDS = 5.0  # how long a server that stops waits for running deliveries


class SinkDeliveries:
    """One for a database. `follow` is called with each new catalog; any thread may call the others."""

    def __init__(self, tools: DeliveryTools, catalog: Callable[[], Catalog]) -> None:
        """`catalog` gives the published one."""
        self._tools = tools
        self._catalog = catalog
        self._guard = threading.Lock()
        self._running: dict[int, SinkDelivery] = {}
        self._closed = False

    def follow(self, catalog: Catalog) -> None:
        """Lets the sinks of the catalog deliver, once they have all rows of their query, and no others."""
        complete = (r for r in catalog.relations.values() if isinstance(r, Sink) and r.status is JobStatus.CREATED)
        sinks = {sink.relation_id: catalog.resolved(sink) for sink in complete if sink.into is None}
        with self._guard:
            for sink_id, delivery in list(self._running.items()):
                sink = sinks.get(sink_id)
                if _without_name(delivery.sink) != _without_name(sink):
                    delivery.stop()
                    del self._running[sink_id]
                    if sink is not None and not self._closed:
                        self._running[sink_id] = SinkDelivery(sink, self._tools, earlier=delivery)
            for sink_id in () if self._closed else sinks.keys() - self._running.keys():
                self._running[sink_id] = SinkDelivery(sinks[sink_id], self._tools)

    def status(self) -> Iterator[tuple[Sink, DeliveryStatus]]:
        """How far each sink has come. One that has nothing left to deliver is at the newest epoch."""
        with self._guard:
            running = list(self._running.values())
        for delivery in running:
            status = delivery.status
            left = self._tools.changelogs.read(delivery.sink.table, status.epoch, most_rows=1)
            yield delivery.sink, status if left.epochs else replace(status, epoch=left.up_to)

    def wait(self, sink: Sink, epoch: int, cancelled: CancelFlag) -> None:
        """Waits until the other side of a sink has everything up to `epoch`, which is committed.

        Raises QueryCanceled, UndefinedTable if the sink is dropped meanwhile, and SqlError if it has failed.
        """
        check = check_of(cancelled)
        while not self._wait_for(self._delivery(sink.relation_id, sink.name, check), epoch, check):
            check()  # the sink was altered: it has another delivery now

    def close(self) -> None:
        """Ends all deliveries, the running ones within some seconds."""
        with self._guard:
            self._closed = True
            ending = list(self._running.values())
            self._running.clear()
        for delivery in ending:
            delivery.stop()
        end = time.monotonic() + END_SECONDS
        for delivery in ending:
            delivery.join(max(end - time.monotonic(), 0.0))

    def _delivery(self, sink_id: int, name: str, check: Check) -> SinkDelivery:
        """The sink's running delivery. It begins a moment after the sink is published."""
        while True:
            sink = self._catalog().relations.get(sink_id)
            if sink is None:
                raise UndefinedTable(f'sink "{name}" was dropped meanwhile')
            if sink.has_stopped:
                raise SqlError(
                    f'sink "{name}" has failed', sqlstate="55000", hint="RECOVER it, or drop it and create it again."
                )
            with self._guard:
                delivery = self._running.get(sink_id)
            if delivery is not None:
                return delivery
            check()
            time.sleep(BEGIN_SECONDS)

    def _wait_for(self, delivery: SinkDelivery, epoch: int, check: Check) -> bool:
        """Whether it has delivered everything up to `epoch` before it was ended."""
        while not delivery.is_stopping:
            check()
            with delivery.changed:
                if self._has(delivery, epoch):
                    return True
                delivery.hurry()
                delivery.changed.wait(LOOK_SECONDS)
        return False

    def _has(self, delivery: SinkDelivery, epoch: int) -> bool:
        """Whether nothing up to `epoch` is left to deliver."""
        delivered = delivery.status.epoch
        if delivered >= epoch:
            return True
        left = self._tools.changelogs.read(delivery.sink.table, delivered, most_rows=1)
        return not left.epochs or left.epochs[0].epoch > epoch


def _without_name(sink: Sink | None) -> object:
    """What of a sink its delivery depends on."""
    if sink is None:
        return None
    types = tuple(column.type for column in sink.columns)  # with the labels of enums, which the schema has not
    return sink.options, sink.message_format, sink.hidden, sink.schema, sink.table, types
