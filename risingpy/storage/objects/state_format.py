"""format.json: whose objects they are, and in which formats. It is put first and never changes.

    {"cluster": "6f1c…", "state": 1, "encoding": 1, "hash": 1, "vnodes": 256}

`state` is the version of the layout of names and of the journal, the rest as in every shard (`formats.py`).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from uuid import uuid4

from risingpy.errors import IoError
from risingpy.formats import ENCODING, HASH, OF_SHARED_STATE, STATE, VNODES, unreadable, way_out
from risingpy.storage.objects.object_store import ObjectExists, ObjectMissing, ObjectStore

NAME = "format.json"


class IncompatibleState(IoError):
    """The objects are another version's, another database's or no database's: the operator decides."""


@dataclass(frozen=True, slots=True)
class StateFormat:
    """Whose objects, and in which formats."""

    cluster: str
    state: int = STATE.written
    encoding: int = ENCODING.written
    hash: int = HASH.written
    vnodes: int = VNODES.written


def read_format(objects: ObjectStore) -> StateFormat | None:
    """That of the objects, None if there are none. Raises IncompatibleState if this version cannot use them."""
    try:
        stored = dict(json.loads(objects.get(NAME)))  # once: a place that does not exist should be told at once
        cluster = str(stored.pop("cluster"))
    except ObjectMissing:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise IncompatibleState(f"{objects.uri}/{NAME} is damaged: {error}") from error
    told = unreadable(stored, OF_SHARED_STATE)
    if told is not None:
        raise IncompatibleState(f"{objects.uri} {told}", hint=way_out(stored, OF_SHARED_STATE))
    return StateFormat(cluster, **stored)


def read_or_make_format(objects: ObjectStore) -> StateFormat:
    """That of the objects; where there are none, a new database's. Of several that make it at once, one wins.

    Raises IncompatibleState, or StateUnavailable if the place cannot be written.
    """
    found = read_format(objects)
    if found is not None:
        return found
    foreign = next(iter(objects.list("")), None)
    if foreign is not None and read_format(objects) is None:
        raise IncompatibleState(
            f"{objects.uri} is not empty, and no database: it has {foreign.name} and no {NAME}",
            hint="Name an empty place for a new database.",
        )
    new = StateFormat(str(uuid4()))
    try:
        objects.put(NAME, json.dumps(asdict(new)).encode())
    except ObjectExists:  # somebody else was faster, or an earlier try of ours was
        found = read_format(objects)
        assert found is not None
        return found
    return new
