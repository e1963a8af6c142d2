"""Tells that a Spark session is no more, and makes room for a new one in this process.

A session is lost when its Java has ended, when Spark has stopped its context (its master did not answer, or has removed
the application), and on a cluster also when it has had no executor for a while: a master that was started anew knows
nothing of applications, and gives them none.
"""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

LOG = logging.getLogger(__name__)


def why_ended(session: SparkSession) -> str | None:
    """Of a session whose Java has ended: its exit code. Java is not asked, so this costs a microsecond."""
    context: Any = session.sparkContext
    java = context._gateway.proc  # noqa: SLF001 - PySpark has no other way to ask
    return None if java.poll() is None else f"Java has ended with exit code {java.returncode}"


def why_lost(session: SparkSession) -> str | None:
    """Why the session cannot run anything any more; None if it can."""
    ended = why_ended(session)
    if ended is not None:
        return ended
    context: Any = session.sparkContext
    try:
        return "Spark has stopped" if context._jsc is None or context._jsc.sc().isStopped() else None  # noqa: SLF001
    except Exception as error:  # whatever py4j has for a connection that broke
        return f"Java does not answer: {type(error).__name__}"


def has_executors(session: SparkSession) -> bool:
    """Whether the cluster has given the session a process for its tasks. The driver's own is not counted."""
    java: Any = session.sparkContext._jsc.sc()  # noqa: SLF001
    return bool(java.getExecutorMemoryStatus().size() > 1)


def cores_of(session: SparkSession) -> int | None:
    """The cores of the cluster's executors; None without an executor. Spark counts two where there is one."""
    return session.sparkContext.defaultParallelism if has_executors(session) else None


def end_lost(session: SparkSession) -> None:
    """Ends what is left of the session. The next one then begins as the first one did, with a Java of its own."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    kind: Any = SparkContext
    gateway = kind._gateway  # noqa: SLF001
    with contextlib.suppress(Exception):
        session.stop()
    with contextlib.suppress(Exception):
        gateway.shutdown()
    gateway.proc.kill()
    gateway.proc.wait()
    kind._active_spark_context = kind._gateway = kind._jvm = None  # noqa: SLF001
    sessions: Any = SparkSession
    sessions._instantiatedSession = None  # noqa: SLF001


def quiet_at_hang_ups(context: SparkContext) -> None:
    """When Java is lost, PySpark's accumulators print a traceback. We use none, and say ourselves that it is lost."""
    server: Any = context._accumulatorServer  # noqa: SLF001
    server.handle_error = lambda *_: LOG.debug("Java has left PySpark's accumulators", exc_info=True)
