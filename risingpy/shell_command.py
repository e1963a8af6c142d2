"""`risingpy sql` at a terminal: becomes psql, or pgcli where there is no psql."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import NoReturn

import click


def start_shell(host: str, port: int, dbname: str, user: str) -> NoReturn:
    """Becomes psql or, where there is none, pgcli of this installation or of the PATH."""
    beside = str(Path(sys.executable).parent)
    shell = shutil.which("psql") or shutil.which("pgcli", path=beside) or shutil.which("pgcli")
    if shell is None:
        raise click.UsageError(
            "there is neither psql nor pgcli: pip install 'risingpy[shell]' brings pgcli; "
            "or give a statement with -c, or a file (- for standard input)"
        )
    os.execv(shell, [shell, "-h", host, "-p", str(port), "-U", user, "-d", dbname])
