"""How far a job in creation is, as SHOW JOBS, rw_ddl_progress and the notices of a CREATE tell it."""

from __future__ import annotations

from risingpy.meta.introspection import JobInCreation

CREATE_TYPES = {True: "FOREGROUND", False: "BACKGROUND"}  # by whether a client waits for it


def progress_text(job: JobInCreation) -> str:
    """`43.2 % (2160000 of 5000000 rows), 250000 rows/s, 11 s left`, as far as that is known."""
    again = "recovers after a failure: " if job.relation.has_no_answer else ""
    if job.total is None:
        return f"{again}{job.rows} rows{_ways(job)}"
    if job.total == 0:  # what there is to read is known with its first epoch, for which kernels may be compiled
        return f"{again}not begun yet{_ways(job)}"
    share = 100 * job.rows / job.total
    left = "" if job.seconds_left is None else f", {_duration(job.seconds_left)} left"
    speed = f", {job.rows_per_second:.0f} rows/s" if job.rows_per_second else ""
    return f"{again}{share:.1f} % ({job.rows} of {job.total} rows){speed}{left}{_ways(job)}"


def _ways(job: JobInCreation) -> str:
    """What is unusual in how it reads."""
    paused = ", paused: backfill_rate_limit is 0" if job.limit == 0 else ""
    limited = f", at most {job.limit} rows/s" if job.limit else ""
    return f"{limited}{paused}{', in epochs of its own' if job.is_set_aside else ''}"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
