"""The daemon that forks Spark's Python workers: what it says on the server's log."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A worker whose last bytes nobody takes any more; with a failure of another kind if the first argument says so.
SCRIPT = """
import os, socket, sys
import pyspark.worker
from risingpy.executors.spark import daemon

def work(infile, outfile):
    outfile.write(b"last words")
    if sys.argv[1] == "defect":
        outfile.flush = lambda: 1 / 0

daemon.hang_up_quietly()
pyspark.worker.main = work
here, there = socket.socketpair()
there.close()
daemon.pyspark.daemon.worker(here, True)
os._exit(0)
"""


@pytest.mark.parametrize(("kind", "said"), [("hung-up", ""), ("defect", "ZeroDivisionError")])
def test_a_worker_that_spark_hangs_up_on_says_nothing(kind: str, said: str) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, kind], capture_output=True, text=True, timeout=60, check=False)
    assert (said in done.stderr) if said else (done.stderr == ""), done.stderr
