"""How much memory the server thinks that it may take."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.memory import ENVIRONMENT_NAME, available_memory, cgroup_limits, server_memory


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_limits_of_all_cgroups_around_the_process_count(tmp_path: Path) -> None:
    own, mount = tmp_path / "own", tmp_path / "mount"
    write(own, "0::/system.slice/db.service\n")
    write(mount / "system.slice/db.service/memory.max", "max\n")
    write(mount / "system.slice/memory.max", "4294967296\n")
    write(mount / "other.slice/memory.max", "1\n")
    write(tmp_path / "memory.max", "1\n")
    assert list(cgroup_limits(mount, own)) == [4294967296]


def test_limits_of_the_first_version_and_of_a_container_s_root(tmp_path: Path) -> None:
    own, mount = tmp_path / "own", tmp_path / "mount"
    write(own, "4:cpu,memory:/docker/abc\n3:cpuset:/x\n0::/docker/abc\n")
    write(mount / "memory/memory.limit_in_bytes", "2147483648\n")
    write(mount / "memory.max", "3221225472\n")
    assert list(cgroup_limits(mount, own)) == [2147483648, 3221225472]
    assert list(cgroup_limits(mount, tmp_path / "none")) == []


def test_no_memory_told_means_what_the_machine_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    for told in ("", "0"):
        monkeypatch.setenv(ENVIRONMENT_NAME, told)
        assert server_memory() == available_memory() > 0
    monkeypatch.setenv(ENVIRONMENT_NAME, "3GB")
    assert server_memory() == 3 << 30
