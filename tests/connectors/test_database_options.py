"""What the options of mysql-cdc and postgres-cdc have in common is checked alike. Nothing is connected."""

from __future__ import annotations

import pytest

from risingpy.connectors.registry import pushed_connector_of
from risingpy.errors import FeatureNotSupported, InvalidParameterValue

CONNECTORS = ["postgres-cdc", "mysql-cdc"]
COMPLETE = {"hostname": "127.0.0.1", "username": "u", "password": "p", "database.name": "d"}


@pytest.fixture(params=CONNECTORS)
def connector(request: pytest.FixtureRequest) -> str:
    if request.param == "mysql-cdc":
        pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    return str(request.param)


@pytest.mark.parametrize("more", [{}, {"port": "1"}, {"auto.schema.change": "false"}, {"ssl.mode": "DISABLED"}])
def test_what_is_taken(connector: str, more: dict[str, str]) -> None:
    assert pushed_connector_of({"connector": connector, **COMPLETE, **more}).name == connector


@pytest.mark.parametrize("missing", ["hostname", "username", "database.name"])
def test_what_is_needed(connector: str, missing: str) -> None:
    given = {name: value for name, value in COMPLETE.items() if name != missing}
    with pytest.raises(InvalidParameterValue, match=f"the {connector} connector needs the option {missing}"):
        pushed_connector_of({"connector": connector, **given})


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("port", "0", 'invalid port "0"'),
        ("port", "x", 'invalid port "x"'),
        ("port", "65536", 'invalid port "65536"'),
        ("ssl.mode", "maybe", 'invalid ssl.mode "maybe"'),
        ("auto.schema.change", "perhaps", "auto.schema.change must be true or false"),
        ("colour", "red", 'unknown option "colour" of the {} connector'),
    ],
)
def test_what_is_wrong(connector: str, name: str, value: str, text: str) -> None:
    with pytest.raises(InvalidParameterValue, match=text.format(connector)):
        pushed_connector_of({"connector": connector, **COMPLETE, name: value})


def test_following_columns_is_refused_by_name() -> None:
    pytest.importorskip("pymysql", reason="PyMySQL is not installed")
    refusal = r"auto\.schema\.change = 'true' is not supported by the mysql-cdc connector"
    with pytest.raises(FeatureNotSupported, match=refusal):
        pushed_connector_of({"connector": "mysql-cdc", **COMPLETE, "auto.schema.change": "true"})
