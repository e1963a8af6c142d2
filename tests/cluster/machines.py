"""Machines for tests, each a network namespace with mounts of its own. They share a network and one directory.

Whoever runs tests has to be root, with `ip` and `unshare`. `why_not` says what is missing.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

SUBNET = "10.213.77"  # of namespaces only: several networks of it may be there at once


def why_not() -> str | None:
    """Why this process cannot make machines; None if it can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    if Path(__file__).is_relative_to(tempfile.gettempdir()):
        return f"the checkout lies in {tempfile.gettempdir()}, of which each machine has its own"
    missing = [name for name in ("ip", "unshare", "mount") if shutil.which(name) is None]
    if missing:
        return f"{' and '.join(missing)} is not installed"
    probe = f"rpy-{secrets.token_hex(3)}"
    made = subprocess.run(["ip", "netns", "add", probe], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"no network namespaces here: {made.stderr.strip()}"
    _run("ip", "netns", "delete", probe)
    return None


@dataclass(frozen=True, slots=True)
class Machine:
    """`disk` is its /tmp, and what is on its disk at all; `shared` is the same directory on all machines."""

    name: str
    address: str
    disk: Path
    shared: Path
    link: str | None  # the hub's end of its cable

    def own(self, environ: Mapping[str, str]) -> dict[str, str]:
        """The environment of the programs that run here."""
        return {**environ, "HOME": "/tmp", "TMPDIR": "/tmp", "SPARK_LOCAL_IP": self.address}

    def start(self, command: Sequence[str], environ: Mapping[str, str], output: Path) -> subprocess.Popen[bytes]:
        """Starts a program here."""
        with output.open("ab") as file:
            return subprocess.Popen(
                [*self.prefix(), *command], env=self.own(environ), stdin=subprocess.DEVNULL, stdout=file, stderr=file
            )

    def set_link(self, state: str) -> None:
        """Plugs its cable in ("up") or out ("down")."""
        assert self.link is not None
        _run("ip", "netns", "exec", self.name.rpartition("-")[0] + "-0", "ip", "link", "set", self.link, state)

    def burn(self) -> None:
        """Ends all that runs here, and empties the disk, but for the directories that others are mounted on."""
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for path in self.disk.iterdir():
            if path.name != self.shared.relative_to("/tmp").parts[0]:
                shutil.rmtree(path, ignore_errors=True)

    def pids(self) -> list[int]:
        """Of all processes that run here."""
        return [int(line) for line in _run("ip", "netns", "pids", self.name).split()]

    def prefix(self) -> list[str]:
        """Before a command, has it run here. Its process is the machine's: no shell or `ip` stays around it."""
        # The disk covers /tmp, under which the shared directory is: it is kept aside first.
        script = (
            "mount -t tmpfs tmpfs /mnt && mkdir /mnt/shared /mnt/disk && "
            'mount --bind "$1" /mnt/shared && mount --bind "$2" /mnt/disk && mount --bind /mnt/disk /tmp && '
            'mkdir -p "$1" && mount --bind /mnt/shared "$1" && shift 2 && exec "$@"'
        )
        paths = (str(self.shared), str(self.disk))
        return ["ip", "netns", "exec", self.name, "unshare", "-m", "sh", "-c", script, "sh", *paths]


@contextlib.contextmanager
def network(count: int, directory: Path) -> Iterator[list[Machine]]:
    """`count` machines on one switch, which the first one has. All of their processes end with it."""
    prefix = f"rpy-{secrets.token_hex(3)}"
    shared = directory / "shared"
    shared.mkdir()
    assert Path(tempfile.gettempdir()) in shared.parents or Path("/tmp") in shared.parents
    machines: list[Machine] = []
    try:
        for number in range(count):
            machines.append(_machine(prefix, number, directory / f"disk{number}", shared))
        yield machines
    finally:
        for machine in machines:
            for pid in machine.pids():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        for machine in machines:
            _run("ip", "netns", "delete", machine.name)


def _machine(prefix: str, number: int, disk: Path, shared: Path) -> Machine:
    disk.mkdir()
    name, hub, address = f"{prefix}-{number}", f"{prefix}-0", f"{SUBNET}.{number + 1}"
    _run("ip", "netns", "add", name)
    inside = ("ip", "netns", "exec", name, "ip")
    _run(*inside, "link", "set", "lo", "up")
    if number == 0:
        _run(*inside, "link", "add", "switch", "type", "bridge")
        _run(*inside, "addr", "add", f"{address}/24", "dev", "switch")
        _run(*inside, "link", "set", "switch", "up")
        return Machine(name, address, disk, shared, None)
    link = f"port{number}"
    _run("ip", "link", "add", link, "netns", hub, "type", "veth", "peer", "name", "eth0", "netns", name)
    _run("ip", "netns", "exec", hub, "ip", "link", "set", link, "master", "switch", "up")
    _run(*inside, "addr", "add", f"{address}/24", "dev", "eth0")
    _run(*inside, "link", "set", "eth0", "up")
    return Machine(name, address, disk, shared, link)


def _run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
