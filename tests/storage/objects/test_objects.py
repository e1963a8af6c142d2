"""What every object store must do: files of a directory always, S3 where moto is installed."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest

from risingpy.errors import InvalidParameterValue
from risingpy.storage.fault_points import of_this_process as faults
from risingpy.storage.objects.directory_objects import DirectoryObjects
from risingpy.storage.objects.object_store import ObjectExists, ObjectMissing, ObjectStore, StateUnavailable, put_own
from risingpy.storage.objects.state_format import IncompatibleState, read_format, read_or_make_format
from risingpy.storage.objects.uri import open_objects
from tests.connectors.systems.s3 import s3_server as s3_server


@pytest.fixture(params=["file", "s3"])
def objects(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    if request.param == "file":
        return open_objects((tmp_path / "shared").as_uri())
    pytest.importorskip("obstore")
    server = request.getfixturevalue("s3_server")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    import boto3

    bucket = f"state-{uuid4()}"
    boto3.client("s3", endpoint_url=server.url).create_bucket(Bucket=bucket)
    return open_objects(f"s3://{bucket}/some/db")


def test_an_object_is_put_once(objects: ObjectStore) -> None:
    objects.put("j/000", b"first")
    with pytest.raises(ObjectExists):
        objects.put("j/000", b"second")
    assert objects.get("j/000") == b"first"
    put_own(objects, "j/000", b"first")  # as after a lost answer


def test_one_of_many_at_once_wins(objects: ObjectStore) -> None:
    def try_it(number: int) -> int | None:
        try:
            objects.put("t/1", str(number).encode())
        except ObjectExists:
            return None
        return number

    with ThreadPoolExecutor(8) as pool:
        won = [number for number in pool.map(try_it, range(8)) if number is not None]
    assert [int(objects.get("t/1"))] == won


def test_a_listing_has_names_in_order_and_sizes(objects: ObjectStore) -> None:
    for name in ("j/10", "j/09", "s/7/b", "s/7/a", "s/70/a", "format.json"):
        objects.put(name, name.encode())
    assert [(found.name, found.size) for found in objects.list("j/")] == [("j/09", 4), ("j/10", 4)]
    assert [found.name for found in objects.list("s/7/")] == ["s/7/a", "s/7/b"]
    assert [found.name for found in objects.list("")] == ["format.json", "j/09", "j/10", "s/7/a", "s/7/b", "s/70/a"]
    assert list(objects.list("none/")) == []


def test_what_is_deleted_is_missing(objects: ObjectStore) -> None:
    objects.put("d/1", b"")
    assert objects.get("d/1") == b""
    objects.delete("d/1")
    objects.delete("d/1")
    with pytest.raises(ObjectMissing):
        objects.get("d/1")


def test_a_format_is_made_once_and_read_again(objects: ObjectStore) -> None:
    assert read_format(objects) is None
    made = read_or_make_format(objects)
    assert read_or_make_format(objects) == made == read_format(objects)


@pytest.mark.parametrize(
    ("stored", "message"),
    [
        (b'{"cluster": "c", "state": 1, "encoding": 1, "hash": 1, "vnodes": 512}', "vnodes 512; this version"),
        (b'{"cluster": "c", "state": 99}', "has state 99"),
        (b"[]", "damaged"),
        (b'{"cluster', "damaged"),
    ],
)
def test_other_formats_are_refused(tmp_path: Path, stored: bytes, message: str) -> None:
    objects = DirectoryObjects(tmp_path)
    objects.put("format.json", stored)
    with pytest.raises(IncompatibleState, match=message):
        read_or_make_format(objects)


def test_a_place_with_other_things_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(IncompatibleState, match=r"not empty, and no database: it has photos/cat\.jpg"):
        read_or_make_format(DirectoryObjects(tmp_path))


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("ftp://host/db", "is no place for state"),
        ("/shared/db", "is no place for state"),
        ("file:shared/db", "is no directory"),
        ("file://host/db", "is no directory"),
        ("s3:///db", "names no bucket"),
        ("", "is no place for state"),
    ],
)
def test_a_wrong_uri_is_refused(uri: str, message: str) -> None:
    with pytest.raises(InvalidParameterValue, match=message) as refused:
        open_objects(uri)
    assert "file:///shared/db" in (refused.value.hint or "")


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    objects = open_objects((tmp_path / "file" / "db").as_uri())
    with pytest.raises(StateUnavailable, match="Not a directory"):
        read_or_make_format(objects)


@pytest.mark.parametrize("point", ["object.write", "object.link", "object.sync"])
def test_a_put_that_the_disk_refuses_can_be_repeated(tmp_path: Path, point: str) -> None:
    objects = DirectoryObjects(tmp_path)
    faults.arm(f"{point}=eio@1")
    try:
        with pytest.raises(StateUnavailable, match="cannot write"):
            objects.put("d/1", b"rows")
    finally:
        faults.arm("")
    put_own(objects, "d/1", b"rows")
    assert objects.get("d/1") == b"rows"


def test_a_put_that_was_interrupted_leaves_no_object(tmp_path: Path) -> None:
    """A process that is killed in a put leaves a file that no listing has, and that is removed when it is old."""
    child = os.fork()
    if not child:
        faults.arm("object.link=kill@1")
        DirectoryObjects(tmp_path).put("d/1", b"rows")
        os._exit(1)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
    objects = DirectoryObjects(tmp_path)
    assert list(objects.list("")) == []
    assert objects.delete_unfinished(before=0) == 0
    assert objects.delete_unfinished(before=2**40) == 1
    assert objects.delete_unfinished(before=2**40) == 0


def test_a_directory_that_goes_is_not_empty_but_gone(tmp_path: Path) -> None:
    """Or a file system that is not mounted any more would look like a journal that ends."""
    root = tmp_path / "shared"
    objects = DirectoryObjects(root)
    objects.put("j/1", b"")
    root.rename(tmp_path / "elsewhere")
    for use in (lambda: objects.get("j/2"), lambda: list(objects.list("j/"))):
        with pytest.raises(StateUnavailable, match="not there any more"):
            use()


def test_tries_end(monkeypatch: pytest.MonkeyPatch) -> None:
    tries = count()

    class Failing:
        uri = "s3://gone"

        def put(self, name: str, data: bytes) -> None:
            next(tries)
            raise StateUnavailable("gone")

    monkeypatch.setattr("risingpy.storage.objects.object_store.FIRST_PAUSE", 0.0)
    with pytest.raises(StateUnavailable):
        put_own(Failing(), "d/1", b"")  # type: ignore[arg-type]
    assert next(tries) == 9
