"""`python -m benchmarks`: measures, prints as it goes, writes the results and the document."""

from __future__ import annotations

import compileall
import os
import sys
import tempfile
import time
import traceback
from pathlib import Path

import click

from benchmarks import machine, report
from benchmarks.cases import CASES, FULL, QUICK
from benchmarks.measurement import Measurement
from benchmarks.targets import judged
from risingpy.connectors.file_roots import ENVIRONMENT_NAME as FILE_ROOTS

HERE = Path(__file__).parent
RESULTS = HERE / "results.json"
DOCUMENT = HERE.parent / "docs" / "benchmarks.md"
SHOWN = 4  # figures of a measurement on its line


@click.command(context_settings={"help_option_names": ["-h", "--help"]}, epilog=f"Cases: {', '.join(CASES)}.")
@click.option("--quick", is_flag=True, help="Small sizes, under three minutes; writes no file unless told to.")
@click.option("--results", type=click.Path(path_type=Path), help=f"Results to write [{RESULTS.name}].")
@click.option("--document", type=click.Path(path_type=Path), help=f"Document to write [docs/{DOCUMENT.name}].")
@click.argument("cases", nargs=-1, type=click.Choice(list(CASES)))
def main(quick: bool, results: Path | None, document: Path | None, cases: tuple[str, ...]) -> None:
    """Measure CASES (all of them if none is named) beside DuckDB and plain Spark.

    A case that is measured replaces its figures of earlier runs; the others' stay.
    """
    # Installations have bytecode: pip writes it. A checkout may have none, where the environment forbids to write it.
    compileall.compile_dir(HERE.parent / "risingpy", quiet=1)
    os.environ.setdefault(FILE_ROOTS, tempfile.gettempdir())  # whose files the servers read
    results = results or (None if quick else RESULTS)
    document = document or (None if quick else DOCUMENT)
    command = " ".join(["python -m benchmarks", *(["--quick"] if quick else []), *cases])
    date = time.strftime("%Y-%m-%d %H:%M")
    found = report.load(results) if results else {"runs": {}}
    failed = []
    for case in cases or tuple(CASES):
        measurements = _measure(case, quick)
        if measurements is None:
            failed.append(case)
            continue
        found = report.with_case(found, case, measurements, command=command, date=date, machine=machine.describe())
        # After each case: a run of half an hour that breaks off keeps what it has.
        if results:
            report.save(found, results)
        if document:
            document.write_text(report.render(found))
    for target, value, met in judged(report.measurements_of(found)):
        click.echo(f"{'ok  ' if met else 'MISS'} {target.name}: {value:,.3g} {target.unit} (target {target.bound:,g})")
    if failed:
        click.echo(f"failed: {', '.join(failed)}", err=True)
        sys.exit(1)


def _measure(case: str, quick: bool) -> list[Measurement] | None:
    """The case's measurements, each printed when it is there; None if it failed."""
    measurements = []
    began = time.monotonic()
    try:
        for measurement in CASES[case](QUICK if quick else FULL):
            measurements.append(measurement)
            click.echo(_line(measurement))
    except Exception:
        # The other cases are still worth measuring.
        traceback.print_exc()
        return None
    click.echo(f"  {case} took {time.monotonic() - began:.0f} s")
    return measurements


def _line(measurement: Measurement) -> str:
    figures = "  ".join(f"{name} {value:,.4g}" for name, value in list(measurement.figures.items())[:SHOWN])
    wrong = "" if measurement.correct is not False else "  WRONG ANSWER"
    what = " ".join(text for text in (measurement.case, measurement.variant) if text)
    engine = f"{measurement.engine} ({measurement.note})" if measurement.note else measurement.engine
    return f"{what:<36} {engine:<38} {figures}{wrong}"


if __name__ == "__main__":
    main()
