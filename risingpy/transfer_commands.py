"""`risingpy export` and `risingpy import`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from risingpy.command_line import data_directory
from risingpy.config import DEFAULT_PORT, ENGINES, MAX_PARALLELISM, default_parallelism


@click.command("export")
@click.option("--host", default="localhost", show_default=True)
@click.option("--port", default=DEFAULT_PORT, show_default=True)
@click.option("--dbname", default="dev", show_default=True)
@click.option("--user", default="root", show_default=True)
@click.argument("directory", type=click.Path(path_type=Path))
def export_command(host: str, port: int, dbname: str, user: str, directory: Path) -> None:
    """Write all databases of a running server to a new DIRECTORY: statements as SQL, rows of tables as Parquet.

    Everything is as it was at one epoch. Rows of views are not written, since an import computes them. The values of
    secrets are not written either. USER has to be a superuser.
    """
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415 - each command loads what it needs

    from risingpy.client.transfer import export_to  # noqa: PLC0415
    from risingpy.errors import SqlError  # noqa: PLC0415

    try:
        export_to(directory, make_conninfo(host=host, port=port, dbname=dbname, user=user), click.echo)
    except SqlError as error:
        _fail(error)


@click.command("import")
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where to put it: a new or empty directory.")
@click.option("--parallelism", type=click.IntRange(1, MAX_PARALLELISM), help="Shards of the new directory.")
@click.option("--file-roots", help="Directories for files of sources and sinks, as for `serve`.")
@click.option("--engine", type=click.Choice(ENGINES), default="spark", hidden=True)
@click.argument("directory", type=click.Path(path_type=Path))
def import_command(
    data_dir: Path | None, parallelism: int | None, file_roots: str | None, engine: str, directory: Path
) -> None:
    """Make a new data directory of the export in DIRECTORY. Then start the server on it.

    Tables are loaded before views are made; sources and sinks begin anew. If anything fails, there is no new directory.
    """
    from risingpy.client.transfer import import_into, read_export  # noqa: PLC0415
    from risingpy.errors import SqlError  # noqa: PLC0415

    target = data_directory(data_dir)
    shards = default_parallelism() if parallelism is None else parallelism
    flags = () if file_roots is None else ("--file-roots", file_roots)
    try:
        export = read_export(directory)
        import_into(export, target, parallelism=shards, engine=engine, flags=flags, say=click.echo)
    except SqlError as error:
        _fail(error)


def _fail(error: Exception) -> None:
    told = getattr(error, "told", str(error))
    click.echo(f"ERROR: {told}", err=True)
    sys.exit(1)
