"""An idle database commits no epoch: what every test of a whole database asserts in the end."""

from __future__ import annotations

import os
import time

from risingpy.meta.database import Database

# How long nothing may happen. `make engines-test` waits for longer.
QUIET_SECONDS = float(os.environ.get("RISINGPY_QUIET_SECONDS", "0.5"))
SETTLE_SECONDS = 30.0  # for what is still to be done: a purge, a compaction


def assert_falls_idle(database: Database) -> None:
    """Waits until no epoch has been committed for `QUIET_SECONDS`, and fails if that does not come.

    Epochs that only time asks for (filters on now()) are a second apart, at least: they are no failure.
    """
    if database.fatal is not None:
        return
    began = quiet_since = time.monotonic()
    seen, epochs = database.committed_epoch, 0
    while time.monotonic() < quiet_since + QUIET_SECONDS:
        time.sleep(0.02)
        if database.committed_epoch != seen:
            seen, epochs = database.committed_epoch, epochs + 1
            quiet_since = time.monotonic()
            state = database.state
            left = f"to purge {sorted(state.purge)}, to compact {dict(state.compactions)}, fresh {state.fresh_jobs}"
            assert quiet_since < began + SETTLE_SECONDS, f"{epochs} epochs of an idle database; {left}"
