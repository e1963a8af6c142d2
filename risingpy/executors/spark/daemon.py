"""Spark's Python daemon, warmed: it imports what every task needs before it forks a worker.

The setting `spark.python.daemon.module` names this module. Nothing here may open a file, a connection or a thread:
forked workers would share it.
"""

import gc

from risingpy.arrow_without_pandas import begin_without_pandas

gc.disable()  # what is imported stays: collections would be a tenth of the time
begin_without_pandas()

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

gc.enable()


def _say(text: str, *, file: TextIO) -> None:
    """Prints a message of the daemon, unless it only says that Spark has closed the connection.

    Spark closes it as soon as it has what it needs, as when a query ends. The worker cannot send its last bytes then,
    and nobody needs them. (PySpark's own daemon forks the workers that look data sources up; it still prints this.)
    """
    if "BrokenPipeError" not in text and "ConnectionResetError" not in text:
        print(text, file=file)


def hang_up_quietly() -> None:
    """Has PySpark's daemon print by `_say`."""
    vars(pyspark.daemon)["print"] = _say


if __name__ == "__main__":
    allow_deep_nesting()
    hang_up_quietly()
    kernels.load()
    # Workers collect garbage after every task, and would search all imported objects: 50 ms each time.
    gc.freeze()
    pyspark.daemon.manager()
