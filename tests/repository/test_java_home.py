"""A Java is found, or the installed one is taken: Spark starts on a machine that has none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from risingpy.java_home import MINIMUM_VERSION, WRAPPER_HOME, complete_path, find_java, java_version, use_java

SPARK_PROGRAM = """
import os
from risingpy.java_home import use_java
java = use_java(os.environ)
from pyspark.sql import SparkSession
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
print("bundled", java.bundled, "rows", session.range(7).count(), session._jvm.System.getProperty("java.version"))
session.stop()
"""


def fake_java(directory: Path, version: str) -> Path:
    """A `java` that only tells its version."""
    program = directory / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    program.chmod(0o755)
    return program


@pytest.mark.parametrize(("version", "number"), [("17.0.15", 17), ("21", 21), ("1.8.0_402", 8)])
def test_versions(tmp_path: Path, version: str, number: int) -> None:
    assert java_version(fake_java(tmp_path, version)) == number


def test_a_program_that_is_no_java_has_no_version(tmp_path: Path) -> None:
    assert java_version(tmp_path / "nothing") is None
    assert java_version(Path("/bin/true")) is None


def test_java_home_comes_before_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", "21.0.1")
    on_path = fake_java(tmp_path / "path", "17.0.1")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}
    assert find_java(environ).program == home
    del environ["JAVA_HOME"]
    assert find_java(environ).program == on_path


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    fake_java(tmp_path / "home", "11.0.2")
    on_path = fake_java(tmp_path / "path", "17.0.1")
    environ = {"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)}
    assert use_java(environ).program == on_path
    assert environ["JAVA_HOME"] == str(tmp_path / "path")


@pytest.mark.parametrize("environ", [{}, {"PATH": ""}, {"PATH": "/opt/x:/bin"}])
def test_a_path_gets_the_systems_directories(environ: dict[str, str]) -> None:
    complete_path(environ)
    assert {"/usr/bin", "/bin"} <= set(environ["PATH"].split(":"))
    assert "" not in environ["PATH"].split(":")


def test_without_a_java_the_bundled_one_is_used_behind_the_wrapper(tmp_path: Path) -> None:
    environ = {"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)}
    java = use_java(environ)
    assert java.bundled
    assert environ["JAVA_HOME"] == str(WRAPPER_HOME)
    # A child process finds the wrapper as JAVA_HOME and must not take it for the system's Java.
    assert find_java(environ) == java
    version = java_version(java.program)
    assert version is not None
    assert version >= MINIMUM_VERSION


def test_the_wrapper_drops_one_option_and_keeps_the_rest(tmp_path: Path) -> None:
    echo = tmp_path / "echo"
    echo.write_text('#!/bin/sh\nfor a; do echo "<$a>"; done\n')
    echo.chmod(0o755)
    wrapper = WRAPPER_HOME / "bin" / "java"
    arguments = ["-cp", "a b", "--add-modules=jdk.incubator.vector", "", "--add-modules=other", "Main"]
    run = subprocess.run(
        [wrapper, *arguments], env={"RISINGPY_JAVA": str(echo)}, capture_output=True, text=True, check=True
    )
    assert run.stdout.split("\n")[:-1] == ["<-cp>", "<a b>", "<>", "<--add-modules=other>", "<Main>"]


def test_spark_runs_without_a_system_java(tmp_path: Path) -> None:
    """The one real start: JAVA_HOME is gone, and PATH holds the shell's programs but no java."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for directory in os.environ["PATH"].split(":"):
        for program in Path(directory).glob("*") if Path(directory).is_dir() else ():
            link = programs / program.name
            if program.name != "java" and not link.is_symlink():
                link.symlink_to(program)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("JAVA", "RISINGPY", "SPARK"))}
    environ |= {"PATH": str(programs), "JAVA_HOME": str(tmp_path), "PYSPARK_PYTHON": sys.executable}
    run = subprocess.run(
        [sys.executable, "-c", SPARK_PROGRAM], env=environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert "bundled True rows 7 21." in run.stdout, run.stderr
