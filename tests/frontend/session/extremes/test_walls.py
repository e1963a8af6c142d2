"""Functions in Python that try to get out of their process. Each finds a wall, and the next statement works.

An attempt is a body that returns what it has reached. A wall gives an error of the function's, or ends its process.
"""

from __future__ import annotations

import logging
import os
import platform
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from risingpy.errors import ExternalRoutineError
from risingpy.functions.python import standing_walls
from risingpy.functions.python.walls import Wall
from risingpy.functions.python.worker_process import walls
from tests.frontend.session.conftest import Client

_HEAD = """import ctypes, os, resource, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def called(result):
    if result < 0: raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result
"""
_FILES = {
    "a file that everybody may read": "open('/etc/passwd').read()",
    "the list of the root directory": "os.listdir('/')",
    "its own environment": "open('/proc/self/environ').read()",
    "the environment of the server": "open(f'/proc/{os.getppid()}/environ').read()",
    "the memory of the server": "open(f'/proc/{os.getppid()}/mem', 'rb').read(1)",
    "the descriptors of the server": "os.listdir(f'/proc/{os.getppid()}/fd')",
    "all processes": "os.listdir('/proc')",
    "the data directory": "os.listdir(r'{data}')",
    "the meta store": "open(r'{data}/meta/data.mdb', 'rb').read()",
    "a new file": "open(r'{outside}/new', 'w').write('x')",
    "a new directory": "os.mkdir(r'{outside}/new')",
    "a new link": "os.symlink('/etc/passwd', r'{outside}/new')",
    "a hard link": "os.link(r'{outside}/kept', r'{outside}/new')",
    "another name": "os.rename(r'{outside}/kept', r'{outside}/new')",
    "a removed file": "os.remove(r'{outside}/kept')",
    "an emptied file": "os.truncate(r'{outside}/kept', 0)",
    "a link out of its directory": "os.symlink('/etc/passwd', 'l'), open('l').read()",
    "a file beside RisingPy": "open(os.path.dirname(sys.modules['risingpy'].__path__[0]) + '/pyproject.toml').read()",
    "a package that is changed": "open(sys.modules['risingpy'].__file__, 'a').write('')",
}
_CALLS = {
    "a socket of the Internet": "socket.create_connection(('127.0.0.1', {port}), 2)",
    "a plain socket": "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)",
    "a Unix socket": "socket.socket(socket.AF_UNIX)",
    "a netlink socket": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW)",
    "an address on the Web": "__import__('urllib.request').request.urlopen('http://127.0.0.1:{port}')",
    "a subprocess": "subprocess.run(['id'], capture_output=True).stdout",
    "a shell": "1 // (1 - (os.system('id') != 0))",
    "a fork": "os.fork()",
    "a fork by its number": "called(libc.syscall(57))",
    "a process by clone": "called(libc.syscall(56, 17, 0, 0, 0, 0))",
    "a process by clone3": "called(libc.syscall(435, bytes(88), 88))",
    "a spawned process": "os.posix_spawn(sys.executable, [sys.executable, '-c', ''], {{}})",
    "another program": "os.execv(sys.executable, [sys.executable, '-c', ''])",
    "a program in memory": "os.memfd_create('x')",
    "a traced server": "called(libc.ptrace(16, os.getppid(), 0, 0))",
    "the server's memory by a call": "called(libc.process_vm_readv(os.getppid(), None, 0, None, 0, 0))",
    "a signal to the server": "os.kill(os.getppid(), 0)",
    "a signal to the first process": "os.kill(1, 0)",
    "a signal to everybody": "os.kill(-1, 0)",
    "a signal to the group": "os.killpg(0, 0)",
    "a descriptor of the server": "os.pidfd_open(os.getppid())",
    "a mount": "called(libc.mount(b'tmpfs', b'/mnt', b'tmpfs', 0, None))",
    "another root": "os.chroot('/var/tmp')",
    "a namespace": "called(libc.unshare(0x10000000))",
    "a namespace of the server": "called(libc.setns(0, 0))",
    "a file by its handle": "called(libc.syscall(304, -100, None, 0))",
    "shared memory": "called(libc.shmget(0, 4096, 0o1777))",
    "a ring of calls": "called(libc.syscall(425, 1, bytes(120)))",
    "other rights": "os.chmod('/var/tmp', 0o777)",
    "another clock": "called(libc.syscall(164, 0, 0))",
    "numbers of x32": "called(libc.syscall(0x40000000 + 41, 2, 1, 0))",
}
_USERS = {
    "root": "os.setuid(0)",
    "the server's group": "os.setgid(0)",
    "more memory": "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))",
    "larger files": "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))",
}
_LIMITS = {
    "much memory": "len(bytes(1 << 33))",
    "large files": "open('large', 'wb').write(bytes(100 << 20))",
    "many files": "[open(f'f{k}', 'w').close() for k in range(10_000)]",
    "many descriptors": "[os.open('/dev/null', os.O_RDONLY) for _ in range(10_000)]",
    "many threads": "[__import__('threading').Thread(target=__import__('time').sleep, args=(5,), daemon=True).start()"
    " for _ in range(10_000)]",
    "many forks": "[os.fork() for _ in range(10_000)]",
}


@pytest.fixture(scope="module")
def standing() -> dict[str, Wall]:
    return {wall.name: wall for wall in walls() if wall.stands}


@pytest.fixture
def port() -> Iterator[int]:
    """Somebody who listens, and must not be reached."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]
        listening.settimeout(0.01)
        with pytest.raises(TimeoutError):
            listening.accept()


def attempt(client: Client, expression: str) -> None:
    client.run(
        "CREATE FUNCTION reach(a INT) RETURNS VARCHAR LANGUAGE python AS $$"
        f"{_HEAD}def reach(a):\n    return 'escaped: ' + repr({expression})$$"
    )
    client.run("CREATE FUNCTION sound(a INT) RETURNS INT LANGUAGE python AS $$def sound(a): return a + 1$$")
    with pytest.raises(ExternalRoutineError) as error:
        print(client.run("SELECT reach(1)"))
    assert error.value.sqlstate in ("38000", "54000")
    assert client.run("SELECT sound(1)") == [(2,)]


def _needs(standing: dict[str, Wall], *names: str) -> None:
    missing = [name for name in names if name not in standing]
    if missing:
        pytest.skip(f"this machine has no wall of {missing}")


@pytest.mark.parametrize("what", _FILES)
def test_files_are_out_of_reach(client: Client, tmp_path: Path, standing: dict[str, Wall], what: str) -> None:
    _needs(standing, "files")
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o777)
    outside.chmod(0o777)
    (outside / "kept").write_text("kept")
    (outside / "kept").chmod(0o666)
    attempt(
        client,
        _FILES[what].replace("{os.getppid()}", "{{os.getppid()}}").format(data=tmp_path / "data", outside=outside),
    )
    assert [path.name for path in outside.iterdir()] == ["kept"]
    assert (outside / "kept").read_text() == "kept"


@pytest.mark.parametrize("what", _CALLS)
def test_calls_are_refused(client: Client, standing: dict[str, Wall], port: int, what: str) -> None:
    _needs(standing, "calls")
    if "syscall(" in _CALLS[what] and platform.machine() != "x86_64":
        pytest.skip("the numbers are those of x86_64")
    attempt(client, _CALLS[what].format(port=port))


@pytest.mark.parametrize("what", _USERS)
def test_nobody_gets_more_rights(client: Client, standing: dict[str, Wall], what: str) -> None:
    _needs(standing, "user")
    attempt(client, _USERS[what])


@pytest.mark.parametrize("what", _LIMITS)
def test_nobody_takes_everything(client: Client, standing: dict[str, Wall], what: str) -> None:
    _needs(standing, "limits", "calls", "user")
    attempt(client, _LIMITS[what])


def test_a_directory_of_its_own(client: Client, standing: dict[str, Wall]) -> None:
    """Temporary files work, and nobody else sees them."""
    _needs(standing, "directory")
    client.run(
        "CREATE FUNCTION kept(a INT) RETURNS VARCHAR LANGUAGE python AS $$import os, tempfile\ndef kept(a):\n"
        "    with tempfile.NamedTemporaryFile('w+', prefix='of-a-worker') as file:\n"
        "        file.write('x' * 1000); file.seek(0)\n"
        "        return f'{len(file.read())} {os.getcwd()}'$$"
    )
    assert client.run("SELECT kept(1)") == [("1000 /var/tmp",)]
    assert not list(Path("/var/tmp").glob("of-a-worker*"))


@pytest.mark.parametrize("what", ["large files", "many files"])
def test_what_one_function_leaves_does_not_fill_the_next_ones(
    client: Client, standing: dict[str, Wall], what: str
) -> None:
    _needs(standing, "directory")
    attempt(client, _LIMITS[what])
    client.run("CREATE FUNCTION writes(a INT) RETURNS INT LANGUAGE python AS $$def writes(a):\n"
               "    with open('x', 'wb') as file: return file.write(bytes(8 << 20))$$")  # fmt: skip
    for _ in range(5):  # more calls than there are idle workers
        assert client.run("SELECT writes(1)") == [(8 << 20,)]


def test_the_servers_environment_is_not_there(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD_OF_THE_SERVER", "hunter2")
    client.run("CREATE FUNCTION names(a INT) RETURNS VARCHAR LANGUAGE python AS $$import os\n"
               "def names(a): return ' '.join(sorted(os.environ))$$")  # fmt: skip
    [(names,)] = client.run("SELECT names(1)")
    assert "PASSWORD_OF_THE_SERVER" not in str(names)
    assert set(str(names).split()) <= {
        *("ARROW_DEFAULT_MEMORY_POOL", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "MALLOC_ARENA_MAX"),
        *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONHOME", "PYTHONPATH"),
        *("JE_ARROW_MALLOC_CONF", "TMPDIR", "TZ"),
    }


def test_what_functions_need_works(client: Client) -> None:
    """Libraries, also those that are imported late; time zones, threads, random numbers, files of packages."""
    client.run(
        "CREATE FUNCTION useful(a INT) RETURNS VARCHAR LANGUAGE python AS $$\n"
        "def useful(a):\n"
        "    import concurrent.futures, decimal, hashlib, json, random, secrets, sqlite3, uuid, zoneinfo, datetime\n"
        "    import numpy, pyarrow.compute, importlib.resources\n"
        "    pool = concurrent.futures.ThreadPoolExecutor(2)\n"
        "    found = sum(pool.map(lambda k: k + a, range(3)))\n"
        "    pool.shutdown()\n"
        "    zone = datetime.datetime(2026, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')).utcoffset()\n"
        "    rows = sqlite3.connect(':memory:').execute('SELECT 40 + 2').fetchone()[0]\n"
        "    numbers = numpy.linalg.inv(numpy.eye(3)).sum(), pyarrow.compute.sum(pyarrow.array([1, 2])).as_py()\n"
        "    secrets.token_hex(4), random.random(), uuid.uuid4(), hashlib.sha256(b'').hexdigest()\n"
        "    return f'{found} {zone} {rows} {numbers[0]:g} {numbers[1]}'$$"
    )
    assert client.run("SELECT useful(1)") == [("6 2:00:00 42 3 3",)]


def test_each_worker_is_another_user(client: Client, standing: dict[str, Wall]) -> None:
    _needs(standing, "user")
    client.run("CREATE FUNCTION who(a INT) RETURNS VARCHAR LANGUAGE python AS $$import os\n"
               "def who(a): return f'{os.getuid()} {os.geteuid()} {os.getgroups()}'$$")  # fmt: skip
    [(found,)] = client.run("SELECT who(1)")
    user, effective, groups = str(found).split(" ", 2)
    assert user == effective and int(user) > 0x70000000 and groups == "[]"


def test_the_log_tells_which_walls_stand(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [Wall("files", True, "Landlock, version 7"), Wall("user", False, "the server is not root")]
    monkeypatch.setattr(standing_walls, "walls", lambda: told)
    with caplog.at_level(logging.INFO):
        standing_walls.tell_of_walls()
    assert "functions in Python are confined by: files (Landlock, version 7)" in caplog.text
    assert "not confined by the wall of user: the server is not root" in caplog.text


def test_threads_of_the_caller_do_not_matter(client: Client) -> None:
    """Workers begin in any thread, several at once."""
    client.run("CREATE FUNCTION sound(a INT) RETURNS INT LANGUAGE python AS $$def sound(a): return a + 1$$")
    found: list[Wall] = []
    threads = [threading.Thread(target=lambda: found.extend(walls())) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({(wall.name, wall.stands) for wall in found}) == len(found) // 6
    assert os.getcwd() and client.run("SELECT sound(1)") == [(2,)]
