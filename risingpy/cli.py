"""The command `risingpy`: start the database, run SQL against it, run sqllogictest suites.

Exit codes: 0 for success, 1 for what failed (a statement, a suite, the server), 2 for a wrong command line.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from risingpy.command_line import data_directory, refusals
from risingpy.config import (
    DEFAULT_CONNECTIONS,
    DEFAULT_PORT,
    ENGINES,
    LOG_FORMATS,
    LOG_LEVELS,
    LOGGED_STATEMENTS,
    MAX_PARALLELISM,
    TASK_TRIES,
    TLS_VERSIONS,
    ConfigError,
    default_parallelism,
    default_queries,
    load_serve_config,
)
from risingpy.nesting import allow_deep_nesting
from risingpy.sqllogictest.modes import Mode
from risingpy.transfer_commands import export_command, import_command
from risingpy.upgrade_command import upgrade_command

DEFAULT_SLT_JOBS = 4  # files wait for the server's epochs most of the time


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="risingpy")
def main() -> None:
    """RisingPy, a streaming database: SQL over the Postgres protocol, views that stay fresh."""
    allow_deep_nesting()


main.add_command(export_command)
main.add_command(import_command)
main.add_command(upgrade_command)


@main.command()
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where the database lives [risingpy-data].")
@click.option("--state", help="Where the database is, if not in the data directory: file:///…, s3://…, gs://…, az://…")
@click.option("--follow", help="As --state, of a database that another server leads: this one only reads it.")
@click.option("--host", help="Address to listen on [127.0.0.1].")
@click.option("--port", type=int, help=f"Port to listen on [{DEFAULT_PORT}].")
@click.option("--master", help=f"Spark master; spark://HOST:PORT needs --state [local[PARALLELISM,{TASK_TRIES}]].")
@click.option("--parallelism", type=int, help=f"Shards of the state, and tasks of a stage [{default_parallelism()}].")
@click.option("--memory", help="Memory that the server may take, such as 4GB [the machine's].")
@click.option("--max-connections", type=int, help=f"Clients at once [{DEFAULT_CONNECTIONS}].")
@click.option("--max-concurrent-queries", type=int, help=f"Queries that compute at a time [{default_queries()}].")
@click.option("--webhook-port", type=int, help="Port for the HTTP requests of webhooks [none].")
@click.option("--http-port", type=int, help="Port for the console, /metrics, /healthz and /readyz [none].")
@click.option("--http-host", help="Address for --http-port [127.0.0.1].")
@click.option("--log-level", type=click.Choice(LOG_LEVELS), help="How much to log [info].")
@click.option("--log-format", type=click.Choice(LOG_FORMATS), help="How lines of the log look [text].")
@click.option("--log-file", type=click.Path(path_type=Path), help="File for the log, rotated [standard error].")
@click.option("--log-min-duration-statement", type=int, help="Log statements of so many milliseconds [-1: none].")
@click.option("--secret-key-file", type=click.Path(path_type=Path), help="File with the secrets' key [DATA_DIR.key].")
@click.option("--file-roots", help="Directories for files of sources and sinks, with : between them [none].")
@click.option("--log-connections", is_flag=True, default=None, help="Log who connects.")
@click.option("--log-disconnections", is_flag=True, default=None, help="Log who disconnects, and after how long.")
@click.option("--log-statement", type=click.Choice(LOGGED_STATEMENTS), help="Which statements to log [none].")
@click.option("--hba", multiple=True, help="A line of rules, in pg_hba.conf's words; may be given several times.")
@click.option("--insecure", is_flag=True, default=None, help="Listen to the network without asking for passwords.")
@click.option("--superuser-password-file", type=click.Path(path_type=Path), help="File with the password of root.")
@click.option("--authentication-timeout", type=int, help="Seconds to log in [60].")
@click.option("--tls-cert", type=click.Path(path_type=Path), help="Certificate, PEM, with those between it and a CA.")
@click.option("--tls-key", type=click.Path(path_type=Path), help="The certificate's key, which nobody else may read.")
@click.option("--tls-ca", type=click.Path(path_type=Path), help="CA of clients' certificates, PEM.")
@click.option("--tls-min-version", type=click.Choice(TLS_VERSIONS), help="Oldest version of TLS [1.2].")
@click.option("--unix-socket-directory", help="Where the Unix socket is; none: nowhere [/tmp].")
@click.option("--engine", type=click.Choice(ENGINES), hidden=True, help="What runs the epochs.")
@click.option("--config", type=click.Path(path_type=Path), help="Settings file [risingpy.toml, if there is one].")
def serve(config: Path | None, **flags: object) -> None:
    """Start the database.

    Every option can also be set as RISINGPY_DATA_DIR, RISINGPY_PORT, … in the environment, or as data_dir, port, …
    in the settings file. The command line wins over the environment, and that over the file.
    """
    started = time.monotonic()
    given = {name: value for name, value in flags.items() if value != ()}
    try:
        settings = load_serve_config(given, os.environ, config)
    except ConfigError as error:
        raise click.UsageError(str(error)) from error
    # Imported late, as everything heavy is: `risingpy --help` must not load Spark.
    from risingpy.server_imports import imported_server

    server = imported_server()
    sys.exit(server.serve(settings, started=started, again=lambda: load_serve_config(given, os.environ, config)))


@main.command()
@click.option("-c", "--command", "commands", multiple=True, help="Statements to run; may be given several times.")
@click.option("--host", default="localhost", show_default=True)
@click.option("--port", default=DEFAULT_PORT, show_default=True)
@click.option("--dbname", default="dev", show_default=True)
@click.option("--user", default="root", show_default=True)
@click.argument("files", nargs=-1, type=click.File("r", encoding="utf-8"))
def sql(commands: tuple[str, ...], host: str, port: int, dbname: str, user: str, files: tuple[click.File, ...]) -> None:
    """Run statements, files of them (- for standard input), in one session, and print the results.

    At a terminal, without any: starts psql, or pgcli where there is no psql.
    """
    texts = [*commands, *(file.read() for file in files)]  # type: ignore[attr-defined]
    if not texts and sys.stdin.isatty():
        from risingpy.shell_command import start_shell

        start_shell(host, port, dbname, user)
    if not texts:
        raise click.UsageError("give a statement with -c, or a file (- for standard input)")
    _run_sql(_conninfo(host, port, dbname, user), texts)


@main.command()
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where the database lives [risingpy-data].")
def check(data_dir: Path | None) -> None:
    """Read all that a stopped server's data directory holds, and tell what is damaged.

    Every row is decoded, and compared with the digest of what was written. Exit code 1 if anything is wrong.
    """
    from risingpy.meta.recovery.check import check as check_directory

    with refusals():
        report = check_directory(data_directory(data_dir))
    for problem in report.problems:
        click.echo(problem)
    read = f"{report.rows:,} rows of {report.tables} tables, {report.log_records} pending log records"
    click.echo(f"{read}: {len(report.problems) or 'no'} problem{'s' if len(report.problems) != 1 else ''}")
    sys.exit(1 if report.problems else 0)


@main.command()
@click.option("--host", default="localhost", show_default=True)
@click.option("--port", default=DEFAULT_PORT, show_default=True)
@click.option("--dbname", default="dev", show_default=True)
@click.option("--user", default="root", show_default=True)
@click.option("--no-snapshot", is_flag=True, help="Show changes only, and not the rows of now.")
@click.argument("name")
def tail(host: str, port: int, dbname: str, user: str, no_snapshot: bool, name: str) -> None:
    """Show the rows of the table or view NAME, and then its changes as they come, until Ctrl-C.

    A line begins with the time and a sign: + new, - gone, < and > the old and the new row of an update.
    """
    import psycopg

    from risingpy.sql_command import error_lines
    from risingpy.tail_command import run_tail

    try:
        run_tail(_conninfo(host, port, dbname, user), name, sys.stdout, snapshot=not no_snapshot)
    except KeyboardInterrupt:
        return
    except psycopg.Error as error:
        for line in error_lines(error):
            click.echo(line, err=True)
        sys.exit(1)


@main.command()
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where the database lives [risingpy-data].")
@click.option("--parallelism", type=click.IntRange(1, MAX_PARALLELISM), required=True, help="Shards to have after it.")
def rescale(data_dir: Path | None, parallelism: int) -> None:
    """Move a stopped server's state to another number of shards.

    Killed at any moment, it leaves the old number or the new one, whole. Needs room for a second copy of the state.
    """
    from risingpy.meta.recovery.check import require_data_directory
    from risingpy.meta.recovery.rescale import rescale as rescale_directory

    directory = data_directory(data_dir)
    with refusals():
        require_data_directory(directory)
        rescale_directory(directory, parallelism, click.echo)


@main.command()
@click.option("--host", default="localhost", show_default=True)
@click.option("--port", default=DEFAULT_PORT, show_default=True)
@click.option("--dbname", default="dev", show_default=True)
@click.option("--user", default="root", show_default=True)
@click.argument("directory", type=click.Path(path_type=Path))
def backup(host: str, port: int, dbname: str, user: str, directory: Path) -> None:
    """Copy a running server's database, as it is at one epoch, to a new DIRECTORY of the server's machine."""
    from psycopg import sql as composed

    statement = composed.SQL("BACKUP TO {}").format(composed.Literal(str(directory.absolute()))).as_string()
    _run_sql(_conninfo(host, port, dbname, user), [statement])


@main.command()
@click.option("--data-dir", type=click.Path(path_type=Path), help="Where to put it: a new or empty directory.")
@click.option("--state", help="Shared storage, of which --pin names a version.")
@click.option("--pin", "name", help="The pin.")
@click.argument("directory", type=click.Path(path_type=Path), required=False)
def restore(data_dir: Path | None, state: str | None, name: str | None, directory: Path | None) -> None:
    """Make a data directory of the backup in DIRECTORY, or of a pin, and check it. Then start the server on it."""
    from risingpy.meta.recovery.backup import restore as restore_directory
    from risingpy.meta.recovery.check import check as check_directory
    from risingpy.meta.shared_state.pins import restore_pin

    target = data_directory(data_dir)
    with refusals():
        if directory is not None and state is name is None:
            epoch = restore_directory(directory, target)
        elif directory is None and state is not None and name is not None:
            epoch = restore_pin(state, name, target).epoch
        else:
            raise click.UsageError("name the backup's directory, or --state and --pin")
        problems = check_directory(target).problems
    for problem in problems:
        click.echo(problem)
    click.echo(f"{target} is as the database was at epoch {epoch}: {len(problems) or 'no'} problems")
    sys.exit(1 if problems else 0)


@main.command()
@click.option("--state", required=True, help="Where the database is: file:///…, s3://…, gs://…, az://…")
@click.option("--drop", is_flag=True, help="Keep the version of that name no longer.")
@click.argument("name")
def pin(state: str, drop: bool, name: str) -> None:
    """Keep the newest version of a database in shared storage as a backup, called NAME. Nothing is copied."""
    from risingpy.meta.shared_state.pins import drop_pin, pin_state

    with refusals():
        if drop:
            drop_pin(state, name)
        else:
            click.echo(f"{name} keeps epoch {pin_state(state, name).epoch} of {state}")


@main.group(invoke_without_command=True)
@click.option("--host", default="localhost", show_default=True)
@click.option("--port", type=int, help="A running server's port; without it the demo starts a server of its own.")
@click.pass_context
def demo(context: click.Context, host: str, port: int | None) -> None:
    """Load 336,776 flights while five views follow, change a third, and compare every view with DuckDB's answer.

    Needs the extra `demo`: pip install 'risingpy[demo]'. Exit code 1 if a view is wrong.
    """
    import psycopg

    if context.invoked_subcommand is not None:
        if port is not None:
            raise click.UsageError(f"demo {context.invoked_subcommand} starts a server of its own, and takes no --port")
        return
    from risingpy.demo import run_demo, run_demo_on_own_server

    try:
        good = run_demo_on_own_server(click.echo) if port is None else run_demo(host, port, click.echo)
    except psycopg.OperationalError as error:  # no server is there, or it went away
        raise click.ClickException(str(error)) from error
    sys.exit(0 if good else 1)


@demo.command()
@click.option("--events", type=click.IntRange(50, 2_000_000), default=400_000, show_default=True)
@click.option("--seconds", type=click.FloatRange(1, 3600), default=20.0, show_default=True, help="How long they come.")
def pipeline(events: int, seconds: float) -> None:
    """Send Nexmark's events through Kafka into views, and the views' changes to Kafka, with lag and rates as they flow.

    Starts a broker and a server. At the end what came out of Kafka is compared with the views, and the views with
    DuckDB's answer. Needs the extra `pipeline`: pip install 'risingpy[pipeline]'. Exit code 1 if anything differs.
    """
    from risingpy.demo import missing_packages, run_pipeline

    if missing := missing_packages():
        raise click.ClickException(f"{' and '.join(missing)} not installed: pip install 'risingpy[pipeline]'")
    try:
        good = run_pipeline(events, seconds, click.echo)
    except RuntimeError as error:  # the broker or the server did not start
        raise click.ClickException(str(error)) from error
    sys.exit(0 if good else 1)


@main.command()
@click.option(
    "--mode",
    "modes",
    type=click.Choice([mode.value for mode in Mode]),
    multiple=True,
    default=["batch"],
    show_default=True,
    help="Who answers: SELECT, a view made before the data, one made after, PostgreSQL. May be given several times.",
)
@click.option("--host", default="localhost", show_default=True)
@click.option("--port", default=DEFAULT_PORT, show_default=True)
@click.option("--dbname", default="dev", show_default=True)
@click.option("--user", default="root", show_default=True)
@click.option("--jobs", type=click.IntRange(1), default=DEFAULT_SLT_JOBS, show_default=True, help="Files at a time.")
@click.option("--timeout", default=120.0, show_default=True, help="Seconds that one statement may take.")
@click.option("--junit", type=click.Path(path_type=Path), help="Write the results as JUnit XML.")
@click.option("--update", is_flag=True, help="Write the rows that come into the files.")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
def slt(
    modes: tuple[str, ...],
    host: str,
    port: int,
    dbname: str,
    user: str,
    jobs: int,
    timeout: float,
    junit: Path | None,
    update: bool,
    paths: tuple[Path, ...],
) -> None:
    """Run sqllogictest suites: files, directories, or all that come with RisingPy.

    Mode oracle starts a PostgreSQL of its own and needs no server.
    """
    from risingpy.sqllogictest.client import connect_with_psycopg
    from risingpy.sqllogictest.jobs import SUITES, find_files, run_files
    from risingpy.sqllogictest.junit import write_junit
    from risingpy.sqllogictest.oracle import OracleUnavailable, running_postgresql
    from risingpy.sqllogictest.report import failure_lines, file_line, summary_line
    from risingpy.sqllogictest.results import FileResult

    try:
        files = find_files(paths or [SUITES])
    except FileNotFoundError as error:
        raise click.UsageError(str(error)) from error
    results: list[FileResult] = []
    total = len(files) * len(modes)

    def show(result: FileResult) -> None:
        results.append(result)
        click.echo(file_line(result, len(results), total))
        for line in failure_lines(result):
            click.echo(line)

    try:
        for mode in map(Mode, dict.fromkeys(modes)):
            server = nullcontext(_conninfo(host, port, dbname, user))
            with running_postgresql() if mode is Mode.ORACLE else server as conninfo:
                connect = connect_with_psycopg(conninfo, timeout=timeout)
                run_files(files, connect, mode, jobs=jobs, update=update, on_result=show)
    except OracleUnavailable as error:
        raise click.ClickException(str(error)) from error
    click.echo(summary_line(results))
    if junit is not None:
        write_junit(results, junit)
    sys.exit(0 if all(result.passed for result in results) else 1)


def _run_sql(conninfo: str, texts: Sequence[str]) -> None:
    """Runs statements and prints their results; exits with 1, and the error, at the first that fails."""
    import psycopg

    from risingpy.sql_command import StatementFailed, error_lines, run_sql

    try:
        run_sql(conninfo, texts, sys.stdout)
        return
    except StatementFailed as failed:
        lines = failed.lines
    except psycopg.Error as error:
        lines = list(error_lines(error))
    sys.stdout.flush()
    click.echo("\n".join(lines), err=True)
    sys.exit(1)


def _conninfo(host: str, port: int, dbname: str, user: str) -> str:
    from psycopg.conninfo import make_conninfo

    return make_conninfo(host=host, port=port, dbname=dbname, user=user)
