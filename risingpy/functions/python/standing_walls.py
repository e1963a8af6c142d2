"""Tells in the server's log what keeps users' functions in their processes on this machine."""

from __future__ import annotations

import logging

from risingpy.errors import SqlError
from risingpy.functions.python.worker_process import walls

LOG = logging.getLogger(__name__)


def tell_of_walls() -> None:
    """Starts a worker, which calls use afterwards, and logs its walls; those that do not stand are warnings."""
    try:
        raised = walls()
    except (SqlError, OSError) as error:
        LOG.warning("functions in Python cannot run: %s", error)
        return
    standing = ", ".join(f"{wall.name} ({wall.how})" for wall in raised if wall.stands)
    LOG.info("functions in Python are confined by: %s", standing or "nothing")
    for wall in raised:
        if not wall.stands:
            LOG.warning("functions in Python are not confined by the wall of %s: %s", wall.name, wall.how)
