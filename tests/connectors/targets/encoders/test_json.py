"""The JSON form of every type, in sinks' messages."""

from __future__ import annotations

import base64
import json
from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from risingpy.connectors.targets.encoders.json_leaves import DateForm, JsonForms, TimestamptzForm, iso_intervals
from risingpy.connectors.targets.encoders.json_objects import JsonObjects
from risingpy.types import (
    BIGINT,
    BIT,
    BOOLEAN,
    BYTEA,
    CHARACTER,
    CIDR,
    DATE,
    DOUBLE,
    INET,
    INT256,
    INTEGER,
    INTERVAL,
    JSONB,
    NUMERIC,
    REAL,
    SMALLINT,
    TIME,
    TIMESTAMP,
    TIMESTAMP_NS,
    TIMESTAMPTZ,
    UUID,
    VARBIT,
    VARCHAR,
    VECTOR,
    SqlType,
    TypeKind,
    array_of,
    map_of,
    numeric,
    struct_of,
)
from risingpy.types.forms import parse_text
from tests.connectors.targets.changes import column_of

DEBEZIUM = JsonForms(date=DateForm.DAYS_OF_EPOCH, time_in_micros=True)

_UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
CASES: list[tuple[SqlType, str, object, object]] = [
    (BOOLEAN, "t", True, True),
    (SMALLINT, "-7", -7, -7),
    (INTEGER, "7", 7, 7),
    (BIGINT, "9223372036854775807", 2**63 - 1, 2**63 - 1),
    (REAL, "0.1", 0.1, 0.1),
    (REAL, "NaN", None, None),
    (DOUBLE, "1e300", 1e300, 1e300),
    (DOUBLE, "-Infinity", None, None),
    (NUMERIC, "1.50", "1.50", "1.50"),
    (numeric(10, 2, declared=True), "-1.5", "-1.50", "-1.50"),
    (INT256, "-12345678901234567890123", "-12345678901234567890123", "-12345678901234567890123"),
    (VARCHAR, 'é"\\\n\u0001', 'é"\\\n\u0001', 'é"\\\n\u0001'),
    (CHARACTER, "a  ", "a", "a"),
    (BYTEA, "\\x00ff10", "AP8Q", "AP8Q"),
    (DATE, "1970-01-02", 719164, 1),
    (DATE, "0001-01-01", 1, -719162),
    (TIME, "00:00:01.0015", 1001, 1001500),
    (TIMESTAMP, "1970-01-01 00:00:01.5", 1500, 1500),
    (TIMESTAMP, "1969-12-31 23:59:59.9995", -1, -1),
    (TIMESTAMPTZ, "2023-11-11 18:30:09.453+00", "2023-11-11T18:30:09.453000Z", "2023-11-11T18:30:09.453000Z"),
    (TIMESTAMP_NS, "2024-01-01 00:00:00.123456789", "2024-01-01 00:00:00.123456789", "2024-01-01 00:00:00.123456789"),
    (INTERVAL, "1 year 2 mons 3 days 04:05:06.7", "P1Y2M3DT4H5M6.7S", "P1Y2M3DT4H5M6.7S"),
    (JSONB, '{"a": 1.50}', '{"a": 1.50}', '{"a": 1.50}'),
    (UUID, _UUID, _UUID, _UUID),
    (INET, "10.1.2.3/8", "10.1.2.3/8", "10.1.2.3/8"),
    (CIDR, "10.1.0.0/16", "10.1.0.0/16", "10.1.0.0/16"),
    (BIT, "101", "101", "101"),
    (VARBIT, "", "", ""),
    (VECTOR, "[1,-2.5,0.1]", [1.0, -2.5, 0.1], [1.0, -2.5, 0.1]),
    (SqlType(TypeKind.MACADDR), "08:00:2b:01:02:03", "08:00:2b:01:02:03", "08:00:2b:01:02:03"),
    (SqlType(TypeKind.INT4RANGE), "[1,5]", "[1,6)", "[1,6)"),
    (SqlType(TypeKind.INT8RANGE), "empty", "empty", "empty"),
    (SqlType(TypeKind.NUMRANGE), "(1.5,]", "(1.5,)", "(1.5,)"),
    (SqlType(TypeKind.DATERANGE), "[2026-01-01,2026-02-01)", "[2026-01-01,2026-02-01)", "[2026-01-01,2026-02-01)"),
    (SqlType(TypeKind.TSRANGE), "[2026-01-01,)", '["2026-01-01 00:00:00",)', '["2026-01-01 00:00:00",)'),
    (SqlType(TypeKind.TSTZRANGE), "(,)", "(,)", "(,)"),
    (SqlType(TypeKind.INT4MULTIRANGE), "{[1,5],[7,8)}", "{[1,6),[7,8)}", "{[1,6),[7,8)}"),
    (SqlType(TypeKind.INT8MULTIRANGE), "{}", "{}", "{}"),
    (SqlType(TypeKind.NUMMULTIRANGE), "{(1.5,]}", "{(1.5,)}", "{(1.5,)}"),
    (SqlType(TypeKind.DATEMULTIRANGE), "{[2026-01-01,)}", "{[2026-01-01,)}", "{[2026-01-01,)}"),
    (SqlType(TypeKind.TSMULTIRANGE), "{(,2026-01-01)}", '{(,"2026-01-01 00:00:00")}', '{(,"2026-01-01 00:00:00")}'),
    (SqlType(TypeKind.TSTZMULTIRANGE), "{(,)}", "{(,)}", "{(,)}"),
]


@pytest.mark.parametrize(("type_", "text", "plain", "debezium"), CASES, ids=str)
def test_each_type_and_its_null(type_: SqlType, text: str, plain: object, debezium: object) -> None:
    array = column_of(type_, [None, text, None])
    for forms, value in ((JsonForms(), plain), (DEBEZIUM, debezium)):
        objects = [json.loads(row) for row in JsonObjects([("v", type_)], forms).rows([array]).to_pylist()]
        assert objects == [{"v": None}, {"v": value}, {"v": None}]


def test_every_kind_of_type_has_a_case() -> None:
    tried = {type_.kind for type_, *_ in CASES}
    of_plans = {TypeKind.UNKNOWN, TypeKind.ENUM}  # a sink's plan has made texts of labels
    assert set(TypeKind) - tried == {TypeKind.ARRAY, TypeKind.STRUCT, TypeKind.MAP, *of_plans}


@pytest.mark.parametrize(
    ("form", "shown"),
    [
        (TimestamptzForm.UTC_STRING, "1969-12-31T23:59:59.999999Z"),
        (TimestamptzForm.UTC_WITHOUT_SUFFIX, "1969-12-31 23:59:59.999999"),
        (TimestamptzForm.MICRO, -1),
        (TimestamptzForm.MILLI, -1),
    ],
)
def test_handling_modes_of_timestamptz(form: TimestamptzForm, shown: object) -> None:
    array = column_of(TIMESTAMPTZ, ["1969-12-31 23:59:59.999999+00"])
    rows = JsonObjects([("t", TIMESTAMPTZ)], JsonForms(timestamptz=form)).rows([array])
    assert json.loads(rows[0].as_py()) == {"t": shown}


def test_jsonb_as_json_keeps_every_digit() -> None:
    text = '{"a": 12345678901234567890.1234567890, "b": [null, "x"]}'
    nested = struct_of(["j"], [JSONB])
    objects = JsonObjects([("j", JSONB), ("s", nested)], JsonForms(json_as_json=True))
    struct = pa.StructArray.from_arrays([pa.array(['{"b":[1]}', None])], ["j"])
    rows = objects.rows([pa.array([text, None]), struct]).to_pylist()
    assert rows[0] == f'{{"j":{text},"s":{{"j":{{"b":[1]}}}}}}'
    assert json.loads(rows[1]) == {"j": None, "s": {"j": None}}


NESTED = struct_of(
    ["days", "by name"], [array_of(array_of(DATE)), map_of(VARCHAR, struct_of(["n", "b"], [NUMERIC, BYTEA]))]
)


@st.composite
def nested_values(draw: st.DrawFn) -> object:
    days = st.one_of(st.none(), st.dates(min_value=date(1, 1, 1)))
    numbers = st.decimals(min_value=-(10**20), max_value=10**20, places=2)
    record = st.one_of(st.none(), st.tuples(st.one_of(st.none(), numbers), st.one_of(st.none(), st.binary(max_size=5))))
    lists = st.one_of(st.none(), st.lists(st.one_of(st.none(), st.lists(days, max_size=3)), max_size=3))
    maps = st.one_of(st.none(), st.dictionaries(st.text(max_size=4), record, max_size=3))
    return draw(st.one_of(st.none(), st.tuples(lists, maps)))


@settings(max_examples=40)
@given(st.lists(nested_values(), min_size=1, max_size=4), st.integers(0, 3))
def test_nested_values_of_slices_too(values: list[object], skipped: int) -> None:
    array = pa.array([_as_arrow(value) for value in values], NESTED.arrow)
    part = array.slice(min(skipped, len(array)))
    rows = JsonObjects([("v", NESTED)], JsonForms()).rows([part])
    assert [json.loads(row)["v"] for row in rows.to_pylist()] == [_as_json(value) for value in values[skipped:]]


def _as_arrow(value: object) -> object:
    if not isinstance(value, tuple):
        return None
    lists, maps = value
    records = None if maps is None else [(k, v and {"n": _stored(v[0]), "b": v[1]}) for k, v in maps.items()]
    return {"days": lists, "by name": records}


def _stored(number: Decimal | None) -> object:
    return None if number is None else parse_text(NUMERIC, str(number))


def _as_json(value: object) -> object:
    if not isinstance(value, tuple):
        return None
    lists, maps = value
    days = lists and [row and [day and day.toordinal() for day in row] for row in lists]
    by_name = maps and {
        k: v
        and {"n": None if v[0] is None else f"{v[0]:f}", "b": None if v[1] is None else base64.b64encode(v[1]).decode()}
        for k, v in maps.items()
    }
    return {"days": days, "by name": by_name}


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("00:00:00", "P0Y0M0DT0H0M0S"),
        ("-1 year -2 mons 3 days", "P-1Y-2M3DT0H0M0S"),
        ("-00:00:00.25", "P0Y0M0DT0H0M-0.25S"),
        ("-25:01:00", "P0Y0M0DT-25H-1M0S"),
    ],
)
def test_signs_of_intervals(text: str, iso: str) -> None:
    assert iso_intervals(column_of(INTERVAL, [text, None])).to_pylist() == [iso, None]


def test_names_that_need_escapes() -> None:
    columns = [("a'b", INTEGER), ('A"b', INTEGER), ("é\n", INTEGER), ("%s", INTEGER)]
    row = JsonObjects(columns, JsonForms()).rows([pa.array([n], pa.int32()) for n in range(4)])[0].as_py()
    assert json.loads(row) == {"a'b": 0, 'A"b': 1, "é\n": 2, "%s": 3}
