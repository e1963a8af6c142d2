"""TLS of the server: its certificate, what it asks of clients, and the handshake."""

from __future__ import annotations

import hashlib
import os
import socket
import ssl
import stat
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

ALPN = "postgresql"
_VERSIONS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
VERSIONS = tuple(_VERSIONS)
_WEAK_DIGESTS = ("md5", "sha1")  # RFC 5929 takes SHA-256 in their place


class BadTls(ValueError):
    """The files do not make a TLS server. The operator must act."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The server's certificate with those between it and the root, its key, and whose certificates clients may show."""

    certificate: Path
    key: Path
    authority: Path | None = None
    least_version: str = "1.2"


class ServerTls:
    """What handshakes need, read from the files once: a reload makes another one."""

    def __init__(self, files: TlsFiles) -> None:
        """Raises BadTls if a file cannot be read, or others may read the key."""
        _check_key(files.key)
        self._context = context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = _VERSIONS[files.least_version]
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.num_tickets = 0  # as PostgreSQL's: a connection is too long for a resumed session to matter
        context.set_alpn_protocols([ALPN])
        try:
            context.load_cert_chain(files.certificate, files.key, password=_no_password)
            self.binding = _binding(files.certificate.read_bytes())
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            reason = getattr(error, "strerror", None) or error
            raise BadTls(f"could not load certificate {files.certificate} with key {files.key}: {reason}") from None
        if files.authority is not None:
            try:
                context.load_verify_locations(files.authority)
            except OSError as error:
                raise BadTls(f"could not load root certificates {files.authority}: {error.strerror or error}") from None
            context.verify_mode = ssl.CERT_OPTIONAL  # the rules say who must show one

    def handshake(self, connected: socket.socket) -> ssl.SSLSocket:
        """The socket, encrypted; not yet shaken hands: `do_handshake` is the caller's, who can be cut meanwhile."""
        return self._context.wrap_socket(connected, server_side=True, do_handshake_on_connect=False)


def common_name(shaken: ssl.SSLSocket) -> str | None:
    """The name in the certificate that the client has shown, and that the CA has signed."""
    certificate = shaken.getpeercert()
    for part in (certificate or {}).get("subject", ()):
        for pair in part:
            if isinstance(pair, tuple) and pair[0] == "commonName":
                return str(pair[1])
    return None


def _no_password() -> str:
    raise BadTls("the key is protected by a password, which nobody can type at a server's start")


def _check_key(key: Path) -> None:
    """PostgreSQL's rule: the key is ours and nobody else's, or root's and readable by a group of ours."""
    try:
        status = key.stat()
    except OSError as error:
        raise BadTls(f"could not access private key file {key}: {error.strerror}") from None
    if not stat.S_ISREG(status.st_mode):
        raise BadTls(f"private key file {key} is not a regular file")
    if status.st_uid not in (os.geteuid(), 0):
        raise BadTls(f"private key file {key} must be owned by the server's user or root")
    allowed = 0o740 if status.st_uid == 0 and os.geteuid() != 0 else 0o700
    if stat.S_IMODE(status.st_mode) & ~allowed:
        raise BadTls(
            f"private key file {key} has group or world access: it must have permissions u=rw (0600) or less, "
            "or u=rw,g=r (0640) or less if root owns it"
        )


def _binding(chain: bytes) -> bytes | None:
    """`tls-server-end-point` (RFC 5929): the digest of the certificate, by the hash of its signature.

    None if the signature has no hash of its own (Ed25519): then there is no channel binding.
    """
    certificate = x509.load_pem_x509_certificate(chain)
    algorithm = certificate.signature_hash_algorithm
    if algorithm is None:
        return None
    name = "sha256" if algorithm.name in _WEAK_DIGESTS else algorithm.name
    der = ssl.PEM_cert_to_DER_cert(_first_certificate(chain.decode("ascii")))
    return hashlib.new(name, der).digest()


def _first_certificate(chain: str) -> str:
    end = "-----END CERTIFICATE-----"
    begin = chain.index("-----BEGIN CERTIFICATE-----")
    return chain[begin : chain.index(end, begin) + len(end)]
