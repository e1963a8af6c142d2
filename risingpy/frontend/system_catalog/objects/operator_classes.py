"""pg_opfamily, pg_opclass, pg_amop and pg_amproc: how btree orders the types that are here, as in PostgreSQL 15."""

from __future__ import annotations

from collections.abc import Iterable

from risingpy.frontend.system_catalog.oids import BTREE_OID, schema_oid
from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID
from risingpy.types import SqlType, TypeKind

_ARRAY_CLASS, _ENUM_CLASS, _RECORD_CLASS, _TEXT_CLASS, _OID_CLASS = 10000, 10069, 10034, 3126, 1981
_RANGE_CLASS, _MULTIRANGE_CLASS = 10076, 10080
_DEFAULT_COLLATION = 100
_SEARCH = "s"  # what each operator is for: to search, and not to order by

# oid and name
_FAMILIES = """
397 array_ops
424 bool_ops
426 bpchar_ops
2097 bpchar_pattern_ops
428 bytea_ops
429 char_ops
434 datetime_ops
3522 enum_ops
1970 float_ops
1976 integer_ops
1982 interval_ops
4033 jsonb_ops
1984 macaddr_ops
4199 multirange_ops
1988 numeric_ops
1989 oid_ops
1991 oidvector_ops
3901 range_ops
3194 record_image_ops
2994 record_ops
1994 text_ops
2095 text_pattern_ops
1996 time_ops
2968 uuid_ops
"""
# oid, name, family, type, whether it is the type's default, and the type that is stored: 0 if the same
_CLASSES = """
10000 array_ops 397 2277 t 0
10003 bool_ops 424 16 t 0
10004 bpchar_ops 426 1042 t 0
10006 bytea_ops 428 17 t 0
10007 char_ops 429 18 t 0
3122 date_ops 434 1082 t 0
10012 float4_ops 1970 700 t 0
3123 float8_ops 1970 701 t 0
1979 int2_ops 1976 21 t 0
1978 int4_ops 1976 23 t 0
3124 int8_ops 1976 20 t 0
10022 interval_ops 1982 1186 t 0
10024 macaddr_ops 1984 829 t 0
10028 name_ops 1994 19 t 2275
3125 numeric_ops 1988 1700 t 0
1981 oid_ops 1989 26 t 0
10032 oidvector_ops 1991 30 t 0
10034 record_ops 2994 2249 t 0
10036 record_image_ops 3194 2249 f 0
3126 text_ops 1994 25 t 0
10038 time_ops 1996 1083 t 0
3127 timestamptz_ops 434 1184 t 0
10044 varchar_ops 1994 25 f 0
3128 timestamp_ops 434 1114 t 0
4217 text_pattern_ops 2095 25 f 0
4218 varchar_pattern_ops 2095 25 f 0
4219 bpchar_pattern_ops 2097 1042 f 0
10065 uuid_ops 2968 2950 t 0
10069 enum_ops 3522 3500 t 0
10076 range_ops 3901 3831 t 0
10080 multirange_ops 4199 4537 t 0
10088 jsonb_ops 4033 3802 t 0
"""
# family, types at the left and right, the first row's oid, and the operators <, <=, =, >= and >
_OPERATORS = """
1976 21 21 10000 95 522 94 524 520
1976 21 23 10005 534 540 532 542 536
1976 21 20 10010 1864 1866 1862 1867 1865
1976 23 23 10015 97 523 96 525 521
1976 23 21 10020 535 541 533 543 537
1976 23 20 10025 37 80 15 82 76
1976 20 20 10030 412 414 410 415 413
1976 20 21 10035 1870 1872 1868 1873 1871
1976 20 23 10040 418 420 416 430 419
1989 26 26 10045 609 611 607 612 610
1991 30 30 10060 645 647 649 648 646
1970 700 700 10065 622 624 620 625 623
1970 700 701 10070 1122 1124 1120 1125 1123
1970 701 701 10075 672 673 670 675 674
1970 701 700 10080 1132 1134 1130 1135 1133
429 18 18 10085 631 632 92 634 633
1994 25 25 10090 664 665 98 667 666
1994 19 19 10095 660 661 93 663 662
1994 19 25 10100 255 256 254 257 258
1994 25 19 10105 261 262 260 263 264
426 1042 1042 10110 1058 1059 1054 1061 1060
428 17 17 10115 1957 1958 1955 1960 1959
434 1082 1082 10120 1095 1096 1093 1098 1097
434 1082 1114 10125 2345 2346 2347 2348 2349
434 1082 1184 10130 2358 2359 2360 2361 2362
434 1114 1114 10135 2062 2063 2060 2065 2064
434 1114 1082 10140 2371 2372 2373 2374 2375
434 1114 1184 10145 2534 2535 2536 2537 2538
434 1184 1184 10150 1322 1323 1320 1325 1324
434 1184 1082 10155 2384 2385 2386 2387 2388
434 1184 1114 10160 2540 2541 2542 2543 2544
1996 1083 1083 10165 1110 1111 1108 1113 1112
1982 1186 1186 10175 1332 1333 1330 1335 1334
1984 829 829 10180 1222 1223 1220 1225 1224
1988 1700 1700 10195 1754 1755 1752 1757 1756
424 16 16 10200 58 1694 91 1695 59
2095 25 25 10215 2314 2315 98 2317 2318
2097 1042 1042 10220 2326 2327 1054 2329 2330
397 2277 2277 10230 1072 1074 1070 1075 1073
2994 2249 2249 10235 2990 2992 2988 2993 2991
3194 2249 2249 10240 3190 3192 3188 3193 3191
2968 2950 2950 10245 2974 2976 2972 2977 2975
3522 3500 3500 10353 3518 3520 3516 3521 3519
3901 3831 3831 10374 3884 3885 3882 3886 3887
4199 4537 4537 10416 2862 2863 2860 2864 2865
4033 3802 3802 10450 3242 3244 3240 3245 3243
"""
# family, types at the left and right, and the functions that support it: the row's oid, the number, the function
_SUPPORT = """
397 2277 2277 10000:1:382
424 16 16 10003:1:1693 10004:4:5051
426 1042 1042 10005:1:1078 10006:2:3328 10007:4:5050
428 17 17 10008:1:1954 10009:2:3331 10010:4:5051
429 18 18 10011:1:358 10012:4:5051
434 1082 1082 10013:1:1092 10014:2:3136 10015:4:5051
434 1082 1114 10016:1:2344
434 1082 1184 10017:1:2357
434 1114 1114 10018:1:2045 10019:2:3137 10020:4:5051
434 1114 1082 10021:1:2370
434 1114 1184 10022:1:2526
434 1184 1184 10023:1:1314 10024:2:3137 10025:4:5051
434 1184 1082 10026:1:2383
434 1184 1114 10027:1:2533
434 1082 1186 10028:3:4133
434 1114 1186 10029:3:4134
434 1184 1186 10030:3:4135
1970 700 700 10031:1:354 10032:2:3132
1970 700 701 10033:1:2194 10038:3:4140
1970 701 701 10034:1:355 10035:2:3133 10037:3:4139
1970 701 700 10036:1:2195
1976 21 21 10042:1:350 10043:2:3129 10044:4:5051 10049:3:4132
1976 21 23 10045:1:2190 10048:3:4131
1976 21 20 10046:1:2192 10047:3:4130
1976 23 23 10050:1:351 10051:2:3130 10052:4:5051 10056:3:4128
1976 23 20 10053:1:2188 10055:3:4127
1976 23 21 10054:1:2191 10057:3:4129
1976 20 20 10058:1:842 10059:2:3131 10060:4:5051 10063:3:4126
1976 20 23 10061:1:2189
1976 20 21 10062:1:2193
1982 1186 1186 10064:1:1315 10065:3:4136
1984 829 829 10066:1:836 10067:2:3359 10068:4:5051
1988 1700 1700 10069:1:1769 10070:2:3283 10071:3:4141
1989 26 26 10072:1:356 10073:2:3134 10074:4:5051
1991 30 30 10075:1:404 10076:4:5051
1994 25 25 10077:1:360 10078:2:3255 10079:4:5050
1994 19 19 10080:1:359 10081:2:3135 10082:4:5050
1994 19 25 10083:1:246
1994 25 19 10084:1:253
1996 1083 1083 10085:1:1107 10086:4:5051
1996 1083 1186 10087:3:4137
2095 25 25 10093:1:2166 10094:2:3332 10095:4:5051
2097 1042 1042 10096:1:2180 10097:2:3333 10098:4:5051
2968 2950 2950 10103:1:2960 10104:2:3300 10105:4:5051
2994 2249 2249 10106:1:2987
3194 2249 2249 10107:1:3187
3522 3500 3500 10112:1:3514 10113:4:5051
3901 3831 3831 10116:1:3870
4199 4537 4537 10117:1:4273
4033 3802 3802 10118:1:4044
"""


def operator_class(sql_type: SqlType) -> int:
    """The class by which an index orders a type if it does not say; 0 of a type that PostgreSQL has not."""
    if sql_type.is_text:
        return _BY_TYPE.get(sql_type.oid, _TEXT_CLASS)
    match sql_type.kind:
        case TypeKind.ARRAY:
            return _ARRAY_CLASS
        case TypeKind.ENUM:
            return _ENUM_CLASS
        case TypeKind.STRUCT:
            return _RECORD_CLASS
    if sql_type.is_range:
        return _RANGE_CLASS
    if sql_type.is_multirange:
        return _MULTIRANGE_CLASS
    return _BY_TYPE.get(sql_type.oid, _OID_CLASS if sql_type.system.startswith("reg") else 0)


def collation(sql_type: SqlType) -> int:
    """The collation by which an index orders a type; 0 of one that has none."""
    return _DEFAULT_COLLATION if sql_type.is_text else 0


def _lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.strip().splitlines()]


def _families(_state: SystemState) -> Iterable[Row]:
    for oid, name in _lines(_FAMILIES):
        yield int(oid), BTREE_OID, name, schema_oid("pg_catalog"), BOOTSTRAP_ROLE_ID


def _classes(_state: SystemState) -> Iterable[Row]:
    for oid, name, family, of, is_default, stored in _lines(_CLASSES):
        place = schema_oid("pg_catalog"), BOOTSTRAP_ROLE_ID
        yield int(oid), BTREE_OID, name, *place, int(family), int(of), is_default == "t", int(stored)


def _operators(_state: SystemState) -> Iterable[Row]:
    for family, left, right, first, *operators in _lines(_OPERATORS):
        for place, operator in enumerate(operators):
            head = int(first) + place, int(family), int(left), int(right), place + 1
            yield *head, _SEARCH, int(operator), BTREE_OID, 0


def _support(_state: SystemState) -> Iterable[Row]:
    for family, left, right, *functions in _lines(_SUPPORT):
        for function in functions:
            oid, number, called = map(int, function.split(":"))
            yield oid, int(family), int(left), int(right), number, called


_BY_TYPE = {int(of): int(oid) for oid, _, _, of, is_default, _ in _lines(_CLASSES) if is_default == "t"}

OPERATOR_CLASSES = (
    relation(
        "pg_catalog", "pg_opfamily", "oid oid, opfmethod oid, opfname name, opfnamespace oid, opfowner oid", _families
    ),
    relation(
        "pg_catalog",
        "pg_opclass",
        "oid oid, opcmethod oid, opcname name, opcnamespace oid, opcowner oid, opcfamily oid, opcintype oid,"
        "opcdefault bool, opckeytype oid",
        _classes,
    ),
    relation(
        "pg_catalog",
        "pg_amop",
        "oid oid, amopfamily oid, amoplefttype oid, amoprighttype oid, amopstrategy int2, amoppurpose char,"
        "amopopr oid, amopmethod oid, amopsortfamily oid",
        _operators,
    ),
    relation(
        "pg_catalog",
        "pg_amproc",
        "oid oid, amprocfamily oid, amproclefttype oid, amprocrighttype oid, amprocnum int2, amproc regproc",
        _support,
    ),
)
