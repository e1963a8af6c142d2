"""Spark's Python daemon, warmed: what every task needs is imported before the daemon forks a worker.

Named by `spark.python.daemon.module`. Nothing here may open a file, a connection or a thread:
forked workers would share it.
"""

import gc

import duckdb  # noqa: F401
import numpy  # noqa: F401
import pyarrow.compute
import pyarrow.parquet
import pyspark.worker  # noqa: F401
from pyspark.daemon import manager

import risingpy.executors.epoch_task
import risingpy.executors.spark.stage_task  # noqa: F401
from risingpy.storage import kernels

if __name__ == "__main__":
    kernels.load()
    pyarrow.array([0])  # has PyArrow look for pandas, and import it: half a second
    # Workers collect garbage after every task, and would look through all that was imported: 50 ms each time.
    gc.freeze()
    manager()
