"""A statement's `cancelled` event as a function, for code that must not know threads."""

from __future__ import annotations

import threading

from risingpy.errors import Check, QueryCanceled, unchecked

Cancelled = threading.Event | None


def check_of(cancelled: Cancelled) -> Check:
    """A function that raises QueryCanceled once the event is set."""
    if cancelled is None:
        return unchecked

    def check() -> None:
        if cancelled.is_set():
            raise QueryCanceled("canceling statement due to user request")

    return check
