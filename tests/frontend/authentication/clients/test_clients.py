"""Five clients at one door: who is let in, and what each client itself says of those who are not.

psql and psycopg are libpq; asyncpg, pgjdbc and node's pg have protocols of their own. pgjdbc (Debian's
libpostgresql-jdbc-java) and pg (npm) are marked slow: `make door-test` runs them where they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from risingpy.meta.database import Database
from tests.frontend.authentication.clients.attempts import (
    Attempt,
    Outcome,
    Place,
    through_asyncpg,
    through_program,
    through_psql,
    through_psycopg,
)
from tests.frontend.authentication.conftest import serving

HERE = Path(__file__).parent
JAR = Path(os.environ.get("RISINGPY_PGJDBC", "/usr/share/java/postgresql.jar"))
RULES = ("hostssl all robot all cert", "hostssl all all all scram-sha-256", "hostnossl all alice all scram-sha-256")
Client = Callable[[Place, Sequence[Attempt]], list[Outcome]]

LET_IN = (
    Attempt(tls=False, authority=None),
    Attempt(authority=None),
    Attempt(),
    Attempt(bound=True),
    Attempt("robot", "", certificate="robot"),
)
REFUSED = {
    Attempt(password="wrong"): ("28P01", 'password authentication failed for user "alice"'),
    Attempt("mallory"): ("28P01", 'password authentication failed for user "mallory"'),
    Attempt("late"): ("28P01", 'password authentication failed for user "late"'),
    Attempt("sleeper"): ("28000", 'role "sleeper" is not permitted to log in'),
    Attempt(database="nosuch"): ("3D000", 'database "nosuch" does not exist'),
    Attempt("robot", tls=False, authority=None): ("28000", "no pg_hba.conf entry for host "),
    Attempt("robot", certificate="alice"): ("28000", 'certificate authentication failed for user "robot"'),
}
WRONG_AUTHORITY = Attempt(authority="other-ca")
UNKNOWN_CERTIFICATE = Attempt("robot", "", certificate="other")


@pytest.fixture(scope="module")
def place(database: Database, certificates: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One server for all of these."""
    with serving(database, certificates, tmp_path_factory.mktemp("socket"), *RULES, tls=True) as served:
        yield Place(served.port, certificates)


@pytest.mark.skipif(shutil.which("psql") is None, reason="needs psql")
def test_psql(place: Place) -> None:
    judge(through_psql, place, says_sqlstates=False, of_the_authority="certificate verify failed")


def test_psycopg(place: Place) -> None:
    judge(through_psycopg, place, says_sqlstates=False, of_the_authority="certificate verify failed")


def test_asyncpg(place: Place) -> None:
    judge(through_asyncpg, place, says_sqlstates=True, of_the_authority="certificate verify failed")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("java") is None, reason="needs java")
@pytest.mark.skipif(
    not JAR.exists(), reason=f"needs pgjdbc: {JAR} (Debian: libpostgresql-jdbc-java), or RISINGPY_PGJDBC"
)
def test_pgjdbc(place: Place) -> None:
    for name in ("alice", "robot", "other"):  # Java reads keys in DER only
        key = serialization.load_pem_private_key(Path(place.file(f"{name}.key")).read_bytes(), None)
        form = serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        Path(place.file(f"{name}.pk8")).write_bytes(key.private_bytes(*form))

    def through_pgjdbc(place: Place, attempts: Sequence[Attempt]) -> list[Outcome]:
        return through_program(["java", "-cp", str(JAR), str(HERE / "Login.java")], place, attempts, {})

    judge(through_pgjdbc, place, says_sqlstates=True, of_the_authority="PKIX path")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="needs node and npm")
def test_node_pg(place: Place, tmp_path: Path) -> None:
    modules = installed_pg(tmp_path)

    def through_node_pg(place: Place, attempts: Sequence[Attempt]) -> list[Outcome]:
        return through_program(["node", str(HERE / "login.cjs")], place, attempts, {"NODE_PATH": modules})

    judge(through_node_pg, place, says_sqlstates=True, of_the_authority="certificate")


def installed_pg(directory: Path) -> str:
    """The folder of node's modules that has pg: the one that NODE_PATH names, or a new one."""
    known = os.environ.get("NODE_PATH", "")
    if known and (Path(known) / "pg").exists():
        return known
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(directory), "pg@8"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if run.returncode:
        pytest.skip(f"needs pg of npm (or NODE_PATH that has it): {run.stderr.strip()[-200:]}")
    return str(directory / "node_modules")


def judge(client: Client, place: Place, *, says_sqlstates: bool, of_the_authority: str) -> None:
    """Every attempt by a client, and what it makes of them. asyncpg and pgjdbc log in without SCRAM-PLUS."""
    outcomes = client(place, [*LET_IN, *REFUSED, WRONG_AUTHORITY, UNKNOWN_CERTIFICATE, Attempt()])
    *outcomes, of_authority, of_certificate, last = outcomes
    let_in, refused = outcomes[: len(LET_IN)], outcomes[len(LET_IN) :]
    assert let_in == [Outcome(attempt.user) for attempt in LET_IN]
    for (attempt, (sqlstate, message)), outcome in zip(REFUSED.items(), refused, strict=True):
        assert outcome.user is None and message in outcome.message, (attempt, outcome)
        assert outcome.sqlstate == (sqlstate if says_sqlstates else None), (attempt, outcome)
    assert of_authority.user is None and of_the_authority in of_authority.message, of_authority
    assert of_certificate.user is None and of_certificate.message, of_certificate
    assert last == Outcome("alice"), "the server has gone on"
