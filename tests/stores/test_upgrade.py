"""`risingpy upgrade`: what it says, what it leaves when it is killed, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from risingpy.formats import LOG, OF_DIRECTORY, PLANS, IncompatibleStore
from risingpy.meta.recovery.backup import restore
from risingpy.meta.recovery.check import check
from risingpy.meta.recovery.upgrade import FoundFormats, found_formats
from risingpy.plan.codec import version_of
from risingpy.storage.engine.meta_store import MetaStore
from risingpy.storage.fault_points import VARIABLE
from risingpy.storage.format_note import NAME, DamagedNote, read_note
from risingpy.storage.log.segment import segment_paths
from risingpy.storage.log.write_ahead_log import log_directory
from tests.meta.conftest import Server
from tests.stores.build import CONTENTS, DATA, HERE
from tests.stores.contents import contents

OLDEST = HERE / "store-3-encoding-5-plans-2.tar.xz"


def risingpy(*arguments: object, faults: str = "") -> tuple[int, str]:
    """Runs a command with fault points armed; gives its exit code and all that it prints."""
    done = subprocess.run(
        [sys.executable, "-m", "risingpy", *map(str, arguments)],
        capture_output=True, text=True, timeout=120, check=False, env={**os.environ, VARIABLE: faults},
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A directory with the oldest store, and what it held."""
    with tarfile.open(OLDEST) as packed:
        packed.extractall(tmp_path, filter="data")
    return tmp_path


@pytest.fixture
def present(tmp_path: Path) -> Path:
    """A data directory of this version, with a table, rows and a view."""
    server = Server(tmp_path / DATA)
    client = server.client()
    for statement in ("CREATE TABLE t (k INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)", "FLUSH"):
        client.run(statement)
    client.run("CREATE MATERIALIZED VIEW m AS SELECT count(*) AS n FROM t")
    client.run(f"BACKUP TO '{tmp_path / 'backup'}'")
    server.stop()
    return tmp_path / DATA


def versions(found: FoundFormats) -> dict[str, tuple[int, ...]]:
    return {each.format.name: each.versions for each in found.formats}


def holds_what_it_held(older: Path) -> None:
    server = Server(older / DATA)
    try:
        assert contents(server.client()) == json.loads((older / CONTENTS).read_text())
    finally:
        server.stop()


def bytes_of(directory: Path) -> dict[str, bytes]:
    """All files of a directory; LMDB's locks have the number of the process that looked."""
    files = [path for path in directory.rglob("*") if path.is_file() and path.name not in ("lock.mdb", "lock")]
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def test_check_says_what_would_be_done_and_changes_nothing(older: Path) -> None:
    before = bytes_of(older / DATA)
    code, output = risingpy("upgrade", "--check", older / DATA)
    assert code == 0, output
    assert "last opened by a version that noted no formats" in output
    assert f"plans     2 -> {PLANS.written} " in output and "store     3 -> 4 " in output
    assert "To do: risingpy upgrade" in output
    assert bytes_of(older / DATA) == before


def test_an_upgrade_is_done_once(older: Path) -> None:
    code, output = risingpy("upgrade", older / DATA)
    assert code == 0 and "has the formats of RisingPy" in output
    assert versions(found_formats(older / DATA)) == {each.name: (each.written,) for each in OF_DIRECTORY}
    assert check(older / DATA).problems == ()
    before = bytes_of(older / DATA)
    code, output = risingpy("upgrade", older / DATA)
    assert code == 0 and "Nothing to do" in output
    assert bytes_of(older / DATA) == before
    holds_what_it_held(older)


def test_whatever_kills_it_leaves_a_store_that_opens(older: Path) -> None:
    """Before the commit that writes all plans anew, after it, and before the note."""
    for point, plans in (("meta.commit", 2), ("shard.undo", PLANS.written), ("format.note", PLANS.written)):
        code, _ = risingpy("upgrade", older / DATA, faults=f"{point}=kill@1")
        assert code == -signal.SIGKILL, point
        found = found_formats(older / DATA)
        assert versions(found)[PLANS.name] == (plans,), "all of the plans are written, or none"
        assert not found.is_present and read_note(older / DATA) is None
    code, output = risingpy("upgrade", older / DATA)
    assert code == 0, output
    assert found_formats(older / DATA).is_present
    holds_what_it_held(older)


@pytest.mark.parametrize("action", ["eio", "enospc"])
def test_a_disk_that_fails_is_told(older: Path, action: str) -> None:
    for point in ("meta.commit", "format.note"):
        code, output = risingpy("upgrade", older / DATA, faults=f"{point}={action}@1")
        assert code == 1 and "Traceback" not in output and output.splitlines()[-1].startswith(("Error", "  Free")), (
            output
        )
    holds_what_it_held(older)


def test_a_later_version_is_refused_by_name(present: Path) -> None:
    """By the server, by each command, and of a backup; and nothing of it is changed."""
    for directory in (present, present.with_name("backup")):
        note = json.loads((directory / NAME).read_text())
        note = {"written_by": "7.1.0", "formats": {**note["formats"], "plans": 9, "blobs": 1}}
        (directory / NAME).write_text(json.dumps(note))
    before = bytes_of(present)
    told = f"{present}, written by RisingPy 7.1.0, has plans 9, blobs 1; this version of RisingPy reads plans"
    served = ("serve", "--engine", "inprocess", "--port", "0", "--data-dir", present)
    commands = (("upgrade", present), ("upgrade", "--check", present), ("check", "--data-dir", present), served)
    for command in (*commands, ("rescale", "--parallelism", "3", "--data-dir", present)):
        code, output = risingpy(*command)
        assert code == 1 and told in output and "Start RisingPy 7.1.0 or a later one." in output, output
        assert "Traceback" not in output
    with pytest.raises(IncompatibleStore, match=r"written by RisingPy 7\.1\.0"):
        restore(present.with_name("backup"), present.with_name("restored"))
    assert not present.with_name("restored").exists()
    assert bytes_of(present) == before


def test_parts_of_a_later_version_are_refused_without_a_note(present: Path) -> None:
    (present / NAME).unlink()
    for path in segment_paths(log_directory(present)).values():
        path.write_bytes(b"RPYLOG%02d" % (LOG.written + 1) + path.read_bytes()[8:])
    code, output = risingpy("upgrade", present)
    assert code == 1 and f"has log {LOG.written + 1}; this version of RisingPy reads log {LOG.written}" in output, (
        output
    )
    code, output = risingpy("check", "--data-dir", present)
    assert code == 1 and f"has log {LOG.written + 1}" in output and "damaged" not in output, output


@pytest.mark.parametrize(
    "written",
    [
        b'{"version":9,"value":null}',
        b'{"version":4,"value":{"$":"later.Thing"}}',
        b'{"version":4,"value":{"$":"table_schema.KeyColumn","index":4,"collation":"C"}}',
        b'{"version":4,"value":{"$":"sql_type.TypeKind","=":"qubit"}}',
    ],
)
def test_what_only_a_later_version_knows_is_refused_by_name(present: Path, written: bytes) -> None:
    store = MetaStore(present)
    with store.transaction() as txn:
        [(key, _), *_] = txn.scan("relation/")
        txn.put(key, written)
    store.close()
    with pytest.raises(IncompatibleStore, match=f"cannot read {key} in the meta store") as refused:
        Server(present)
    assert refused.value.hint == "Start the version that wrote it, or a later one."


def test_a_backup_and_a_new_directory_note_their_formats(present: Path) -> None:
    for directory in (present, present.with_name("backup")):
        note = read_note(directory)
        assert note is not None and note.formats == {each.name: each.written for each in OF_DIRECTORY}


def test_a_damaged_note_is_told_with_what_helps(present: Path) -> None:
    (present / NAME).write_text('{"written_by": "0.1')
    with pytest.raises(DamagedNote, match=r"format\.json is damaged") as damaged:
        Server(present)
    assert damaged.value.hint is not None and damaged.value.hint.startswith(f"Delete {present / NAME}")
    (present / NAME).unlink()
    server = Server(present)
    assert server.client().run("SELECT n FROM m") == [(2,)]
    server.stop()
    assert read_note(present) is not None


def test_what_is_no_data_directory_is_not_made_one(tmp_path: Path) -> None:
    code, output = risingpy("upgrade", tmp_path / "none")
    assert code == 1 and "is no data directory of RisingPy" in output
    assert not (tmp_path / "none").exists()


def test_a_running_servers_directory_is_refused(present: Path) -> None:
    server = Server(present)
    code, output = risingpy("upgrade", present)
    server.stop()
    assert code == 1 and "is in use by another server" in output


def test_each_object_of_the_meta_store_names_its_version(present: Path) -> None:
    """So that whatever is found says how it is to be read."""
    store = MetaStore(present)
    with store.transaction() as txn:
        versions = {version_of(value) for key, value in txn.scan() if "/" in key and not key.startswith("sequence/")}
    store.close()
    assert versions == {PLANS.written}
