"""Limits how deeply an expression may nest: functions on trees recurse, with several frames per level."""

from __future__ import annotations

import sys

MAX_NESTING = 1_100  # levels; a chain of + or || nests to the left. More is refused (54001)
MAX_TYPE_NESTING = 60  # levels of an array or a row: Arrow transfers no more than 64
MAX_TERMS = 3_000  # of one AND or OR, branches of one CASE: one takes a second to plan, and time grows superlinearly
MAX_CONDITIONS = 10_000  # words AND, OR and WHEN in one statement: the parser takes 0.1 ms for each
# Frames of Python. Few of them are also frames of C, of which a thread's 8 MB hold some 10,000.
_RECURSION_LIMIT = 60_000


def allow_deep_nesting() -> None:
    """Lets this process recurse as deeply as `MAX_NESTING` needs; called where a process begins."""
    sys.setrecursionlimit(max(_RECURSION_LIMIT, sys.getrecursionlimit()))
