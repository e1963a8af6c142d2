"""Two threads that import modules which import each other get both of them whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import importlib, sys, threading
from risingpy.connectors.late_imports import imported
load = imported if sys.argv[1] == "late" else importlib.import_module
failed = []

def run(name):
    try:
        load(name)
    except ImportError as error:
        failed.append(f"{name}: {error}")

threads = [threading.Thread(target=run, args=(name,)) for name in ("sink_side", "source_side")]
for each in threads:
    each.start()
for each in threads:
    each.join()
print(failed)
"""


def failures(directory: Path, way: str) -> str:
    """What two threads fail to import: one a package whose code imports its part, the other one the part."""
    library = directory / "library"
    library.mkdir(exist_ok=True)
    (library / "__init__.py").write_text("import time\ntime.sleep(1.0)\nfrom library.part import value\n")
    (library / "part.py").write_text("import time\ntime.sleep(0.5)\nfrom library import other\nvalue = other.value\n")
    (library / "other.py").write_text("value = 1\n")
    (directory / "source_side.py").write_text("from library import value\n")
    (directory / "sink_side.py").write_text("import time\ntime.sleep(0.3)\nfrom library.part import value\n")
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(directory)!r})\n{PROGRAM}", way],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return run.stdout.strip()


def test_one_thread_imports_at_a_time(tmp_path: Path) -> None:
    assert failures(tmp_path, "late") == "[]"
    assert failures(tmp_path, "at once") != "[]"  # Python alone gives one of them a module that is not complete
