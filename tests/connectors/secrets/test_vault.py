"""The key file, and what it seals: every byte counts, and a wrong key is told from a damaged value."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from risingpy.connectors.secrets.vault import SecretKeyUnavailable, Vault, default_key_file


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return Vault(tmp_path / "key")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_what_is_sealed_opens_again(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    vault = Vault(tmp_path_factory.getbasetemp() / "a-key")
    assert vault.open(vault.seal(text)) == text


def test_the_same_text_looks_different_each_time(vault: Vault) -> None:
    assert len({vault.seal("hunter2") for _ in range(100)}) == 100
    assert b"hunter2" not in vault.seal("hunter2")


def test_the_key_file_is_made_when_it_is_needed_and_only_for_its_owner(vault: Vault) -> None:
    assert not vault.key_file.exists()
    vault.seal("x")
    assert stat.S_IMODE(vault.key_file.stat().st_mode) == 0o600
    assert len(bytes.fromhex(vault.key_file.read_text())) == 32
    assert [path.name for path in vault.key_file.parent.iterdir()] == ["key"]


def test_another_vault_of_the_file_opens_it(vault: Vault) -> None:
    box = vault.seal("hunter2")
    assert Vault(vault.key_file).open(box) == "hunter2"


def test_every_changed_bit_is_found(vault: Vault) -> None:
    box = vault.seal("hunter2")
    for place in range(len(box)):
        changed = box[:place] + bytes([box[place] ^ 1]) + box[place + 1 :]
        with pytest.raises(SecretKeyUnavailable):
            vault.open(changed)
    for length in range(len(box)):
        with pytest.raises(SecretKeyUnavailable):
            vault.open(box[:length])


def test_another_key_is_told(vault: Vault, tmp_path: Path) -> None:
    box = vault.seal("hunter2")
    other = Vault(tmp_path / "other")
    other.seal("x")
    with pytest.raises(SecretKeyUnavailable, match="sealed with another key"):
        other.open(box)
    assert vault.opens(box) and not other.opens(box)


def test_a_key_that_others_may_read_is_refused(vault: Vault) -> None:
    box = vault.seal("x")
    for mode in (0o604, 0o644, 0o666, 0o620):
        vault.key_file.chmod(mode)
        with pytest.raises(SecretKeyUnavailable, match="has group or world access"):
            Vault(vault.key_file).open(box)
    vault.key_file.chmod(0o400)
    assert Vault(vault.key_file).open(box) == "x"


@pytest.mark.parametrize("content", ["", "abc", "z" * 64, "ab" * 31, "ab" * 33, "äö"])
def test_a_file_that_is_no_key_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "key"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(SecretKeyUnavailable, match="64 hexadecimal digits"):
        Vault(path).seal("x")
    assert path.read_text() == content


def test_a_place_where_no_key_can_be_made(tmp_path: Path) -> None:
    with pytest.raises(SecretKeyUnavailable, match="cannot make the key file"):
        Vault(tmp_path / "missing" / "key").seal("x")


def test_many_threads_make_one_key(tmp_path: Path) -> None:
    vaults = [Vault(tmp_path / "key") for _ in range(8)]
    boxes: list[bytes] = []
    threads = [threading.Thread(target=lambda v=v: boxes.append(v.seal("x"))) for v in vaults]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({box[:9] for box in boxes}) == 1


def test_a_secret_as_a_file_is_only_in_memory(vault: Vault, tmp_path: Path) -> None:
    box = vault.seal("-----BEGIN CERTIFICATE-----")
    path = vault.file_of(box)
    assert Path(path).read_text() == "-----BEGIN CERTIFICATE-----"
    assert vault.file_of(box) == path
    assert os.readlink(path).startswith("/memfd:")


def test_the_default_lies_outside_of_the_data_directory(tmp_path: Path) -> None:
    assert default_key_file(tmp_path / "data") == tmp_path / "data.key"
    code = "from risingpy.connectors.secrets.vault import *; print(default_key_file(Path('.')))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert Path(ran.stdout.strip()) == tmp_path.with_name(f"{tmp_path.name}.key")
