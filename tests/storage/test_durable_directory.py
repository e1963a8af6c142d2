"""Directories that hold a database: nobody else may put anything into them."""

from __future__ import annotations

import logging
import os
import stat
from pathlib import Path

import pytest

from risingpy.storage.durable_directory import make_private
from risingpy.storage.objects.directory_objects import DirectoryObjects


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_private_directory_is_its_owners_alone(tmp_path: Path) -> None:
    made = tmp_path / "made"
    make_private(made)
    assert _mode(made) == 0o700
    made.chmod(0o755)
    (made / "file").write_bytes(b"")
    make_private(made)
    assert _mode(made) == 0o700


def test_a_full_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "meta").mkdir()
    owner = theirs.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(PermissionError, match="belongs to another user"):
        make_private(theirs)


def test_root_takes_an_empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty, taken = tmp_path / "empty", []
    empty.mkdir(mode=0o755)
    owner = empty.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    monkeypatch.setattr(os, "chown", lambda path, user, group: taken.append((path, user, group)))
    make_private(empty)
    assert taken == [(empty, owner + 1, -1)]
    assert _mode(empty) == 0o700


def test_objects_are_private(tmp_path: Path) -> None:
    root = tmp_path / "shared"
    DirectoryObjects(root).put("j/1", b"x")
    assert {_mode(each) for each in (root, root / "j", root / ".unfinished")} == {0o700}
    assert _mode(root / "j" / "1") == 0o600


@pytest.mark.parametrize(("mode", "warns"), [(0o700, False), (0o755, False), (0o775, True), (0o777, True)])
def test_a_place_that_others_may_write_to_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: int, warns: bool
) -> None:
    root = tmp_path / "shared"
    root.mkdir()
    root.chmod(mode)
    with caplog.at_level(logging.WARNING):
        DirectoryObjects(root)
    assert ("other users may write" in caplog.text) is warns
