"""Each pushed connector of the table implements the whole protocol: the type checker reads this file, too."""

from __future__ import annotations

import inspect

import pytest

from risingpy.connectors.postgres_cdc import PostgresCdcConnector
from risingpy.connectors.pushed import PushedConnector
from risingpy.connectors.registry import pushed_connector_of

OF_DATABASES = {"hostname": "127.0.0.1", "username": "u", "database.name": "d"}
POSTGRES: type[PushedConnector] = PostgresCdcConnector


@pytest.mark.parametrize("name", ["postgres-cdc", "mysql-cdc"])
def test_it_has_every_method_as_the_protocol_has_it(name: str) -> None:
    if name == "mysql-cdc":
        pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    made = pushed_connector_of({"connector": name, **OF_DATABASES})
    for method, wanted in inspect.getmembers(PushedConnector, inspect.isfunction):
        if not method.startswith("_"):
            found = inspect.signature(getattr(type(made), method))
            assert _called(found) == _called(inspect.signature(wanted)), method


def _called(signature: inspect.Signature) -> list[object]:
    """How it is called: by position, or by which name."""
    by_name = inspect.Parameter.KEYWORD_ONLY
    return [each.name if each.kind is by_name else each.kind for each in signature.parameters.values()]
