"""`risingpy upgrade`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import click

from risingpy.command_line import data_directory, refusals
from risingpy.config import ConfigError, load_serve_config

if TYPE_CHECKING:
    from risingpy.meta.recovery.upgrade import FoundFormats


@click.command("upgrade")
@click.option("--check", "only_check", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--secret-key-file", type=click.Path(path_type=Path), help="File with the secrets' key [DATA_DIR.key].")
@click.argument("data_dir", type=click.Path(path_type=Path), required=False)
def upgrade_command(data_dir: Path | None, only_check: bool, secret_key_file: Path | None) -> None:
    """Bring a stopped server's DATA_DIR [risingpy-data] from an earlier version's formats to the present ones.

    Killed at any moment, it leaves the earlier formats or the present ones, whole. A server does the same when it
    starts. Exit code 1 if this version cannot read the directory.
    """
    from risingpy.meta.recovery.check import require_data_directory  # noqa: PLC0415 - each command loads what it needs
    from risingpy.meta.recovery.upgrade import found_formats, upgrade  # noqa: PLC0415

    directory = data_directory(data_dir)
    with refusals():
        require_data_directory(directory)
        found = found_formats(directory)
        for line in _described(directory, found):
            click.echo(line)
        if found.refusal is not None:
            click.echo(f"Error: {found.refusal[0]}\n  {found.refusal[1]}", err=True)
            sys.exit(1)
        if found.is_present:
            click.echo("Nothing to do: these are the present formats.")
        elif only_check:
            click.echo("To do: risingpy upgrade, or start the server. Earlier versions may not open it then any more.")
        else:
            upgrade(directory, _key_file(secret_key_file))
            click.echo(f"{directory} has the formats of RisingPy {version('risingpy')}.")


def _described(directory: Path, found: FoundFormats) -> Iterator[str]:
    """A line for each format, with the versions that there are, and the one that will be."""
    by = "a version that noted no formats" if found.written_by is None else f"RisingPy {found.written_by}"
    yield f"{directory}, last opened by {by}:"
    for each in found.formats:
        has = ", ".join(map(str, each.versions)) or "none"
        becomes = has if each.is_present else f"{has} -> {each.format.written}"
        yield f"  {each.format.name:<9} {becomes:<12} {each.format.covers}"


def _key_file(given: Path | None) -> Path | None:
    """The key file that `serve` would take."""
    try:
        return load_serve_config({"secret_key_file": given}, os.environ).secret_key_file
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
