"""Spark's Python daemon, warmed: what every task needs is imported before the daemon forks a worker.

Named by `spark.python.daemon.module`. Nothing here may open a file, a connection or a thread:
forked workers would share it.
"""

from risingpy.arrow_without_pandas import begin_without_pandas

begin_without_pandas()

import gc  # noqa: E402
from typing import TextIO  # noqa: E402

import duckdb  # noqa: E402, F401
import numpy  # noqa: E402, F401
import pyarrow.compute  # noqa: E402
import pyarrow.parquet  # noqa: E402, F401
import pyspark.daemon  # noqa: E402
import pyspark.worker  # noqa: E402

import risingpy.executors.epoch.task  # noqa: E402
import risingpy.executors.spark.stage_task  # noqa: E402, F401
from risingpy.nesting import allow_deep_nesting  # noqa: E402
from risingpy.storage import kernels  # noqa: E402


def _say(text: str, *, file: TextIO) -> None:
    """What the daemon prints, but for what is no failure.

    Spark hangs up as soon as it has what it needs, as when a query ends: the worker's last bytes cannot be sent then,
    and nobody misses them. (The workers that look data sources up are forked by PySpark's own daemon, which says so.)
    """
    if "BrokenPipeError" not in text and "ConnectionResetError" not in text:
        print(text, file=file)


def hang_up_quietly() -> None:
    """Makes `_say` what PySpark's daemon prints with."""
    vars(pyspark.daemon)["print"] = _say


if __name__ == "__main__":
    allow_deep_nesting()
    hang_up_quietly()
    kernels.load()
    # Workers collect garbage after every task, and would look through all that was imported: 50 ms each time.
    gc.freeze()
    pyspark.daemon.manager()
