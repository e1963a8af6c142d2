"""What driver and workers must have in common, because they exchange Python objects and read each other's rows."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version

PACKAGES = ("risingpy", "pyarrow", "duckdb", "numpy", "lmdb", "pyspark")

Platform = tuple[tuple[str, str], ...]


class PlatformDiffers(Exception):
    """A worker's Python environment is not the driver's: the operator installs the same one there."""


def this_platform() -> Platform:
    """The versions of Python and of the packages whose objects travel."""
    return (("python", ".".join(map(str, sys.version_info[:3]))), *((name, _version(name)) for name in PACKAGES))


def refuse_other_platform(driver: Platform, worker: Platform, host: str) -> None:
    """Raises PlatformDiffers if they are not the same."""
    here, there = dict(worker), dict(driver)
    differing = [name for name in {**there, **here} if here.get(name) != there.get(name)]
    if differing:
        pairs = ", ".join(f"{name} {here.get(name, 'missing')} instead of {there.get(name)}" for name in differing)
        raise PlatformDiffers(f"the worker on {host} has {pairs}: install the server's versions there")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
