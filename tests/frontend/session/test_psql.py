"""What a user of psql sees: `psql.golden` holds the commands and all that psql prints.

`pytest --update` writes it anew; read the difference.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from risingpy.frontend.wire import WireServer

GOLDEN = Path(__file__).with_name("psql.golden")
PROMPT = "$ "


@pytest.mark.skipif(shutil.which("psql") is None, reason="no psql")
def test_psql(server: WireServer, update_goldens: bool) -> None:
    commands = [line[len(PROMPT) :] for line in GOLDEN.read_text().splitlines() if line.startswith(PROMPT)]
    script = "".join(f"\\qecho '{_quoted(command)}'\n{command}\n" for command in commands)
    answer = subprocess.run(
        [
            "psql",
            "-X",
            "-h",
            "127.0.0.1",
            "-p",
            str(server.port),
            "-U",
            "root",
            "-d",
            "dev",
            "-v",
            "HISTFILE=/dev/null",
        ],
        input=script,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    ).stdout.replace(str(server.port), "PORT")
    printed = "\n".join(line.rstrip() for line in answer.splitlines()) + "\n"
    if update_goldens:
        GOLDEN.write_text(printed)
    assert printed == GOLDEN.read_text()


def _quoted(command: str) -> str:
    return (PROMPT + command).replace("\\", "\\\\").replace("'", "''")
