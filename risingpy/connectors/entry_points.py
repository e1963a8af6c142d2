"""Connectors of other packages: a package declares an entry point, its name and its class, in one of three groups."""

from __future__ import annotations

from enum import StrEnum
from importlib.metadata import entry_points

from risingpy.connectors.late_imports import imported
from risingpy.errors import FeatureNotSupported


class EntryPointGroup(StrEnum):
    """What the classes implement: `SeekableConnector`, `PushedConnector`, `SinkTarget`."""

    SEEKABLE = "risingpy.connectors"
    PUSHED = "risingpy.pushed_connectors"
    SINKS = "risingpy.sinks"


def names_of(group: EntryPointGroup) -> list[str]:
    """The names that installed packages declare, in order."""
    return sorted(found.name for found in entry_points(group=group))


def class_of(group: EntryPointGroup, name: str) -> object | None:
    """The class of that name; None if no package declares it. Raises FeatureNotSupported if it cannot be imported."""
    for found in entry_points(group=group, name=name):
        try:
            imported(found.module)
            made: object = found.load()
            return made
        except (ImportError, AttributeError) as error:
            package = "" if found.dist is None else f" of the package {found.dist.name}"
            raise FeatureNotSupported(f"the {name} connector{package} cannot be imported: {error}") from error
    return None
