"""Relations as stores of earlier versions hold them are read as the classes of today."""

from __future__ import annotations

from dataclasses import replace

import pytest

from risingpy.plan import codec
from risingpy.plan.catalog import (
    Catalog,
    ColumnDesc,
    CreatedRelation,
    ExternalSource,
    Index,
    IndexDefinition,
    IndexKey,
    JobStatus,
    MaterializedView,
    NumberSequence,
    Table,
    View,
    Watermark,
)
from risingpy.plan.catalog.earlier_relation import EarlierKind, EarlierRelation
from risingpy.plan.expressions import InputRef
from risingpy.plan.logical import Values
from risingpy.plan.operators import ConflictBehavior
from risingpy.plan.properties import WatermarkBound, WatermarkColumn
from risingpy.plan.state_tables import relation_table
from risingpy.storage.codec.table_schema import KeyColumn
from risingpy.types import BIGINT, VARCHAR

COLUMNS = (ColumnDesc(1, "a", BIGINT, not_null=True), ColumnDesc(2, "b", VARCHAR))
STORED = relation_table(7, "r", COLUMNS, (KeyColumn(0),), (0,))
WATERMARK = Watermark(1, "a", InputRef(1, BIGINT))
REACHED = (WatermarkColumn(0, (WatermarkBound(7, InputRef(0, BIGINT), BIGINT),)),)
BY_B = IndexDefinition(3, (IndexKey("b", InputRef(2, VARCHAR)),))


def earlier(kind: EarlierKind) -> EarlierRelation:
    """What records of all kinds had."""
    return EarlierRelation(7, "s", "r", kind, COLUMNS, "CREATE …", depends_on=(3,), version=5)


TABLE = (
    replace(
        earlier(EarlierKind.TABLE),
        primary_key=(0,),
        stream_key=(0,),
        append_only=True,
        table=STORED,
        depends_on=(),
        status=JobStatus.FAILED,
        next_column_id=9,
        on_conflict=ConflictBehavior.FILL,
        version_column=2,
        watermark=WATERMARK,
        watermarks=REACHED,
    ),
    Table(
        7,
        "s",
        "r",
        COLUMNS,
        "CREATE …",
        version=5,
        primary_key=(0,),
        stream_key=(0,),
        append_only=True,
        table=STORED,
        status=JobStatus.FAILED,
        next_column_id=9,
        on_conflict=ConflictBehavior.FILL,
        version_column=2,
        watermark=WATERMARK,
        watermarks=REACHED,
    ),
)
MATERIALIZED_VIEW = (
    replace(
        earlier(EarlierKind.MATERIALIZED_VIEW),
        stream_key=(0,),
        append_only=True,
        table=STORED,
        query="SELECT …",
        status=JobStatus.CREATING,
        functions=(4,),
        watermarks=REACHED,
    ),
    MaterializedView(
        7,
        "s",
        "r",
        COLUMNS,
        "CREATE …",
        version=5,
        stream_key=(0,),
        append_only=True,
        table=STORED,
        query="SELECT …",
        depends_on=(3,),
        status=JobStatus.CREATING,
        functions=(4,),
        watermarks=REACHED,
    ),
)
VIEW = (
    replace(earlier(EarlierKind.VIEW), query="SELECT …", plan=Values((), ()), functions=(4,), status=JobStatus.FAILED),
    View(
        7,
        "s",
        "r",
        COLUMNS,
        "CREATE …",
        version=5,
        query="SELECT …",
        plan=Values((), ()),
        depends_on=(3,),
        functions=(4,),
        status=JobStatus.FAILED,
    ),
)
SOURCE = (
    replace(
        earlier(EarlierKind.SOURCE),
        stream_key=(1,),
        append_only=True,
        depends_on=(),
        options=(("connector", "file"),),
        watermark=WATERMARK,
    ),
    ExternalSource(7, "s", "r", COLUMNS, "CREATE …", version=5, options=(("connector", "file"),), watermark=WATERMARK),
)
INDEX = (
    replace(earlier(EarlierKind.INDEX), stream_key=(0,), append_only=True, table=STORED, index=BY_B),
    Index(7, "s", "r", COLUMNS, "CREATE …", version=5, stream_key=(0,), append_only=True, table=STORED, index=BY_B),
)
KINDS = pytest.mark.parametrize(
    ("before", "now"),
    [TABLE, MATERIALIZED_VIEW, VIEW, SOURCE, INDEX],
    ids=["table", "materialized view", "view", "source", "index"],
)


@KINDS
def test_each_kind_is_read(before: EarlierRelation, now: CreatedRelation) -> None:
    stored = codec.encode(before)
    assert b'"$":"catalog.Relation"' in stored
    assert codec.decode(stored) == now


@KINDS
def test_what_was_implied_is_the_same(before: EarlierRelation, now: CreatedRelation) -> None:
    """What a class computes, the record held."""
    assert now.depends_on == before.depends_on
    if not isinstance(now, View | NumberSequence):
        assert now.stream_key == before.stream_key


@KINDS
def test_the_class_is_what_is_written(before: EarlierRelation, now: CreatedRelation) -> None:
    stored = codec.encode(now)
    assert b"catalog.Relation" not in stored
    assert codec.decode(stored) == now


def test_one_that_others_hold_is_read_too() -> None:
    before, now = SOURCE
    assert codec.decode(codec.encode((before, {7: before}))) == (now, {7: now})
    assert codec.decode(codec.encode(Catalog(relations={7: now}))) == Catalog(relations={7: now})


def test_a_record_without_what_its_kind_needs_is_refused() -> None:
    with pytest.raises(ValueError, match="the store's table r has no table"):
        codec.decode(codec.encode(earlier(EarlierKind.TABLE)))
    with pytest.raises(ValueError, match="the store's view r has no query"):
        codec.decode(codec.encode(earlier(EarlierKind.VIEW)))
    with pytest.raises(ValueError, match="the store's index r has no index"):
        codec.decode(codec.encode(replace(earlier(EarlierKind.INDEX), table=STORED)))
    with pytest.raises(ValueError, match="internal table r cannot be part of a store"):
        codec.decode(codec.encode(earlier(EarlierKind.INTERNAL_TABLE)))
