"""Each stock tool does its rounds on a server, in its own environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.frontend.wire import WireServer
from tests.clients.environments import needs_environments, node_modules_of, output_of, python_of

PROGRAMS = Path(__file__).parent / "programs"
SQLALCHEMY = ("sqlalchemy>=2.0", "alembic", "psycopg[binary]", "psycopg2-binary", "greenlet")
DATA = ("pandas", "polars", "pyarrow", "adbc-driver-postgresql", "asyncpg", "pg8000", *SQLALCHEMY)
NODE = ("pg", "knex", "sequelize", "typeorm", "reflect-metadata", "kysely")
# Ibis 12 needs packaging and does not ask for it, and leaves the name out of DROP TABLE with sqlglot 30.
IBIS = ("ibis-framework[postgres,risingwave]", "packaging", "sqlglot==27.*", "psycopg2-binary", "psycopg[binary]")

pytestmark = [needs_environments, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_sqlalchemy_and_alembic(server: WireServer, driver: str) -> None:
    python = python_of("sqlalchemy", SQLALCHEMY)
    output_of(python, PROGRAMS / "sqlalchemy_tour.py", f"postgresql+{driver}://root@127.0.0.1:{server.port}/dev")


def test_django(server: WireServer) -> None:
    python = python_of("django", ("django==5.2.*", "psycopg[binary,pool]"))
    output_of(python, PROGRAMS / "django_tour.py", server.port)


def test_data_frames_and_drivers(server: WireServer) -> None:
    python = python_of("data", DATA)
    output_of(python, PROGRAMS / "data_tour.py", server.port)
    output_of(python, PROGRAMS / "notify_tour.py", server.port)


@pytest.mark.parametrize("tool", ["pg", "knex", "sequelize", "typeorm", "kysely"])
def test_node(server: WireServer, tool: str) -> None:
    modules = node_modules_of("node", NODE)
    output_of("node", PROGRAMS / f"{tool}_tour.js", server.port, NODE_PATH=str(modules))


def test_drizzle_kit(server: WireServer, tmp_path: Path) -> None:
    modules = node_modules_of("drizzle", ("drizzle-kit", "drizzle-orm", "pg"))
    output_of("node", PROGRAMS / "drizzle_kit_tour.js", server.port, tmp_path, NODE_PATH=str(modules))


@pytest.mark.parametrize("backend", ["postgres", "risingwave"])
def test_ibis(server: WireServer, backend: str) -> None:
    python = python_of("ibis", IBIS)
    output_of(python, PROGRAMS / "ibis_tour.py", backend, server.port)


@pytest.mark.parametrize("adapter", ["postgres", "risingwave"])
def test_dbt(server: WireServer, adapter: str, tmp_path: Path) -> None:
    python = python_of("dbt", ("dbt-core==1.10.*", "dbt-postgres", "dbt-risingwave"))
    output_of(python, PROGRAMS / "dbt_tour.py", adapter, server.port, tmp_path)
