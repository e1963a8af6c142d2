"""Pins: a version of a database in shared storage that is kept, under a name, as a backup of it.

A pin copies nothing. Anybody who can write to the storage can make one, whether a server runs or not.
"""

from __future__ import annotations

import re
from pathlib import Path

from risingpy.errors import SqlError
from risingpy.executors.epoch.descriptor import run_directory
from risingpy.meta.shared_state.renewal import renew
from risingpy.storage.durable_directory import make_private
from risingpy.storage.engine.meta_store import MetaStore
from risingpy.storage.journal.reading import read_version
from risingpy.storage.journal.vacuum import pin, pinned_slot, unpin
from risingpy.storage.journal.version import Version
from risingpy.storage.objects.object_store import ObjectStore
from risingpy.storage.objects.state_format import read_format
from risingpy.storage.objects.uri import open_objects
from risingpy.storage.tuning import DEFAULT_TUNING

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def pin_state(uri: str, name: str) -> Version:
    """Keeps the newest version of a database under a name. SqlError if there is such a pin, or no database."""
    objects = _opened(uri, name)
    version = read_version(objects)
    pin(objects, version, name)
    return version


def drop_pin(uri: str, name: str) -> None:
    """Keeps what a pin names no longer: a later vacuum deletes it. SqlError if there is no such pin."""
    objects = _opened(uri, name)
    pinned_slot(objects, name)
    unpin(objects, name)


def restore_pin(uri: str, name: str, data_dir: Path) -> Version:
    """Makes a data directory, with a database of its own, of what a pin keeps. SqlError if it is not empty."""
    objects = _opened(uri, name)
    version = read_version(objects, up_to=pinned_slot(objects, name))
    if data_dir.exists() and any(data_dir.iterdir()):
        raise SqlError(f"{data_dir} exists and is not empty", sqlstate="58P02")
    make_private(data_dir)
    store = MetaStore(data_dir)
    try:
        run_directory(data_dir).mkdir(exist_ok=True)
        renew(data_dir, store, objects, version, DEFAULT_TUNING)
    finally:
        store.close()
    return version


def _opened(uri: str, name: str) -> ObjectStore:
    if _NAME.fullmatch(name) is None:
        hint = "A name has letters, digits, dots, dashes and underscores."
        raise SqlError(f'"{name}" is no name for a pin', sqlstate="42602", hint=hint)
    objects = open_objects(uri)
    if read_format(objects) is None:
        raise SqlError(f"{uri} has no database", sqlstate="58P01")
    return objects
