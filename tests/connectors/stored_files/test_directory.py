"""Which files of a directory are read: none outside it, none that somebody is writing, none that cannot be measured."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from risingpy.connectors.formats.decoder import MessageFormat
from risingpy.connectors.registry import connector_of
from risingpy.connectors.seekable import SplitEnd
from risingpy.connectors.stored_files.directory import DirectoryStore
from risingpy.connectors.stored_files.listing import FileList
from risingpy.connectors.stored_files.patterns import compiled, literal_prefix
from risingpy.connectors.stored_files.store import StoredFile
from risingpy.errors import InvalidParameterValue, SourceUnavailable
from tests.connectors.stored_files.files import Memory, put

JSON = MessageFormat("plain", "json")


def names(root: Path) -> list[str]:
    return sorted(file.name for file in DirectoryStore(str(root)).files())


def test_nothing_outside_the_root_is_read(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", put(tmp_path / "outside" / "secret", b"secret\n")
    inside = put(root / "a" / "b.csv", b"b\n")
    (root / "link").symlink_to(outside)
    (root / "directory").symlink_to(outside.parent)
    (root / "own").symlink_to(inside)
    (root / "loop").symlink_to("loop")
    (root / "gone").symlink_to("nothing")
    os.mkfifo(root / "pipe")
    put(root / ".hidden", b"x\n")
    put(root / ".git" / "config", b"x\n")
    assert names(root) == ["a/b.csv", "own"]
    store = DirectoryStore(str(root))
    assert store.read("own", 0, 10) == b"b\n"
    for name in ("link", "directory/secret", "../outside/secret", str(outside)):
        with pytest.raises(SourceUnavailable, match=re.escape(f'source file "{name}" is outside posix_fs.root')):
            store.read(name, 0, 10)
    with pytest.raises(SourceUnavailable, match="is no regular file"):
        store.read("pipe", 0, 10)
    with pytest.raises(SourceUnavailable, match="No such file"):
        store.read("gone", 0, 10)


def test_a_link_that_is_put_in_place_of_a_file(tmp_path: Path) -> None:
    """The file was listed, and then replaced by a link to another one."""
    store = DirectoryStore(str(tmp_path / "root"))
    path = put(tmp_path / "root" / "a", b"mine")
    assert [file.name for file in store.files()] == ["a"]
    path.unlink()
    path.symlink_to(put(tmp_path / "secret", b"secret"))
    with pytest.raises(SourceUnavailable, match="outside"):
        store.read("a", 0, 10)


def test_a_root_that_is_a_link_is_the_directory_it_leads_to(tmp_path: Path) -> None:
    put(tmp_path / "real" / "a", b"a")
    (tmp_path / "root").symlink_to("real")
    assert names(tmp_path / "root") == ["a"]
    assert DirectoryStore(str(tmp_path / "root")).read("a", 0, 1) == b"a"


def test_a_file_counts_when_its_writer_has_finished(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"half")
    put(tmp_path / "empty", b"")
    assert names(tmp_path) == []
    put(path, b"whole")
    assert names(tmp_path) == ["a"]


def test_files_that_cannot_be_measured_are_left_out() -> None:
    memory = Memory(b=b"b", a=b"bad", c=b"cc")

    def measure(file: StoredFile) -> int:
        if memory.contents[file.name] == b"bad":
            raise SourceUnavailable("bad")
        return file.size

    listed = FileList(memory, compiled("*"), 0.0, measure, 64)
    assert list(listed.ends().items()) == [
        ("b", SplitEnd(0, 1, 0, is_final=True, row_positions=64)),
        ("c", SplitEnd(0, 2, 0, is_final=True, row_positions=64)),
    ]
    memory.contents["a"] = b"good"
    assert list(listed.ends()) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("*.csv", "a/b.csv", True),
        ("*.csv", "a.csv.gz", False),
        ("**/x.csv", "x.csv", True),
        ("**/x.csv", "a/b/x.csv", True),
        ("**/x.csv", "abx.csv", False),
        ("d/[!a]?.json", "d/bc.json", True),
        ("d/[!a]?.json", "d/ac.json", False),
        ("a\nb*", "a\nbc", True),
    ],
)
def test_patterns(pattern: str, name: str, matches: bool) -> None:
    assert bool(compiled(pattern).fullmatch(name)) == matches
    assert not matches or name.startswith(literal_prefix(pattern))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"posix_fs.root": ""}, "the posix_fs connector needs the option posix_fs.root"),
        ({"posix_fs.root": "here"}, 'posix_fs.root must be an absolute path, not "here"'),
        ({"match_pattern": "../*"}, 'invalid match_pattern "../*"'),
        ({"match_pattern": "/etc/*"}, 'invalid match_pattern "/etc/*"'),
        ({"refresh.interval.sec": "0"}, 'invalid value "0" of the option refresh.interval.sec'),
        ({"path": "x"}, 'unknown option "path" of the posix_fs connector'),
    ],
)
def test_options_that_are_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(InvalidParameterValue, match=re.escape(message)):
        connector_of({"connector": "posix_fs", "posix_fs.root": "/tmp", **options}, JSON)


def test_check_says_that_there_is_no_directory(tmp_path: Path) -> None:
    for root in (tmp_path / "nosuch", put(tmp_path / "file", b"x")):
        with pytest.raises(InvalidParameterValue, match="is not a directory"):
            connector_of({"connector": "posix_fs", "posix_fs.root": str(root)}, JSON).check()
    connector_of({"connector": "posix_fs", "posix_fs.root": str(tmp_path)}, JSON).check()
