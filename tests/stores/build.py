"""Makes the kept store of the present formats: `python -m tests.stores.build`, once, when a format has changed.

A data directory that went through `history.sql`, packed, with what its relations held in the end.
"""

from __future__ import annotations

import json
import tarfile
import tempfile
from pathlib import Path

from risingpy.nesting import allow_deep_nesting
from risingpy.plan.codec import CODEC_VERSION
from risingpy.storage.codec.key_encoding import FORMAT_VERSION
from risingpy.storage.engine.shard_store import STORE_VERSION
from tests.meta.conftest import Server
from tests.stores.contents import contents

HERE = Path(__file__).parent
DATA, CONTENTS = "data", "contents.json"


def name_of_present() -> str:
    """What the store of this version's formats is called."""
    return f"store-{STORE_VERSION}-encoding-{FORMAT_VERSION}-plans-{CODEC_VERSION}"


def build(archive: Path) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        data_dir = Path(scratch) / DATA
        server = Server(data_dir)
        client = server.client()
        for statement in (HERE / "history.sql").read_text().split(";\n"):
            client.run(statement)
        (Path(scratch) / CONTENTS).write_text(json.dumps(contents(client), indent=0))
        server.stop()
        with tarfile.open(archive, "w:xz") as packed:
            for name in (DATA, CONTENTS):
                packed.add(Path(scratch) / name, name)


if __name__ == "__main__":
    allow_deep_nesting()
    build(HERE / f"{name_of_present()}.tar.xz")
