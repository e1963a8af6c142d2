"""The key of a data directory, and what it seals: AES-256-GCM of the library `cryptography`.

    box = version u8 | first 8 bytes of SHA-256("risingpy key" | key) | nonce (12 bytes) | ciphertext and tag (16 bytes)

The head (version and key's mark) is authenticated too. The key lies in a file of its own, outside of the data
directory, so that a copy of the directory, such as a backup, opens nothing. The file is made when the first value is
sealed.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import stat
import threading
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from risingpy.errors import IoError
from risingpy.formats import SECRETS

KEY_BYTES = 32
_VERSION = bytes((SECRETS.written,))
_MARK_BYTES, _NONCE_BYTES = 8, 12
_HEAD_BYTES = len(_VERSION) + _MARK_BYTES


class SecretKeyUnavailable(IoError):
    """A value cannot be sealed or opened: the operator must give the server the right key file."""

    sqlstate = "58P01"


def default_key_file(data_dir: Path) -> Path:
    """Beside the data directory: `/var/lib/risingpy.key` for `/var/lib/risingpy`."""
    absolute = data_dir.absolute()
    return absolute.with_name(f"{absolute.name}.key")


class Vault:
    """Seals and opens values with the key of one file. Any thread may use it."""

    def __init__(self, key_file: Path, read: Callable[[Path], bytes] | None = None) -> None:
        """Reads nothing yet. `read` gives the key, if it is not to be read from a file of this machine."""
        self.key_file = key_file
        self._read = read or read_key
        self._guard = threading.Lock()
        self._cipher: tuple[AESGCM, bytes] | None = None  # with the head of what it seals
        self._files: dict[bytes, int] = {}  # by box, the descriptor of a file in memory

    def seal(self, text: str) -> bytes:
        """The text, sealed. It makes the key file if there is none. Raises SecretKeyUnavailable."""
        with self._guard:
            if self._cipher is None and not self.key_file.exists():
                _make_key_file(self.key_file)
            cipher, head = self._opened()
        nonce = os.urandom(_NONCE_BYTES)
        return head + nonce + cipher.encrypt(nonce, text.encode(), head)

    def open(self, box: bytes) -> str:
        """The text that was sealed. Raises SecretKeyUnavailable if the key is not there, or is another one."""
        with self._guard:
            cipher, head = self._opened()
        nonce = box[_HEAD_BYTES : _HEAD_BYTES + _NONCE_BYTES]
        if box[:_HEAD_BYTES] != head:
            raise SecretKeyUnavailable(
                f"a secret was sealed with another key than that of {self.key_file}",
                hint="Start the server with the right --secret-key-file, or set the secret again (ALTER).",
            )
        try:
            if len(nonce) < _NONCE_BYTES:
                raise InvalidTag
            return cipher.decrypt(nonce, box[_HEAD_BYTES + _NONCE_BYTES :], head).decode()
        except InvalidTag:
            raise SecretKeyUnavailable("a stored secret is damaged", hint="Set it again (ALTER).") from None

    def opens(self, box: bytes) -> bool:
        """Whether the key is the one that sealed it. Raises SecretKeyUnavailable if there is no key."""
        with self._guard:
            return box[:_HEAD_BYTES] == self._opened()[1]

    def file_of(self, box: bytes) -> str:
        """The path of a file, in memory and only for this process, with the text that was sealed."""
        text = self.open(box)
        with self._guard:
            if box not in self._files:
                descriptor = os.memfd_create("secret", os.MFD_CLOEXEC)
                os.write(descriptor, text.encode())
                self._files[box] = descriptor
            return f"/proc/{os.getpid()}/fd/{self._files[box]}"

    def _opened(self) -> tuple[AESGCM, bytes]:
        if self._cipher is None:
            key = self._read(self.key_file)
            mark = hashlib.sha256(b"risingpy key" + key).digest()[:_MARK_BYTES]
            self._cipher = AESGCM(key), _VERSION + mark
        return self._cipher


def read_key(path: Path) -> bytes:
    """The key in the file: 64 hexadecimal digits. Raises SecretKeyUnavailable, also if others may read it."""
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            text = file.read(1024)
    except OSError as error:
        hint = "Give the file's place with --secret-key-file."
        raise SecretKeyUnavailable(f"cannot read the key file {path}: {error.strerror}", hint=hint) from None
    mode = stat.S_IMODE(found.st_mode)
    allowed = 0o640 if found.st_uid == 0 else 0o600  # as PostgreSQL has it for its private key
    if mode & ~allowed & 0o077:
        raise SecretKeyUnavailable(
            f"key file {path} has group or world access (mode {mode:04o})",
            hint="chmod 600 it. If it belongs to root, 640 will do.",
        )
    try:
        key = bytes.fromhex(text.decode("ascii").strip())
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        hint = "openssl rand -hex 32 makes one."
        raise SecretKeyUnavailable(f"key file {path} does not have {2 * KEY_BYTES} hexadecimal digits", hint=hint)
    return key


def _make_key_file(path: Path) -> None:
    """Makes a key, durably: nothing may be sealed with a key that a power loss takes away."""
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, f"{secrets.token_hex(KEY_BYTES)}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        try:
            os.link(unfinished, path)
        except FileExistsError:
            pass  # somebody else was first: theirs is the key
        finally:
            unfinished.unlink()
        directory = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
    except OSError as error:
        hint = "Give another place with --secret-key-file: a file outside of the data directory."
        raise SecretKeyUnavailable(f"cannot make the key file {path}: {error.strerror}", hint=hint) from None
