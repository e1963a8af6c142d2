"""What `pip install` puts into site-packages: `risingpy` and nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
LINKS = ("frontend", "optimizer", "executors", "storage", "sqllogictest")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> ZipFile:
    """A wheel of the working tree's files, built as pip builds it."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "risingpy", source / "risingpy", ignore=shutil.ignore_patterns("__pycache__"))
    for link in LINKS:
        (source / link).symlink_to(Path("risingpy") / link)
    (source / "tests").mkdir()
    (source / "tests" / "__init__.py").touch()
    target = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(target), str(source)]
    subprocess.run(command, check=True, timeout=240)
    return ZipFile(next(target.glob("*.whl")))


def test_the_only_top_level_is_risingpy(wheel: ZipFile) -> None:
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"risingpy"}


def test_packages_and_data_are_in_it(wheel: ZipFile) -> None:
    names = set(wheel.namelist())
    assert {"risingpy/cli.py", "risingpy/storage/__init__.py", "risingpy/sqllogictest/suites/dml/insert.slt"} <= names
    java = wheel.getinfo("risingpy/java_wrapper/bin/java")
    assert (java.external_attr >> 16) & 0o111, "the wrapper must stay executable"


def test_every_package_of_the_tree_is_in_it(wheel: ZipFile) -> None:
    packages = {str(path.parent.relative_to(ROOT)) for path in (ROOT / "risingpy").rglob("__init__.py")}
    assert packages == {name.removesuffix("/__init__.py") for name in wheel.namelist() if name.endswith("/__init__.py")}


def test_modules_lie_in_packages() -> None:
    """A folder without `__init__.py` would be left out of the wheel, and go unseen in an editable install."""
    folders = {path.parent for path in (ROOT / "risingpy").rglob("*.py")}
    assert {folder for folder in folders if not (folder / "__init__.py").exists()} == set()
