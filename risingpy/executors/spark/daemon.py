"""Spark's Python daemon, warmed: what every task needs is imported before the daemon forks a worker.

Named by `spark.python.daemon.module`. Nothing here may open a file, a connection or a thread:
forked workers would share it.
"""

from risingpy.arrow_without_pandas import begin_without_pandas

begin_without_pandas()

import gc  # noqa: E402

import duckdb  # noqa: E402, F401
import numpy  # noqa: E402, F401
import pyarrow.compute  # noqa: E402
import pyarrow.parquet  # noqa: E402, F401
import pyspark.worker  # noqa: E402, F401
from pyspark.daemon import manager  # noqa: E402

import risingpy.executors.epoch_task  # noqa: E402
import risingpy.executors.spark.stage_task  # noqa: E402, F401
from risingpy.storage import kernels  # noqa: E402

if __name__ == "__main__":
    kernels.load()
    # Workers collect garbage after every task, and would look through all that was imported: 50 ms each time.
    gc.freeze()
    manager()
