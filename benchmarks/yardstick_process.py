"""Runs a yardstick's job in a Python process of its own: its memory and CPU are then its own too.

The job's arguments go as JSON on the command line; its answer comes back as the line that starts with RESULT.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

TIMEOUT_SECONDS = 900
_MARK = "RESULT "
_REPOSITORY = Path(__file__).parents[1]  # where `-m benchmarks…` is found

Job = Callable[..., dict[str, float]]


class YardstickFailed(RuntimeError):
    """The yardstick's process ended without a result; the message holds the end of its output."""


def run_job(module: str, job: str, **arguments: object) -> dict[str, float]:
    """Figures of `benchmarks.MODULE`'s job. Raises YardstickFailed, or TimeoutExpired after a quarter of an hour."""
    command = [sys.executable, "-m", f"benchmarks.{module}", job, json.dumps(arguments), repr(time.time())]
    finished = subprocess.run(
        command, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False, cwd=_REPOSITORY
    )
    for line in finished.stdout.splitlines():
        if line.startswith(_MARK):
            result: dict[str, float] = json.loads(line.removeprefix(_MARK))
            return result
    raise YardstickFailed(f"{module} {job}: exit code {finished.returncode}\n{finished.stderr[-3000:]}")


def answer(jobs: Mapping[str, Job]) -> None:
    """The main program of a yardstick: runs the job that the command line names, and prints its result."""
    name, arguments = sys.argv[1], json.loads(sys.argv[2])
    figures = jobs[name](**arguments)
    print(_MARK + json.dumps(figures), flush=True)


def seconds_since_start() -> float:
    """Since whoever measures asked for this process: Python's own start counts."""
    return time.time() - float(sys.argv[3])
