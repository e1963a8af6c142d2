"""What a machine of a cluster says of a source whose key or files it lacks; and how the key comes there."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from risingpy.connectors.file_roots import ENVIRONMENT_NAME as FILE_ROOTS
from risingpy.connectors.secrets.hidden_options import NOTHING_HIDDEN, HiddenOptions, SealedOption
from risingpy.connectors.secrets.vault import Vault, read_key
from risingpy.executors.cluster.carried_key import carried, carried_key
from risingpy.executors.epoch.descriptor import SplitRange
from risingpy.executors.epoch.source_reading import SourceFailed, SourceReading
from risingpy.plan.catalog import ColumnDesc, ExternalSource
from risingpy.types import BIGINT

COLUMNS = (ColumnDesc(1, "a", BIGINT), ColumnDesc(2, "_row_id", BIGINT))


def source(options: dict[str, str], hidden: HiddenOptions = NOTHING_HIDDEN) -> ExternalSource:
    return ExternalSource(7, "public", "s", COLUMNS, "", options=tuple(options.items()), hidden=hidden)


def read(reading: SourceReading, of: ExternalSource, split: str) -> list[object]:
    try:
        rows = reading.rows(1, of, SplitRange(1, of.relation_id, split, 0, 2, 0), (0,))
    finally:
        reading.close()
    return list(rows.changes.columns[-1].to_pylist())


def test_a_machine_without_the_key_is_named_and_one_with_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FILE_ROOTS, str(tmp_path))
    rows = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), rows)
    server = Vault(tmp_path / "server.key")
    hidden = HiddenOptions((SealedOption("path", server.seal(str(rows))),))
    sealed = source({"connector": "file", "format": "parquet"}, hidden)
    missing = tmp_path / "missing.key"
    with pytest.raises(SourceFailed, match=f"^on worker-1: cannot read the key file {missing}: No such file"):
        read(SourceReading(Vault(missing), machine="worker-1"), sealed, str(rows))
    assert not missing.exists()
    other = Vault(tmp_path / "other.key")
    other.seal("anything")
    with pytest.raises(SourceFailed, match=r"^on worker-1: a secret was sealed with another key"):
        read(SourceReading(other, machine="worker-1"), sealed, str(rows))
    assert read(SourceReading(Vault(server.key_file), machine="worker-1"), sealed, str(rows)) == [1, 2]


def test_a_machine_without_the_file_is_named_and_the_server_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FILE_ROOTS, str(tmp_path))
    path = str(tmp_path / "gone.parquet")
    files = source({"connector": "file", "path": path, "format": "parquet"})
    vault = Vault(tmp_path / "key")
    with pytest.raises(SourceFailed, match=f'^on worker-2: could not read source file "{path}"'):
        read(SourceReading(vault, machine="worker-2"), files, path)
    with pytest.raises(SourceFailed, match=r"^could not read source file"):
        read(SourceReading(vault), files, path)


def test_the_servers_key_comes_with_the_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILE_ROOTS, str(tmp_path))
    rows = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": [1, 2]}), rows)
    server = Vault(tmp_path / "server.key")
    hidden = HiddenOptions((SealedOption("path", server.seal(str(rows))),))
    sealed = source({"connector": "file", "format": "parquet"}, hidden)
    key, secret = read_key(server.key_file), "s3cret of Spark's"
    box = carried(key, secret)
    assert key not in box and box != carried(key, secret)

    def reading(box: bytes | None, **environ: str) -> SourceReading:
        return SourceReading(Vault(Path("the server"), lambda _: carried_key(box, environ)), machine="worker-1")

    assert read(reading(box, _SPARK_AUTH_SECRET=secret), sealed, str(rows)) == [1, 2]
    for wrong, reason in (
        (reading(None, _SPARK_AUTH_SECRET=secret), "the server could not read its key"),
        (reading(box), "Spark has not given its secret"),
        (reading(box, _SPARK_AUTH_SECRET="another"), "was sealed with another secret of Spark's"),
        (reading(box[:-1] + b"x", _SPARK_AUTH_SECRET=secret), "was sealed with another secret of Spark's"),
        (reading(carried(b"k" * 32, secret), _SPARK_AUTH_SECRET=secret), "another key than that of the server"),
    ):
        with pytest.raises(SourceFailed, match=f"^on worker-1: .*{reason}"):
            read(wrong, sealed, str(rows))
