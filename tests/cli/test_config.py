"""Where the server's settings come from, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from risingpy.config import (
    NOT_ON_THE_COMMAND_LINE,
    OPTIONS,
    ConfigError,
    ServeConfig,
    default_parallelism,
    load_serve_config,
)
from risingpy.executors.spark.session import SparkSettings


@pytest.fixture(autouse=True)
def empty_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, text: str) -> Path:
    path = Path(name)
    path.write_text(text)
    return path


def test_defaults() -> None:
    shards = default_parallelism()
    assert load_serve_config({}, {}) == ServeConfig(
        data_dir=Path("risingpy-data"), host="127.0.0.1", port=4566, master=f"local[{shards},4]",
        parallelism=shards, log_level="info", engine="spark", memory=0,
    )  # fmt: skip


def test_flags_win_over_environment_over_file() -> None:
    write("risingpy.toml", 'host = "file"\nport = 1\nlog_level = "debug"\n')
    config = load_serve_config({"port": 3, "host": None}, {"RISINGPY_PORT": "2", "RISINGPY_HOST": "environment"})
    assert (config.port, config.host, config.log_level) == (3, "environment", "debug")


def test_the_master_follows_the_parallelism() -> None:
    assert load_serve_config({"parallelism": 3}, {}).master == "local[3,4]"
    assert load_serve_config({"parallelism": 3}, {"RISINGPY_MASTER": "local[7,4]"}).master == "local[7,4]"


@pytest.mark.parametrize("master", ["local", "local[*]", "local[3]", "local[*,2]", "local[3,4]"])
def test_a_master_of_this_machine_is_taken(master: str) -> None:
    assert load_serve_config({"master": master}, {}).master == master
    assert SparkSettings(master, 2).master == master


@pytest.mark.parametrize(
    "master",
    ["spark://host:7077", "yarn", "k8s://https://host", "mesos://host:5050", "local-cluster[2,1,1024]", "localhost",
     "local[", "local[2", "Local", "local[2]\n"],
)  # fmt: skip
def test_a_master_of_other_machines_is_refused_wherever_it_comes_from(master: str) -> None:
    with pytest.raises(ConfigError, match=r"(?s)^--master must be .*this machine's disk"):
        load_serve_config({"master": master}, {})
    with pytest.raises(ConfigError, match=r"^RISINGPY_MASTER must be"):
        load_serve_config({}, {"RISINGPY_MASTER": master})
    write("risingpy.toml", f"master = {json.dumps(master)}\n")
    with pytest.raises(ConfigError, match=r"^risingpy.toml: master must be"):
        load_serve_config({}, {})
    with pytest.raises(ConfigError, match=r"^master must be"):
        SparkSettings(master, 2)


@pytest.mark.parametrize("master", ["spark://host:7077", "spark://a:7077,b:7077", "local-cluster[2,1,900]", "local[2]"])
def test_a_cluster_is_taken_if_the_state_is_shared(master: str) -> None:
    assert load_serve_config({"master": master, "state": "file:///shared/db"}, {}).master == master
    assert SparkSettings(master, 2, shared=True).master == master


@pytest.mark.parametrize("master", ["yarn", "k8s://https://host", "spark://host", "spark://", "local-cluster[2]"])
def test_other_clusters_are_refused_with_a_shared_state_too(master: str) -> None:
    with pytest.raises(ConfigError, match=r'^--master must be "local\[N\]" or "spark://HOST:PORT", not'):
        load_serve_config({"master": master, "state": "file:///shared/db"}, {})


def test_the_file_is_the_named_one(tmp_path: Path) -> None:
    write("risingpy.toml", "port = 1\n")
    other = write("other.toml", "port = 2\n")
    assert load_serve_config({}, {}, other).port == 2
    assert load_serve_config({}, {"RISINGPY_CONFIG": str(other)}).port == 2
    assert load_serve_config({}, {}).port == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1\n", r'risingpy.toml: unknown key "prot", did you mean "port"\?; keys are data_dir,'),
        ("[server]\nport = 1\n", 'unknown key "server"'),
        ("port = \n", "risingpy.toml is not TOML"),
        ('port = "many"\n', "risingpy.toml: port must be a whole number from 0 to 65535, not 'many'"),
        ("port = true\n", "must be a whole number"),
        ("port = 70000\n", "must be a whole number"),
        ("host = 5\n", "risingpy.toml: host must be a text, not 5"),
        ('log_level = "loud"\n', "must be one of debug, info, warning, error, not 'loud'"),
        ("parallelism = 0\n", "from 1 to 256"),
    ],
)
def test_what_the_file_may_not_say(text: str, message: str) -> None:
    write("risingpy.toml", text)
    with pytest.raises(ConfigError, match=message):
        load_serve_config({}, {})


def test_a_missing_file_is_an_error_only_if_it_was_named() -> None:
    with pytest.raises(ConfigError, match=r"cannot read nowhere.toml: No such file"):
        load_serve_config({}, {}, Path("nowhere.toml"))


def test_a_typo_in_the_environment_is_refused_but_others_variables_are_not() -> None:
    with pytest.raises(ConfigError, match=r'"RISINGPY_DATADIR", did you mean "RISINGPY_DATA_DIR"\?'):
        load_serve_config({}, {"RISINGPY_DATADIR": "/x"})
    load_serve_config({}, {"RISINGPY_CRASH_ROUNDS": "3", "RISINGPY_JAVA": "/x/java"})


def test_every_option_has_a_flag() -> None:
    from risingpy.cli import serve

    assert {*OPTIONS, "config"} - NOT_ON_THE_COMMAND_LINE == {parameter.name for parameter in serve.params}


def test_rules_are_lines() -> None:
    write("risingpy.toml", 'hba = ["local all all peer", "host all all all reject"]\n')
    assert load_serve_config({}, {}).hba == ("local all all peer", "host all all all reject")
    assert (
        load_serve_config({}, {"RISINGPY_HBA": "local all all peer\nhost all all all trust"}).hba[1].endswith("trust")
    )
    assert load_serve_config({"hba": ("host all all all reject",)}, {}).hba == ("host all all all reject",)
    write("risingpy.toml", "hba = [1]\n")
    with pytest.raises(ConfigError, match=r"risingpy.toml: hba must be a list of lines"):
        load_serve_config({}, {})


def test_switches_and_the_socket() -> None:
    assert load_serve_config({}, {"RISINGPY_INSECURE": "on"}).insecure
    assert not load_serve_config({"insecure": None}, {}).insecure
    with pytest.raises(ConfigError, match="RISINGPY_INSECURE must be true or false"):
        load_serve_config({}, {"RISINGPY_INSECURE": "perhaps"})
    assert load_serve_config({"unix_socket_directory": "none"}, {}).unix_socket_directory is None
    assert load_serve_config({"unix_socket_directory": "/run/x"}, {}).unix_socket_directory == Path("/run/x")
