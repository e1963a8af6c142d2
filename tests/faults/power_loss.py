"""Disks as a power failure may leave them: what was synced, and any part of what was not, torn at 512 bytes.

A file has everything up to its last sync (a write to a descriptor with O_DSYNC is synced at once). It has any subset
of its later writes, and perhaps only some sectors of one of them. Changes of names (create, rename, unlink) keep their
order: the disk has those up to the last sync of their directory, and a random number of the later ones.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from risingpy.executors.epoch.descriptor import run_directory
from tests.faults.harness import forked, reopened
from tests.faults.workload import Rows, rows_after, view_of

SECTOR = 512
_PER_CHILD = 50  # states that one forked process reopens
_MOST_WALKS = 1000  # over the record; some moments have few states


@dataclass(frozen=True, slots=True)
class Operation:
    """One record of the shim."""

    kind: str
    path: str
    offset: int
    data: bytes
    synced: bool


def read_record(record: Path) -> Iterator[Operation]:
    """The operations in order; notes have their text as path."""
    content = record.read_bytes()
    position = 0
    while position < len(content):
        end = content.index(b"\n", position)
        kind, path, offset, length, synced = content[position:end].decode().split("\t")
        data = content[end + 1 : end + 1 + int(length)]
        position = end + 1 + int(length)
        yield Operation(kind, path, int(offset), data, synced == "1")


@dataclass(slots=True)
class _File:
    durable: bytearray = field(default_factory=bytearray)
    pending: list[Operation] = field(default_factory=list)


@dataclass(slots=True)
class Disk:
    """What is safe, and what is only in the kernel's memory."""

    files: dict[str, _File] = field(default_factory=dict)  # by a name that no rename changes
    names: dict[str, str] = field(default_factory=dict)  # path → file, as synced
    current: dict[str, str] = field(default_factory=dict)  # as the running process sees them
    pending_names: list[Operation] = field(default_factory=list)
    made: int = 0

    def take(self, operation: Operation) -> None:
        match operation.kind:
            case "create":
                self.made += 1
                self.current[operation.path] = f"{self.made}"
                self.files[f"{self.made}"] = _File()
                renamed = Operation("create", operation.path, 0, f"{self.made}".encode(), False)
                self.pending_names.append(renamed)
            case "rename" | "unlink":
                _apply_name(self.current, operation)
                self.pending_names.append(operation)
            case "write" | "resize":
                file = self.files[self.current[operation.path]]
                if operation.synced:
                    _apply(file.durable, operation)
                else:
                    file.pending.append(operation)
            case "sync":
                self._sync(operation.path)

    def _sync(self, path: str) -> None:
        if path in self.current:
            file = self.files[self.current[path]]
            for pending in file.pending:
                _apply(file.durable, pending)
            file.pending.clear()
            return
        mine = [o for o in self.pending_names if path in (_parent(o.path), _parent(_target(o)))]
        for operation in mine:
            _apply_name(self.names, operation)
        self.pending_names = [o for o in self.pending_names if o not in mine]

    def state(self, chance: random.Random) -> dict[str, bytes]:
        """One way in which the disk may look after the power has gone."""
        names = dict(self.names)
        for operation in self.pending_names[: chance.randint(0, len(self.pending_names))]:
            _apply_name(names, operation)
        return {path: self._content(self.files[file], chance) for path, file in names.items()}

    @staticmethod
    def _content(file: _File, chance: random.Random) -> bytes:
        if not file.pending:
            return bytes(file.durable)
        content = bytearray(file.durable)
        likelihood = chance.choice((0.0, 0.2, 0.5, 0.8, 1.0))
        kept = [o for o in file.pending if chance.random() < likelihood]
        torn = chance.choice(kept) if kept and chance.random() < 0.5 else None
        for operation in kept:
            if operation is torn and operation.kind == "write":
                for start in range(0, len(operation.data), SECTOR):
                    if chance.random() < 0.5:
                        piece = operation.data[start : start + SECTOR]
                        _apply(content, Operation("write", operation.path, operation.offset + start, piece, False))
            else:
                _apply(content, operation)
        return bytes(content)


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _target(operation: Operation) -> str:
    return operation.data.decode().split("\n")[1] if operation.kind == "rename" else operation.path


def _apply_name(names: dict[str, str], operation: Operation) -> None:
    match operation.kind:
        case "create":
            names[operation.path] = operation.data.decode()
        case "rename":  # of a file, or of a directory with all that is in it
            moved = [path for path in names if path == operation.path or path.startswith(f"{operation.path}/")]
            for path in moved:
                names[_target(operation) + path[len(operation.path) :]] = names.pop(path)
        case "unlink":
            names.pop(operation.path, None)


def _apply(content: bytearray, operation: Operation) -> None:
    end = operation.offset + len(operation.data)
    if operation.kind == "resize":
        del content[operation.offset :]
        content.extend(bytes(operation.offset - len(content)))
        return
    content.extend(bytes(max(0, end - len(content))))
    content[operation.offset : end] = operation.data


def explore(record: Path, directory: Path, scratch: Path, seed: int, states: int) -> dict[str, Any]:
    """Reopens `states` different power-loss states, drawn at random all over the record; tells what was wrong."""
    operations = list(read_record(record))
    drawn = _different(operations, directory, random.Random(seed), states)
    violations: list[str] = []
    reopened_states = 0
    while batch := list(islice(drawn, _PER_CHILD)):
        violations += forked(partial(_examined, batch, directory, scratch))
        reopened_states += len(batch)
    return {"operations": len(operations), "states": reopened_states, "violations": violations}


def _different(
    operations: list[Operation], directory: Path, chance: random.Random, states: int
) -> Iterator[tuple[int, int, dict[str, bytes]]]:
    """(moment, statements acknowledged, disk): no two alike in what a start depends on, in walks over the record."""
    seen: set[int] = set()
    for _ in range(_MOST_WALKS):
        moments = Counter(chance.randrange(1, len(operations) + 1) for _ in range(states - len(seen)))
        disk, acknowledged = Disk(), 0
        for moment, operation in enumerate(operations, 1):
            if operation.kind == "note":
                acknowledged = int(operation.path)
            else:
                disk.take(operation)
            for _ in range(moments[moment]):
                files = disk.state(chance)
                mark = hash((acknowledged, frozenset(_that_matters(files, directory))))
                if mark not in seen:
                    seen.add(mark)
                    yield moment, acknowledged, files


def _that_matters(files: dict[str, bytes], directory: Path) -> Iterator[tuple[str, bytes]]:
    """All but what every start writes anew: this must not hurt, whatever it is, and counts for nothing."""
    anew = str(run_directory(directory / "data"))
    return ((path, content) for path, content in files.items() if not path.startswith(anew))


def _examined(batch: list[tuple[int, int, dict[str, bytes]]], directory: Path, scratch: Path) -> list[str]:
    violations: list[str] = []
    for number, (moment, acknowledged, files) in enumerate(batch):
        place = scratch / str(number)
        for path, content in files.items():
            target = place / Path(path).relative_to(directory)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        place.mkdir(parents=True, exist_ok=True)
        try:
            wrong = _wrong(*reopened(place), acknowledged)
        except Exception as error:
            wrong = f"{type(error).__name__}: {error}"
        if wrong is not None:
            violations.append(f"operation {moment}: {wrong}")
        shutil.rmtree(place)
    return violations


def _wrong(table: Rows | None, view: Rows | None, problems: list[str], acknowledged: int) -> str | None:
    if problems:
        return f"check: {problems}"
    if view is not None and view != view_of(table or []):
        return f"the view is {view}, its query gives {view_of(table or [])}"
    if (table, view is not None) not in (rows_after(acknowledged), rows_after(acknowledged + 1)):
        return f"{acknowledged} statements were acknowledged, and the table is {table}, view there: {view is not None}"
    return None
