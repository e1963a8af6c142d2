"""`risingpy upgrade`: what a directory of an earlier version has, and how it gets the present formats.

Opening a directory does it (`opening.py`): its first transaction writes what an earlier version wrote in the present
form (`present_formats.py`), and then `format.json` notes that. So a crash leaves the directory as it was, or as it is
to be, and the next opening does what is missing. An upgrade opens the directory, and does no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from risingpy.connectors.secrets.vault import Vault, default_key_file
from risingpy.formats import LOG, META, OF_DIRECTORY, OF_SHARDS, PLANS, SECRETS, Format, unreadable, way_out
from risingpy.meta.recovery.opening import open_directory
from risingpy.plan.codec import version_of
from risingpy.storage.engine.meta_store import MetaStore
from risingpy.storage.engine.shard_store import ShardStore, shards_directory
from risingpy.storage.format_note import FormatNote, read_note
from risingpy.storage.log.segment import segment_paths, segment_version
from risingpy.storage.log.spill import spill_paths
from risingpy.storage.log.write_ahead_log import log_directory

_FIRST_META = 1
_SEGMENT_HEAD_BYTES = 8


@dataclass(frozen=True, slots=True)
class FoundFormat:
    """A format, and the versions of it that a directory has: none where nothing is stored in it yet."""

    format: Format
    versions: tuple[int, ...]

    @property
    def is_present(self) -> bool:
        """Whether nothing is to be written anew."""
        return all(version == self.format.written for version in self.versions)


@dataclass(frozen=True, slots=True)
class FoundFormats:
    """All formats of a directory. `refusal` says, with its hint, why this version cannot open it, if it cannot."""

    formats: tuple[FoundFormat, ...]
    written_by: str | None
    refusal: tuple[str, str] | None

    @property
    def is_present(self) -> bool:
        """Whether every format is the present one, and noted."""
        return self.written_by is not None and all(found.is_present for found in self.formats)


def found_formats(data_dir: Path) -> FoundFormats:
    """Looks at every part of a stopped server's directory, and changes nothing.

    Raises DataDirectoryInUse while a server uses it, IncompatibleStore if a later version has noted its formats.
    """
    note = read_note(data_dir)
    store = MetaStore(data_dir)
    try:
        versions = {**_of_shards(data_dir), PLANS.name: _of_plans(store), LOG.name: _of_log(data_dir), **_noted(note)}
    finally:
        store.close()
    found = tuple(FoundFormat(each, tuple(sorted(versions[each.name]))) for each in OF_DIRECTORY)
    return FoundFormats(found, None if note is None else note.written_by, _refusal(data_dir, found))


def upgrade(data_dir: Path, key_file: Path | None) -> None:
    """Brings a stopped server's directory to the present formats.

    Raises what `open_directory` raises; the directory is then as it was.
    """
    opened = open_directory(data_dir, 1, Vault(default_key_file(data_dir) if key_file is None else key_file))
    opened.store.close()
    opened.meta_store.close()


def _refusal(data_dir: Path, found: tuple[FoundFormat, ...]) -> tuple[str, str] | None:
    for each in found:
        for version in each.versions:
            has = {each.format.name: version}
            told = unreadable(has, [each.format])
            if told is not None:
                return f"{data_dir} {told}", way_out(has, [each.format])
    return None


def _noted(note: FormatNote | None) -> dict[str, set[int]]:
    """The formats of which only the note tells."""
    noted: Mapping[str, int] = {META.name: _FIRST_META, SECRETS.name: 1} if note is None else note.formats
    return {each.name: {noted[each.name]} for each in (META, SECRETS) if each.name in noted}


def _of_shards(data_dir: Path) -> dict[str, set[int]]:
    found: dict[str, set[int]] = {each.name: set() for each in OF_SHARDS}
    for directory in sorted(shards_directory(data_dir).glob("*-of-*")):
        shard, _, shards = directory.name.partition("-of-")
        if (directory / "data.mdb").exists():
            for name, version in ShardStore(directory, shard=int(shard), shards=int(shards)).versions().items():
                found.setdefault(name, set()).add(int(str(version)))
    return found


def _of_plans(store: MetaStore) -> set[int]:
    with store.transaction() as txn:
        versions = {version_of(value) for _, value in txn.scan()}
    return {version for version in versions if version is not None}


def _of_log(data_dir: Path) -> set[int]:
    versions = {segment_version(head) for head in _heads(data_dir)}
    return {version for version in versions if version is not None}


def _heads(data_dir: Path) -> Iterator[bytes]:
    directory = log_directory(data_dir)
    for path in (*segment_paths(directory).values(), *spill_paths(directory)):
        with path.open("rb") as file:
            yield file.read(_SEGMENT_HEAD_BYTES)
