"""A limit for calls of libraries that know none."""

from __future__ import annotations

import threading
from collections.abc import Callable

from risingpy.errors import TargetUnavailable

CHECK_SECONDS = 4.0


def within(seconds: float, work: Callable[[], None], owner: str) -> None:
    """Runs `work` in a thread and raises what it raises, or TargetUnavailable if it has not ended by then.

    The thread goes on, since nothing can stop it, but holds up neither the caller nor the end of the process.
    """
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True, name=f"check of {owner}")
    thread.start()
    thread.join(seconds)
    if raised:
        raise raised[0]
    if thread.is_alive():
        raise TargetUnavailable(f"{owner} got no answer within {seconds:.0f} seconds")
