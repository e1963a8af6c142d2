"""What the commands on a stopped server's directory share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from risingpy.config import ConfigError, load_serve_config


def data_directory(given: Path | None) -> Path:
    """The data directory that `serve` would take."""
    try:
        return load_serve_config({"data_dir": given}, os.environ).data_dir.absolute()
    except ConfigError as error:
        raise click.UsageError(str(error)) from error


@contextmanager
def refusals() -> Iterator[None]:
    """Turns what the storage refuses into one line."""
    from risingpy.errors import SqlError  # noqa: PLC0415 - each command loads what it needs
    from risingpy.storage.engine.meta_store import DataDirectoryInUse  # noqa: PLC0415

    try:
        yield
    except DataDirectoryInUse as error:
        raise click.ClickException(str(error)) from error
    except SqlError as error:
        raise click.ClickException(error.told) from error
