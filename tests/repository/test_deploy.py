"""`deploy/`: the unit of systemd and the container's file name what the server has."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from risingpy.cli import serve
from risingpy.config import load_serve_config

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "risingpy.service"
CONTAINER = ROOT / "deploy" / "Containerfile"


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/opt/risingpy/bin/risingpy", sys.executable))
    found = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_the_units_command_is_one_of_the_server() -> None:
    [line] = re.findall(r"^ExecStart=(.*)$", UNIT.read_text(), re.M)
    program, command, *arguments = shlex.split(line)
    assert (program, command) == ("/opt/risingpy/bin/risingpy", "serve")
    given = serve.make_context("serve", arguments).params
    settings = load_serve_config({name: value for name, value in given.items() if value not in (None, ())}, {})
    assert settings.data_dir.parent == Path("/var/lib/risingpy"), "its key, which lies beside it, is kept too"
    assert settings.unix_socket_directory == Path("/run/risingpy"), "/tmp is the unit's own"


def test_the_containers_settings_are_those_of_the_server() -> None:
    text = CONTAINER.read_text().replace("\\\n", " ")
    [line] = re.findall(r"^ENV (.*)$", text, re.M)
    settings = load_serve_config({}, dict(each.split("=", 1) for each in shlex.split(line)))
    [volume] = re.findall(r"^VOLUME (.*)$", text, re.M)
    assert settings.data_dir.parent == Path(volume), "its key, which lies beside it, is in the volume too"
    assert settings.superuser_password_file is not None, "who listens to the network asks for a password"
    [program, *arguments] = json.loads(re.findall(r"^ENTRYPOINT (.*)$", text, re.M)[0])
    assert [Path(program).name, *arguments] == ["risingpy", "serve"]
    assert f"127.0.0.1:{settings.http_port}/readyz" in text
    for copied in re.findall(r"^COPY (?!--)(.*) \S+$", text, re.M):
        assert all((ROOT / name).exists() for name in copied.split())
