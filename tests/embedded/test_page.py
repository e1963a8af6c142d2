"""What docs/python.md shows, in its order, as one program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from risingpy.server_process import HOST, ServerProcess

PAGE = Path(__file__).resolve().parents[2] / "docs" / "python.md"


def test_the_pages_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    server = ServerProcess(tmp_path / "server", engine="inprocess")
    blocks = re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.M | re.S)
    assert len(blocks) == 6
    program = "\n".join(blocks)
    assert program.count("127.0.0.1:4566") == 1
    try:
        exec(compile(program.replace("127.0.0.1:4566", f"{HOST}:{server.port}"), str(PAGE), "exec"), {})
    finally:
        server.stop()
