"""An environment that has the wheel of this tree and what it declares, and nothing else; and servers that run in it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = os.environ.get("RISINGPY_INSTALLED_EXTRAS", "mqtt,nats,redis").split(",")  # those that take a second or two
INSTALL_SECONDS, START_SECONDS, SPARK_SECONDS = 400, 120, 240
BARE = {"PATH": "/usr/bin:/bin"}  # as a service's environment: no JAVA_HOME, no virtual environment


@dataclass(frozen=True, slots=True)
class Installation:
    """A virtual environment, outside of the checkout. Its programs run with a bare environment."""

    directory: Path

    @property
    def python(self) -> Path:
        return self.directory / "venv" / "bin" / "python"

    def run(self, *command: str, seconds: float = 120) -> str:
        """Runs a command of the environment; returns what it printed. Fails if its exit code is not 0."""
        program = self.directory / "venv" / "bin" / command[0]
        run = subprocess.run(
            [program, *command[1:]],
            cwd=self.directory,
            env=BARE,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert run.returncode == 0, run.stdout + run.stderr
        return run.stdout

    def install(self, what: str) -> None:
        """By pip, with this process's settings: which index it asks is not the test's business."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        command = [str(self.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what]
        run = subprocess.run(
            command, cwd=self.directory, env=own, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
        )
        assert run.returncode == 0, run.stderr


@dataclass(slots=True)
class InstalledServer:
    """`risingpy serve` of an installation."""

    installation: Installation
    data_dir: Path
    flags: Sequence[str] = ()
    environ: dict[str, str] = field(default_factory=lambda: dict(BARE))
    output: list[str] = field(default_factory=list)

    def __enter__(self) -> InstalledServer:
        program = self.installation.directory / "venv" / "bin" / "risingpy"
        self._process = subprocess.Popen(
            [program, "serve", "--port", "0", "--data-dir", self.data_dir, "--parallelism", "2", *self.flags],
            cwd=self.installation.directory,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        threading.Thread(target=self._read, daemon=True).start()
        self.port = int(self.wait_for(r"psql -h \S+ -p (\d+)", START_SECONDS))
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            assert self._process.wait(60) == 0
        finally:
            self._process.kill()
            self._process.wait()

    _process: subprocess.Popen[str] = field(init=False)
    port: int = field(init=False)

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.output.append(line)

    def wait_for(self, pattern: str, seconds: float) -> str:
        """Waits until the server prints it; returns the pattern's group, if it has one."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and self._process.poll() is None:
            found = re.search(pattern, "".join(self.output))
            if found:
                return found[found.re.groups]
            time.sleep(0.05)
        raise AssertionError(f"no {pattern} in " + "".join(self.output))

    def rows(self, *statements: str) -> list[tuple[Any, ...]]:
        """Runs statements; returns the last one's rows."""
        with psycopg.connect(
            host="127.0.0.1", port=self.port, user="root", dbname="dev", autocommit=True
        ) as connection:
            for statement in statements[:-1]:
                connection.execute(statement)
            return connection.execute(statements[-1]).fetchall()


@pytest.fixture(scope="session")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """The wheel of the tree's files, alone in an empty environment."""
    directory = tmp_path_factory.mktemp("installation")
    source = directory / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "risingpy", source / "risingpy", ignore=shutil.ignore_patterns("__pycache__"))
    made = Installation(directory)
    wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(directory), str(source)]
    with subprocess.Popen(wheel) as building:
        subprocess.run([sys.executable, "-m", "venv", directory / "venv"], check=True, timeout=120, env=dict(BARE))
        assert building.wait(240) == 0
    shutil.rmtree(source)
    made.install(str(next(directory.glob("*.whl"))))
    yield made
    shutil.rmtree(directory, ignore_errors=True)
