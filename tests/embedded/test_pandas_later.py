"""A program that opens a database imports pandas when it wants it, and PyArrow knows pandas from then on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

OPENED = """
import sys
import risingpy
db = risingpy.connect(sys.argv[1], parallelism=1)
assert db.sql("SELECT 1 AS a, 'x' AS b").arrow().num_rows == 1
assert "pandas" not in sys.modules
"""
# A Series' NaN is no value for a PyArrow that knows pandas, and a number for one that does not.
KNOWN = "import pyarrow; assert pyarrow.array(pandas.Series([1.0, float('nan')])).null_count == 1"
PROGRAMS = {
    "imported by the program": f"{OPENED}\nimport pandas\n{KNOWN}",
    "imported after a second database": f"{OPENED}\nother = risingpy.connect()\nimport pandas\n{KNOWN}",
    "asked of a result": f"{OPENED}\ndb.sql('SELECT 1 AS a').pandas()\nimport pandas\n{KNOWN}",
    "imported before": f"import pandas\n{OPENED.replace('not in', 'in')}\n{KNOWN}",
    "loaded as ever": f"{OPENED}\nimport pandas, importlib.resources\n"
    "assert importlib.resources.files('pandas').joinpath('__init__.py').is_file()\nimportlib.reload(pandas)",
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_arrow_knows_pandas_when_the_program_does(program: str, tmp_path: Path) -> None:
    run: list[str | Path] = [sys.executable, "-c", PROGRAMS[program], tmp_path / "data"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
