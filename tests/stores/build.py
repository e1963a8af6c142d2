"""Makes the kept store of the present formats: `python -m tests.stores.build`, once, when a format has changed.

A process takes a data directory through both histories, and is killed in the middle of an epoch. The directory is
packed as it lies there, with what its relations held once the same version had opened a copy of it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from risingpy.connectors.file_roots import ENVIRONMENT_NAME as FILE_ROOTS
from risingpy.formats import ENCODING, LOG, META, PLANS, STORE
from risingpy.nesting import allow_deep_nesting
from risingpy.storage import fault_points
from tests.meta.conftest import Client, Server
from tests.stores.contents import contents

HERE = Path(__file__).parent
DATA, CONTENTS = "data", "contents.json"
_UNTIL_KILLED = "--until-killed"


def name_of_present() -> str:
    """What the store of this version's formats is called."""
    return "-".join(f"{each.name}-{each.written}" for each in (STORE, ENCODING, PLANS, LOG, META))


def build(archive: Path) -> None:
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        roots = {**os.environ, FILE_ROOTS: directory}
        died = subprocess.run([sys.executable, "-m", __spec__.name, _UNTIL_KILLED, directory], check=False, env=roots)
        if died.returncode != -signal.SIGKILL:
            raise SystemExit(f"the process was not killed in the middle of an epoch: it ended with {died.returncode}")
        shutil.copytree(scratch / DATA, scratch / "copy")
        server = Server(scratch / "copy")
        (scratch / CONTENTS).write_text(json.dumps(contents(server.client()), indent=0))
        server.stop()
        with tarfile.open(archive, "w:xz") as packed:
            for name in (DATA, CONTENTS):
                packed.add(scratch / name, name)


def _live_and_be_killed(scratch: Path) -> None:
    files = scratch / "files"  # the packed store refers to a directory that is gone
    files.mkdir()
    readings = pa.table({"sensor": [1, 1, 2], "value": [Decimal("1.5"), Decimal("-2.0"), None]})
    pq.write_table(readings, files / "1.parquet")
    client = Server(scratch / DATA).client()
    _run(client, "history.sql")
    _run(client, "later_history.sql", files=str(files))
    fault_points.of_this_process.arm("shard.committed=kill@1")
    _run(client, "unclean_end.sql")
    client.run("FLUSH")


def _run(client: Client, history: str, files: str = "") -> None:
    for statement in (HERE / history).read_text().split(";\n"):
        client.run(statement.replace("{files}", files))


if __name__ == "__main__":
    allow_deep_nesting()
    if sys.argv[1:2] == [_UNTIL_KILLED]:
        _live_and_be_killed(Path(sys.argv[2]))
    else:
        build(HERE / f"{name_of_present()}.tar.xz")
