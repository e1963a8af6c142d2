"""`format.json` of a data directory and of a backup: which formats are in it, and which program wrote it last.

    {"written_by": "0.1.0", "formats": {"store": 4, "encoding": 5, "hash": 2, "vnodes": 256, "plans": 4, …}}

It is read before anything else is, so that a directory of a later version is refused before a part of it is changed.
It is written after everything in the directory has these formats: a directory without it, or with earlier versions in
it, is brought to the present ones when it is opened, and again after a crash in between.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from risingpy.errors import IoError
from risingpy.formats import OF_DIRECTORY, IncompatibleStore, unreadable, versions_written, way_out
from risingpy.storage.disk_failure import disk_failure
from risingpy.storage.durable_directory import write_durably
from risingpy.storage.fault_points import reach

NAME = "format.json"


class DamagedNote(IoError):
    """`format.json` is not what was written."""

    sqlstate = "XX001"


@dataclass(frozen=True, slots=True)
class FormatNote:
    """What `format.json` says."""

    written_by: str
    formats: Mapping[str, int]


def present_note() -> FormatNote:
    """What this program writes."""
    return FormatNote(version("risingpy"), versions_written(OF_DIRECTORY))


def read_note(directory: Path) -> FormatNote | None:
    """The directory's note; None if there is none, as in a new directory and in those of early versions.

    Raises DamagedNote, and IncompatibleStore if this program does not read what is in the directory.
    """
    path = directory / NAME
    try:
        stored = json.loads(path.read_text())
        note = FormatNote(str(stored["written_by"]), dict(stored["formats"]))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise disk_failure(f"cannot read {path}", error) from error
    except (ValueError, KeyError, TypeError) as error:
        hint = f"Delete {path}: each part of the directory has its own version, and the next start writes it anew."
        raise DamagedNote(f"{path} is damaged: {error}", hint=hint) from error
    told = unreadable(note.formats, OF_DIRECTORY)
    if told is not None:
        hint = way_out(note.formats, OF_DIRECTORY, note.written_by)
        raise IncompatibleStore(f"{directory}, written by RisingPy {note.written_by}, {told}", hint=hint)
    return note


def write_note(directory: Path) -> None:
    """Notes, durably, that the directory has the present formats. Raises IoError if the disk refuses."""
    note = present_note()
    if read_note(directory) == note:
        return
    try:
        reach("format.note")
        write_durably(directory / NAME, f"{json.dumps(asdict(note))}\n".encode())
    except OSError as error:
        raise disk_failure(f"cannot write {directory / NAME}", error) from error
