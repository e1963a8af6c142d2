"""A server behind its door, with TLS, and certificates of a CA of our own."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from risingpy.config import ServeConfig, load_serve_config
from risingpy.door_settings import door_of, tls_of
from risingpy.frontend.authentication.door import Door
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session import open_session
from risingpy.frontend.wire import Limits, WireServer
from risingpy.meta.database import Database
from risingpy.meta.epochs.in_process_runner import InProcessRunner

SETUP = """
CREATE USER alice PASSWORD 'secret'; CREATE USER late PASSWORD 'secret' VALID UNTIL '2001-01-01';
CREATE USER robot; CREATE ROLE sleeper NOLOGIN PASSWORD 'secret'; CREATE USER one PASSWORD 'secret' CONNECTION LIMIT 1;
GRANT CREATE ON SCHEMA public TO alice
"""


@dataclass(frozen=True)
class Authority:
    """A CA, whose certificate is `file`."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate
    file: Path

    @classmethod
    def made(cls, file: Path) -> Authority:
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"CA {file.name}")])
        basic = x509.BasicConstraints(ca=True, path_length=None)
        made = _certificate(name, name, key.public_key()).add_extension(basic, critical=True).sign(key, hashes.SHA256())
        file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        return cls(key, made, file)

    def issue(self, name: str, certificate: Path, key_file: Path) -> None:
        """A certificate of a client or of the server at localhost and 127.0.0.1."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        places = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        made = _certificate(subject, self.certificate.subject, key.public_key())
        made = made.add_extension(x509.SubjectAlternativeName(places), critical=False)
        certificate.write_bytes(made.sign(self.key, hashes.SHA384()).public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        key_file.write_bytes(key.private_bytes(serialization.Encoding.PEM, *form))
        key_file.chmod(0o600)


def _certificate(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(hours=1))
    return builder.not_valid_after(now + datetime.timedelta(hours=1))


@dataclass
class Served:
    """A running server."""

    wire: WireServer
    door: Door
    database: Database
    directory: Path

    @property
    def port(self) -> int:
        return self.wire.port


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with ca.crt, server.crt, alice.crt, robot.crt, and other.crt of another CA."""
    directory = tmp_path_factory.mktemp("certificates")
    authority = Authority.made(directory / "ca.crt")
    for name in ("server", "alice", "robot"):
        authority.issue(name, directory / f"{name}.crt", directory / f"{name}.key")
    stranger = Authority.made(directory / "other-ca.crt")
    stranger.issue("alice", directory / "other.crt", directory / "other.key")
    return directory


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    opened = Database(tmp_path_factory.mktemp("door") / "data", parallelism=1)
    opened.start(InProcessRunner(opened.data_dir))
    session = open_session(opened, StartupParameters("root", "dev"))
    for statement in session.split(SETUP):
        session.execute(session.prepare(statement, ()), ())
    session.close()
    yield opened
    opened.close()


@contextmanager
def serving(
    database: Database,
    certificates: Path,
    directory: Path,
    *hba: str,
    tls: bool = False,
    limits: Limits | None = None,
    **options: object,
) -> Iterator[Served]:
    """A server with rules, with or without TLS; its Unix socket is in the directory."""
    config = replace(base_config(), data_dir=database.data_dir, hba=hba, **options)  # type: ignore[arg-type]
    if tls:
        files = {"tls_cert": "server.crt", "tls_key": "server.key", "tls_ca": "ca.crt"}
        config = replace(config, **{name: certificates / file for name, file in files.items()})  # type: ignore[arg-type]
    door = door_of(config, database)
    wire = WireServer(
        "127.0.0.1",
        0,
        lambda startup: open_session(database, startup),
        limits=limits,
        door=door,
        tls=tls_of(config),
        socket_directory=directory,
    )
    wire.start()
    try:
        yield Served(wire, door, database, directory)
    finally:
        wire.stop()


@pytest.fixture
def serve(database: Database, certificates: Path, tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts servers with rules, with or without TLS."""
    with ExitStack() as started:

        def serve(*hba: str, **options: Any) -> Served:
            return started.enter_context(serving(database, certificates, tmp_path, *hba, **options))

        yield serve


def base_config() -> ServeConfig:
    return load_serve_config({}, {}, None)
