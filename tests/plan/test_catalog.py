"""What a catalog finds, by name and by what a relation reads."""

from __future__ import annotations

from dataclasses import replace

from risingpy.plan.catalog import (
    Catalog,
    ColumnDesc,
    FunctionDesc,
    FunctionLanguage,
    Index,
    IndexDefinition,
    IndexKey,
    InternalTable,
    JobStatus,
    Table,
    View,
)
from risingpy.plan.expressions import InputRef
from risingpy.plan.state_tables import relation_table
from risingpy.storage.codec.table_schema import KeyColumn
from risingpy.types import BIGINT, VARCHAR, SqlType

COLUMNS = (ColumnDesc(1, "a", BIGINT),)
STORED = relation_table(1, "stored", COLUMNS, (KeyColumn(0),), (0,))
KEY = IndexKey("a", InputRef(1, BIGINT))


def table(relation_id: int, schema: str, name: str) -> Table:
    return Table(relation_id, schema, name, COLUMNS, "", table=STORED, stream_key=(0,))


def view(relation_id: int, schema: str, name: str, *reads: int) -> View:
    return View(relation_id, schema, name, COLUMNS, "", query="SELECT …", depends_on=reads)


def function(function_id: int, schema: str, name: str, *types: SqlType) -> FunctionDesc:
    return FunctionDesc(function_id, schema, name, (), types, BIGINT, FunctionLanguage.SQL, "", "")


T, OTHER_T, STATE = (
    table(1, "public", "t"),
    table(2, "shop", "t"),
    InternalTable(9, "public", "__internal_v_9", COLUMNS, table=STORED, job_id=1),
)
V, W = view(3, "public", "v", 1, 2, 1), view(4, "shop", "w", 3)
BY_A = Index(
    5,
    "public",
    "by_a",
    COLUMNS,
    "",
    table=STORED,
    stream_key=(0,),
    status=JobStatus.CREATING,
    index=IndexDefinition(1, (KEY,)),
)
CATALOG = Catalog(relations={each.relation_id: each for each in (T, OTHER_T, V, W, BY_A)}, internal_tables={9: STATE})


def test_a_name_is_looked_for_along_the_search_path() -> None:
    assert CATALOG.find("t", None, ("shop", "public")) is OTHER_T
    assert CATALOG.find("t", None, ("public", "shop")) is T
    assert CATALOG.find("v", None, ("shop", "public")) is V
    assert CATALOG.find("w", None, ("public",)) is None
    assert CATALOG.find("t", None, ()) is None


def test_a_schema_that_is_named_is_the_only_one() -> None:
    assert CATALOG.find("t", "shop", ("public",)) is OTHER_T
    assert CATALOG.find("v", "shop", ("public",)) is None
    assert CATALOG.find("t", "none", ("public",)) is None


def test_internal_tables_have_names_and_ids() -> None:
    assert CATALOG.find("__internal_v_9", None, ("public",)) is STATE
    assert CATALOG.get(9) is STATE
    assert CATALOG.get(1) is T
    assert CATALOG.get(99) is None


def test_who_reads_a_relation() -> None:
    assert list(CATALOG.dependents(1)) == [V, BY_A]  # the view once, though it names the table twice
    assert list(CATALOG.dependents(3)) == [W]
    assert list(CATALOG.dependents(4)) == []


def test_the_indexes_of_a_relation_and_what_they_are_on() -> None:
    assert CATALOG.indexes_of(1) == [BY_A]
    assert CATALOG.indexes_of(3) == []
    assert CATALOG.indexed_by(BY_A) is T


def test_functions_of_a_name_come_from_one_schema() -> None:
    first, second = function(1, "public", "f", BIGINT), function(2, "public", "f", VARCHAR)
    other = function(3, "shop", "f")
    catalog = Catalog(functions={1: first, 3: other, 2: second})
    assert list(catalog.functions_named("f", None, ("public", "shop"))) == [first, second]
    assert list(catalog.functions_named("f", None, ("none", "shop"))) == [other]
    assert list(catalog.functions_named("f", "shop", ("public",))) == [other]
    assert list(catalog.functions_named("g", None, ("public",))) == []


def test_another_version_finds_its_own_relations() -> None:
    """What a catalog has looked up stays with it."""
    assert CATALOG.find("t", None, ("public",)) is T
    renamed = replace(CATALOG, version=2, relations={1: replace(T, name="renamed")})
    assert renamed.find("t", None, ("public",)) is None
    assert renamed.find("renamed", None, ("public",)) is not None
    assert list(renamed.dependents(1)) == []
    assert replace(CATALOG, version=CATALOG.version) == CATALOG


def test_what_is_being_created_follows_each_version() -> None:
    assert CATALOG.being_created == (BY_A,)
    ready = replace(BY_A, status=JobStatus.CREATED)
    later = replace(CATALOG, relations={**CATALOG.relations, BY_A.relation_id: ready})
    assert later.being_created == () and CATALOG.being_created == (BY_A,)
