"""Every kind of record, as the format writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from risingpy.sqllogictest.parser import SltSyntaxError, parse_duration, parse_file, parse_text
from risingpy.sqllogictest.records import (
    Condition,
    ExpectedError,
    Halt,
    HashThreshold,
    Lines,
    QueryRecord,
    Retry,
    SetSortMode,
    SetSubstitution,
    Sleep,
    SortMode,
    StatementRecord,
    Subtest,
    System,
)


def parse_one(text: str) -> object:
    records = parse_text(text)
    assert len(records) == 1
    return records[0]


def test_statement_ok_takes_the_lines_up_to_a_blank_one() -> None:
    record = parse_one("# a comment\n\nstatement ok\nCREATE TABLE t (\n  a INT\n)\n\n")
    assert isinstance(record, StatementRecord)
    assert record.sql == "CREATE TABLE t (\n  a INT\n)"
    assert (record.location.line, record.error, record.count) == (3, None, None)


def test_statement_count() -> None:
    record = parse_one("statement count 12\nDELETE FROM t")
    assert isinstance(record, StatementRecord)
    assert record.count == 12


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("statement error", ExpectedError()),
        ("statement error does not (exist|live)", ExpectedError(pattern="does not (exist|live)")),
        ("statement error (42P01)", ExpectedError(sqlstate="42P01")),
        ("statement error (42P01) no such", ExpectedError(sqlstate="42P01", pattern="no such")),
    ],
)
def test_statement_error(header: str, expected: ExpectedError) -> None:
    record = parse_one(f"{header}\nSELECT 1")
    assert isinstance(record, StatementRecord)
    assert record.error == expected


def test_an_errors_text_ends_at_two_blank_lines() -> None:
    records = parse_text("statement error\nSELECT x\n----\nfirst\n\nsecond\n\n\nstatement ok\nSELECT 1\n")
    assert isinstance(records[0], StatementRecord)
    assert records[0].error == ExpectedError(text="first\n\nsecond")
    assert len(records) == 2


def test_query_with_types_sort_label_and_rows() -> None:
    record = parse_one("query IT rowsort label-1\nSELECT a, b\nFROM t\n----\n1 x\n2 y z\n\n")
    assert isinstance(record, QueryRecord)
    assert (record.types, record.sort, record.label) == ("IT", SortMode.ROWSORT, "label-1")
    assert record.sql == "SELECT a, b\nFROM t"
    assert (record.expected, record.lines) == (("1 x", "2 y z"), Lines(5, 6))


def test_query_that_expects_no_rows_knows_where_they_would_stand() -> None:
    record = parse_one("query I\nSELECT 1\n----\n\n")
    assert isinstance(record, QueryRecord)
    assert (record.expected, record.lines) == ((), Lines(4, 3))


def test_query_error() -> None:
    record = parse_one("query error (22012) zero\nSELECT 1 / 0")
    assert isinstance(record, QueryRecord)
    assert record.error == ExpectedError(sqlstate="22012", pattern="zero")


def test_retry_is_parted_from_what_stands_before_it() -> None:
    text = "query I rowsort retry 3 backoff 500ms\nSELECT 1\n----\n1\n\nstatement ok retry 2 backoff 1s\nX"
    records = parse_text(text)
    assert isinstance(records[0], QueryRecord)
    assert isinstance(records[1], StatementRecord)
    assert (records[0].sort, records[0].retry) == (SortMode.ROWSORT, Retry(3, 0.5))
    assert records[1].retry == Retry(2, 1.0)


def test_conditions_and_connection_belong_to_the_next_record_only() -> None:
    first, second = parse_text("skipif a\nonlyif b\nconnection c\nstatement ok\nX\n\nstatement ok\nY\n")
    assert first.conditions == (Condition("a", only=False), Condition("b", only=True))
    assert (first.connection, second.conditions, second.connection) == ("c", (), None)
    assert first.runs_under(frozenset({"b"}))
    assert not first.runs_under(frozenset({"a", "b"}))
    assert not first.runs_under(frozenset())


def test_records_of_one_line() -> None:
    text = (
        "sleep 1500ms\nhalt\nsubtest name of it\nhash-threshold 7\n"
        "control sortmode rowsort\ncontrol substitution on\ncontrol substitution off"
    )
    sleep, halt, subtest, threshold, sort, on, off = parse_text(text)
    assert isinstance(sleep, Sleep)
    assert sleep.seconds == 1.5
    assert isinstance(halt, Halt)
    assert isinstance(subtest, Subtest)
    assert subtest.name == "name of it"
    assert isinstance(threshold, HashThreshold)
    assert threshold.values == 7
    assert isinstance(sort, SetSortMode)
    assert sort.sort is SortMode.ROWSORT
    assert isinstance(on, SetSubstitution)
    assert isinstance(off, SetSubstitution)
    assert (on.on, off.on) == (True, False)


def test_system() -> None:
    with_output, without = parse_text("system ok\necho hi\n----\nhi\n\nsystem ok\ntrue\n")
    assert isinstance(with_output, System)
    assert isinstance(without, System)
    assert (with_output.command, with_output.expected) == ("echo hi", ("hi",))
    assert without.expected is None


def test_include_takes_a_glob_in_sorted_order(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for name in ("b", "a"):
        (tmp_path / "parts" / f"{name}.slt.part").write_text(f"statement ok\n{name}\n")
    main = tmp_path / "main.slt"
    main.write_text("include parts/*.slt.part\n\nstatement ok\nlast\n")
    records = parse_file(main)
    assert [record.sql for record in records if isinstance(record, StatementRecord)] == ["a", "b", "last"]
    assert records[0].location.path.name == "a.slt.part"


def test_a_file_that_includes_itself_is_refused(tmp_path: Path) -> None:
    main = tmp_path / "main.slt"
    main.write_text("include main.slt\n")
    with pytest.raises(SltSyntaxError, match="nest deeper"):
        parse_file(main)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense\n", "unknown record 'nonsense'"),
        ("statement maybe\nX\n", "statement takes ok"),
        ("statement ok\n\n", "no text"),
        ("\nquery I one two\nX\n", "<text>:2: query has a second label"),
        ("sleep long\n", "not a duration"),
        ("hash-threshold x\n", "takes a number"),
        ("control tower\n", "unknown control"),
        ("statement error [\nX\n", "bad regular expression"),
        ("statement error x\nX\n----\ny\n", "not both"),
        ("include nothing*.slt\n", "names no file"),
        ("system maybe\nX\n", "system takes 'ok'"),
        ("connection\nstatement ok\nX\n", "one word"),
    ],
)
def test_what_breaks_the_format_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(SltSyntaxError) as caught:
        parse_text(text)
    assert message in str(caught.value)


def test_durations() -> None:
    texts = ("250ms", "2s", "1m", "1.5s", "5", "s")
    assert [parse_duration(text) for text in texts] == [0.25, 2.0, 60.0, 1.5, None, None]
