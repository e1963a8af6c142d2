"""Environments of tools: a virtual environment of Python or a folder of node's packages for each, installed once."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from pathlib import Path

import pytest

VARIABLE = "RISINGPY_CLIENTS"
_SECONDS = 3000  # that an installation may take, or a program: SQLAlchemy's suite has 1,900 tests

needs_environments = pytest.mark.skipif(
    not os.environ.get(VARIABLE), reason=f"{VARIABLE} names no directory: make test-clients"
)


def directory() -> Path:
    """The directory of the environments."""
    return Path(os.environ[VARIABLE]).resolve()


def python_of(name: str, packages: Sequence[str]) -> Path:
    """The interpreter of a virtual environment with these packages."""
    place = directory() / name
    done = place / "installed.txt"
    interpreter = place / "bin" / "python"
    if not done.exists():
        output_of(sys.executable, "-m", "venv", place)
        output_of(interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages)
        done.write_text(output_of(interpreter, "-m", "pip", "freeze"))
    return interpreter


def source_of(interpreter: Path, package: str) -> Path:
    """The unpacked source distribution of the version that an environment has: its tests are in there."""
    installed = output_of(interpreter, "-m", "pip", "freeze").splitlines()
    [pinned] = [line for line in installed if line.lower().startswith(f"{package}==")]
    place = directory() / f"{package}_source"
    done = place / pinned
    if not done.exists():
        shutil.rmtree(place, ignore_errors=True)
        command = ("-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package, "--dest", place, pinned)
        output_of(interpreter, *command)
        [archive] = place.glob("*.tar.gz")
        with tarfile.open(archive) as packed:
            packed.extractall(place, filter="data")
        [unpacked] = [each for each in place.iterdir() if each.is_dir()]
        unpacked.rename(done)
    return done


def node_modules_of(name: str, packages: Sequence[str]) -> Path:
    """A folder with node's packages."""
    place = directory() / name
    if not (place / "installed.txt").exists():
        place.mkdir(parents=True, exist_ok=True)
        output_of("npm", "install", "--silent", "--no-save", "--prefix", place, *packages)
        (place / "installed.txt").write_text(output_of("npm", "ls", "--prefix", place, "--depth=0"))
    return place / "node_modules"


def output_of(*command: object, cwd: Path | None = None, **environment: str) -> str:
    """What a program prints; it must succeed."""
    done = run(*command, cwd=cwd, **environment)
    assert done.returncode == 0, (command, done.stdout[-4000:], done.stderr[-4000:])
    return done.stdout


def run(*command: object, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program, which may fail."""
    return subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        cwd=cwd,
        env={**os.environ, **environment},
    )
