"""`match_pattern`: which files a source reads, as RisingWave's glob patterns.

`*` and `?` match any characters, `/` as well; `[ab]` and `[!ab]` one of some; `**/` any directories, or none.
"""

from __future__ import annotations

import fnmatch
import re

from risingpy.errors import InvalidParameterValue


def compiled(pattern: str) -> re.Pattern[str]:
    """A whole name matches, or not. Raises InvalidParameterValue for a pattern that leads out of the storage."""
    if pattern.startswith("/") or ".." in pattern.split("/"):
        hint = "It is relative to the directory, or to the bucket."
        raise InvalidParameterValue(f'invalid match_pattern "{pattern}"', hint=hint)
    parts = [re.sub(r"^\(\?s:(.*)\)\\[zZ]$", r"\1", fnmatch.translate(part)) for part in pattern.split("**/")]
    return re.compile("(?s:" + "(?:.*/)?".join(parts) + ")")


def literal_prefix(pattern: str) -> str:
    """What the names of all matching files begin with."""
    return re.split(r"[*?\[]", pattern, maxsplit=1)[0]
