"""What is known of each kind of type, in one object: its names, its OIDs, its casts, and what holds its values.

`sql_type.py` asks here for the OID and the Arrow type of a type, the binder for names and casts, the system catalogs
for the rows of pg_type and pg_proc, the evaluation of expressions for what Arrow and DuckDB can do with the values.
The text and the binary form of values are functions, which `forms.py` lists beside these kinds.

Sources: PostgreSQL 15's pg_type, pg_proc and pg_cast; RisingWave's for its own types (rw_int256, map).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

import pyarrow as pa

from risingpy.types.clocks.nano_moments import NANOS


class TypeKind(Enum):
    """The kinds of types; the value is the name PostgreSQL prints."""

    BOOLEAN = "boolean"
    SMALLINT = "smallint"
    INTEGER = "integer"
    BIGINT = "bigint"
    REAL = "real"
    DOUBLE = "double precision"
    NUMERIC = "numeric"
    VARCHAR = "character varying"
    BYTEA = "bytea"
    DATE = "date"
    TIME = "time without time zone"
    TIMESTAMP = "timestamp without time zone"
    TIMESTAMPTZ = "timestamp with time zone"
    TIMESTAMP_NS = "timestamp_ns"
    INTERVAL = "interval"
    CHARACTER = "character"
    UUID = "uuid"
    MACADDR = "macaddr"
    INET = "inet"
    CIDR = "cidr"
    BIT = "bit"
    VARBIT = "bit varying"
    VECTOR = "vector"
    INT4RANGE = "int4range"
    INT8RANGE = "int8range"
    NUMRANGE = "numrange"
    DATERANGE = "daterange"
    TSRANGE = "tsrange"
    TSTZRANGE = "tstzrange"
    INT4MULTIRANGE = "int4multirange"
    INT8MULTIRANGE = "int8multirange"
    NUMMULTIRANGE = "nummultirange"
    DATEMULTIRANGE = "datemultirange"
    TSMULTIRANGE = "tsmultirange"
    TSTZMULTIRANGE = "tstzmultirange"
    INT256 = "rw_int256"
    JSONB = "jsonb"
    ARRAY = "array"
    STRUCT = "record"
    MAP = "map"
    ENUM = "anyenum"
    UNKNOWN = "unknown"  # an untyped literal or NULL before it is coerced; never stored


class Category(Enum):
    """pg_type.typcategory: where several functions fit an argument, the category of unknown literals decides."""

    BOOLEAN = "B"
    NUMERIC = "N"
    STRING = "S"
    BIT_STRING = "V"
    NETWORK = "I"
    DATETIME = "D"
    TIMESPAN = "T"
    USER = "U"
    UNKNOWN = "X"
    ARRAY = "A"
    ENUM = "E"
    RANGE = "R"
    COMPOSITE = "P"


@dataclass(frozen=True, slots=True)
class TypeFamily:
    """A kind of type. NULL is of every type, and no concern of a family's.

    `name` is pg_type.typname, `aliases` are SQL's other names for it, `table_name` is what the tables of function
    signatures call it (the name, if empty). `length` is the number of bytes of the binary form, -1 if that varies.
    `arrow` and `duckdb` hold the values; None: that depends on the type's precision or on what it is made of.
    `functions` are the OIDs in pg_proc of those that read and write the text and the binary form; their names begin
    with `function_prefix`. `preferred`: overload resolution prefers it within its category.

    Casts to other kinds: `implicit` ones happen anywhere, `assignment` ones where a column gets a value besides,
    `explicit` ones where they are written besides. Every type can be cast to texts on assignment, and from texts
    explicitly.

    `ordered_by_arrow`: Arrow's order and equality of the values are SQL's (numerics: those of one scale).
    `hashed_by_arrow`: Arrow groups equal values together (numerics likewise). `own_text`: DuckDB prints the values in
    another way than PostgreSQL, or has no such type, so functions of ours do it.
    """

    name: str
    oid: int
    array_oid: int
    category: Category
    functions: tuple[int, int, int, int]
    function_prefix: str
    length: int = -1
    arrow: pa.DataType | None = None
    duckdb: str | None = None
    aliases: tuple[str, ...] = ()
    table_name: str = ""
    preferred: bool = False
    implicit: tuple[TypeKind, ...] = ()
    assignment: tuple[TypeKind, ...] = ()
    explicit: tuple[TypeKind, ...] = ()
    ordered_by_arrow: bool = False
    hashed_by_arrow: bool = False
    own_text: bool = False


_K = TypeKind
_C = Category
_INTEGERS = (_K.SMALLINT, _K.INTEGER, _K.BIGINT)
_RANGE_FUNCTIONS = (3834, 3835, 3836, 3837)  # which all range types share
_MULTIRANGE_FUNCTIONS = (4229, 4230, 4231, 4232)
MULTIRANGE_OF: Mapping[TypeKind, TypeKind] = MappingProxyType(
    {
        _K.INT4RANGE: _K.INT4MULTIRANGE,
        _K.INT8RANGE: _K.INT8MULTIRANGE,
        _K.NUMRANGE: _K.NUMMULTIRANGE,
        _K.DATERANGE: _K.DATEMULTIRANGE,
        _K.TSRANGE: _K.TSMULTIRANGE,
        _K.TSTZRANGE: _K.TSTZMULTIRANGE,
    }
)
"""The range types, and the type of several ranges of each."""


# fmt: off
def _range(kind: TypeKind, oid: int, array_oid: int) -> TypeFamily:
    """A range type; its values are bytes that order as the ranges do (`ranges.bounds`)."""
    return TypeFamily(
        kind.value, oid, array_oid, _C.RANGE, _RANGE_FUNCTIONS, "range_", -1, pa.binary(), "BLOB",
        explicit=(MULTIRANGE_OF[kind],),
        ordered_by_arrow=True,
        hashed_by_arrow=True,
        own_text=True,
    )


def _multirange(kind: TypeKind, oid: int, array_oid: int) -> TypeFamily:
    """Several ranges; their bytes, one after the other, order as multiranges do (`ranges.multiranges`)."""
    return TypeFamily(
        kind.value, oid, array_oid, _C.RANGE, _MULTIRANGE_FUNCTIONS, "multirange_", -1, pa.binary(), "BLOB",
        ordered_by_arrow=True,
        hashed_by_arrow=True,
        own_text=True,
    )


FAMILIES: Mapping[TypeKind, TypeFamily] = MappingProxyType(
    {
        _K.BOOLEAN: TypeFamily(
            "bool", 16, 1000, _C.BOOLEAN, (1242, 1243, 2436, 2437), "bool", 1, pa.bool_(), "BOOLEAN", ("boolean",),
            preferred=True,
            explicit=(_K.INTEGER,),
        ),
        _K.SMALLINT: TypeFamily(
            "int2", 21, 1005, _C.NUMERIC, (38, 39, 2404, 2405), "int2", 2, pa.int16(), "SMALLINT", ("smallint",),
            implicit=(_K.INTEGER, _K.BIGINT, _K.NUMERIC, _K.REAL, _K.DOUBLE, _K.INT256),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
        ),
        _K.INTEGER: TypeFamily(
            "int4", 23, 1007, _C.NUMERIC, (42, 43, 2406, 2407), "int4", 4, pa.int32(), "INTEGER",
            aliases=("int", "integer"),
            implicit=(_K.BIGINT, _K.NUMERIC, _K.REAL, _K.DOUBLE, _K.INT256),
            assignment=(_K.SMALLINT,),
            explicit=(_K.BOOLEAN, _K.BIT),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
        ),
        _K.BIGINT: TypeFamily(
            "int8", 20, 1016, _C.NUMERIC, (460, 461, 2408, 2409), "int8", 8, pa.int64(), "BIGINT", ("bigint",),
            implicit=(_K.NUMERIC, _K.REAL, _K.DOUBLE, _K.INT256),
            assignment=(_K.SMALLINT, _K.INTEGER),
            explicit=(_K.BIT,),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
        ),
        _K.REAL: TypeFamily(
            "float4", 700, 1021, _C.NUMERIC, (200, 201, 2424, 2425), "float4", 4, pa.float32(), "REAL", ("real",),
            implicit=(_K.DOUBLE,),
            assignment=(*_INTEGERS, _K.NUMERIC),
            own_text=True,
        ),
        _K.DOUBLE: TypeFamily(
            "float8", 701, 1022, _C.NUMERIC, (214, 215, 2426, 2427), "float8", 8, pa.float64(), "DOUBLE",
            aliases=("float", "double", "double precision"),
            preferred=True,
            assignment=(*_INTEGERS, _K.NUMERIC, _K.REAL),
            own_text=True,
        ),
        _K.NUMERIC: TypeFamily(
            "numeric", 1700, 1231, _C.NUMERIC, (1701, 1702, 2460, 2461), "numeric_",
            aliases=("decimal", "dec"),
            implicit=(_K.REAL, _K.DOUBLE),
            assignment=(*_INTEGERS, _K.INT256),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
        ),
        _K.VARCHAR: TypeFamily(
            "varchar", 1043, 1015, _C.STRING, (1046, 1047, 2432, 2433), "varchar", -1, pa.string(), "VARCHAR",
            aliases=("character varying", "char varying", "string"),
            table_name="text",
            preferred=True,
            implicit=(_K.CHARACTER,),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
        ),
        _K.BYTEA: TypeFamily(
            "bytea", 17, 1001, _C.USER, (1244, 31, 2412, 2413), "bytea", -1, pa.binary(), "BLOB",
            ordered_by_arrow=True,
            hashed_by_arrow=True,
            own_text=True,
        ),
        _K.DATE: TypeFamily(
            "date", 1082, 1182, _C.DATETIME, (1084, 1085, 2468, 2469), "date_", 4, pa.date32(), "DATE",
            implicit=(_K.TIMESTAMP, _K.TIMESTAMPTZ, _K.TIMESTAMP_NS),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
            own_text=True,
        ),
        _K.TIME: TypeFamily(
            "time", 1083, 1183, _C.DATETIME, (1143, 1144, 2470, 2471), "time_", 8, pa.time64("us"), "TIME",
            aliases=("time without time zone",),
            implicit=(_K.INTERVAL,),
            ordered_by_arrow=True,
        ),
        _K.TIMESTAMP: TypeFamily(
            "timestamp", 1114, 1115, _C.DATETIME, (1312, 1313, 2474, 2475), "timestamp_", 8,
            arrow=pa.timestamp("us"),
            duckdb="TIMESTAMP",
            aliases=("timestamp without time zone",),
            implicit=(_K.TIMESTAMPTZ, _K.TIMESTAMP_NS),
            assignment=(_K.DATE, _K.TIME),
            ordered_by_arrow=True,
            own_text=True,
        ),
        _K.TIMESTAMPTZ: TypeFamily(
            "timestamptz", 1184, 1185, _C.DATETIME, (1150, 1151, 2476, 2477), "timestamptz_", 8,
            arrow=pa.timestamp("us", "UTC"),
            duckdb="TIMESTAMPTZ",
            aliases=("timestamp with time zone",),
            preferred=True,
            assignment=(_K.DATE, _K.TIME, _K.TIMESTAMP, _K.TIMESTAMP_NS),
            ordered_by_arrow=True,
            own_text=True,
        ),
        _K.TIMESTAMP_NS: TypeFamily(  # of ours; the name is DuckDB's and Iceberg's
            "timestamp_ns", 1307, 1308, _C.DATETIME, (9012, 9013, 9014, 9015), "timestamp_ns_", 8,
            arrow=NANOS,
            duckdb="TIMESTAMP_NS",
            assignment=(_K.DATE, _K.TIME, _K.TIMESTAMP, _K.TIMESTAMPTZ),
            ordered_by_arrow=True,
            own_text=True,
        ),
        _K.INTERVAL: TypeFamily(
            "interval", 1186, 1187, _C.TIMESPAN, (1160, 1161, 2478, 2479), "interval_", 16,
            arrow=pa.month_day_nano_interval(),
            duckdb="INTERVAL",
            preferred=True,
            assignment=(_K.TIME,),
            own_text=True,
        ),
        _K.CHARACTER: TypeFamily(  # in Arrow without the blanks at its end, so that they never count
            "bpchar", 1042, 1014, _C.STRING, (1044, 1045, 2430, 2431), "bpchar", -1, pa.string(), "VARCHAR",
            aliases=("char", "character"),
            implicit=(_K.VARCHAR,),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
        ),
        _K.UUID: TypeFamily(  # its 16 bytes, which order as uuids do
            "uuid", 2950, 2951, _C.USER, (2952, 2953, 2961, 2962), "uuid_", 16, pa.binary(), "BLOB",
            ordered_by_arrow=True,
            hashed_by_arrow=True,
            own_text=True,
        ),
        _K.MACADDR: TypeFamily(  # its 6 bytes, which order as addresses do
            "macaddr", 829, 1040, _C.USER, (436, 437, 2494, 2495), "macaddr_", 6, pa.binary(), "BLOB",
            ordered_by_arrow=True,
            hashed_by_arrow=True,
            own_text=True,
        ),
        _K.INET: TypeFamily(  # bytes that order as addresses do (`network_address`)
            "inet", 869, 1041, _C.NETWORK, (910, 911, 2496, 2497), "inet_", -1, pa.binary(), "BLOB",
            preferred=True,
            assignment=(_K.CIDR,),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
            own_text=True,
        ),
        _K.CIDR: TypeFamily(
            "cidr", 650, 651, _C.NETWORK, (1267, 1427, 2498, 2499), "cidr_", -1, pa.binary(), "BLOB",
            implicit=(_K.INET,),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
            own_text=True,
        ),
        _K.BIT: TypeFamily(  # the digits
            "bit", 1560, 1561, _C.BIT_STRING, (1564, 1565, 2456, 2457), "bit_", -1, pa.string(), "VARCHAR",
            implicit=(_K.VARBIT,),
            explicit=(_K.INTEGER, _K.BIGINT),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
        ),
        _K.VARBIT: TypeFamily(
            "varbit", 1562, 1563, _C.BIT_STRING, (1579, 1580, 2458, 2459), "varbit_", -1, pa.string(), "VARCHAR",
            aliases=("bit varying",),
            preferred=True,
            implicit=(_K.BIT,),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
        ),
        _K.VECTOR: TypeFamily(  # pgvector's; bytes that order as its vectors do (`float_vector`)
            "vector", 1305, 1306, _C.USER, (9008, 9009, 9010, 9011), "vector_", -1, pa.binary(), "BLOB",
            ordered_by_arrow=True,
            hashed_by_arrow=True,
            own_text=True,
        ),
        _K.INT4RANGE: _range(_K.INT4RANGE, 3904, 3905),
        _K.INT8RANGE: _range(_K.INT8RANGE, 3926, 3927),
        _K.NUMRANGE: _range(_K.NUMRANGE, 3906, 3907),
        _K.DATERANGE: _range(_K.DATERANGE, 3912, 3913),
        _K.TSRANGE: _range(_K.TSRANGE, 3908, 3909),
        _K.TSTZRANGE: _range(_K.TSTZRANGE, 3910, 3911),
        _K.INT4MULTIRANGE: _multirange(_K.INT4MULTIRANGE, 4451, 6150),
        _K.INT8MULTIRANGE: _multirange(_K.INT8MULTIRANGE, 4536, 6157),
        _K.NUMMULTIRANGE: _multirange(_K.NUMMULTIRANGE, 4532, 6151),
        _K.DATEMULTIRANGE: _multirange(_K.DATEMULTIRANGE, 4535, 6155),
        _K.TSMULTIRANGE: _multirange(_K.TSMULTIRANGE, 4533, 6152),
        _K.TSTZMULTIRANGE: _multirange(_K.TSTZMULTIRANGE, 4534, 6153),
        _K.INT256: TypeFamily(  # 32 bytes (`int256`), which order as the numbers do
            "rw_int256", 1301, 1302, _C.NUMERIC, (9000, 9001, 9002, 9003), "rw_int256_", 32, pa.binary(), "BLOB",
            table_name="int256",
            explicit=(*_INTEGERS, _K.NUMERIC, _K.REAL, _K.DOUBLE),
            ordered_by_arrow=True,
            hashed_by_arrow=True,
            own_text=True,
        ),
        _K.JSONB: TypeFamily(  # the text that PostgreSQL prints
            "jsonb", 3802, 3807, _C.USER, (3806, 3804, 3805, 3803), "jsonb_", -1, pa.string(), "VARCHAR",
            explicit=(_K.BOOLEAN, *_INTEGERS, _K.REAL, _K.DOUBLE, _K.NUMERIC),
        ),
        _K.ARRAY: TypeFamily("array", 0, 0, _C.ARRAY, (750, 751, 2400, 2401), "array_"),  # each array has its own OID
        _K.STRUCT: TypeFamily("record", 2249, 2287, _C.COMPOSITE, (2290, 2291, 2402, 2403), "record_"),
        _K.MAP: TypeFamily("map", 1303, 1304, _C.USER, (9004, 9005, 9006, 9007), "map_"),
        _K.ENUM: TypeFamily(  # every enum has a name and OIDs of its own (`enum_type.py`)
            "anyenum", 3500, 0, _C.ENUM, (3506, 3507, 3532, 3533), "enum_", 4, pa.int64(), "BIGINT",
            ordered_by_arrow=True,
            hashed_by_arrow=True,
            own_text=True,
        ),
        _K.UNKNOWN: TypeFamily(  # what reaches a client as unknown is text
            "text", 25, 1009, _C.UNKNOWN, (46, 47, 2414, 2415), "text", -1, pa.string(), "VARCHAR",
        ),
    }
)
# fmt: on
