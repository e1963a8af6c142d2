"""Which files of the server's machine sources may read, and sinks write: those below directories of the operator's.

`--file-roots` names them; without it, none. The server's processes have them in their environment, since tasks of other
processes open files, too. Symbolic links are resolved first: one that leads out is outside.
"""

from __future__ import annotations

import glob
import os
from pathlib import Path

from risingpy.errors import InsufficientPrivilege

ENVIRONMENT_NAME = "RISINGPY_FILE_ROOTS"


def allowed(path: str) -> Path:
    """The path without links, if it is below one of the directories; what does not exist counts by where it would be.

    Raises InsufficientPrivilege.
    """
    found = Path(os.path.realpath(path))
    if any(found.is_relative_to(root) for root in _roots()):
        return found
    shown = ", ".join(map(str, _roots()))
    hint = f"The server allows files below {shown}." if shown else "The server allows none: see --file-roots."
    raise InsufficientPrivilege(f'"{path}" is outside of the directories for files of sources and sinks', hint=hint)


def check_pattern(pattern: str) -> None:
    """Raises InsufficientPrivilege if the part of a pattern before its first wildcard is outside."""
    parts = Path(pattern).parts
    plain = next((k for k, part in enumerate(parts) if glob.has_magic(part)), len(parts))
    allowed(str(Path(*parts[:plain])) if plain else ".")


def is_local(location: str) -> bool:
    """Whether the address of a lake or a schema is a path of this machine."""
    return "://" not in location or location.lower().startswith("file:")


def _roots() -> list[Path]:
    named = os.environ.get(ENVIRONMENT_NAME, "").split(os.pathsep)
    return [Path(os.path.realpath(each)) for each in named if each]
