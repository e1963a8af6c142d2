"""The decoder by columns gives what a plain reader of one message after the other gives."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from risingpy.connectors.postgres_cdc.pgoutput import NULL, UNCHANGED, relation_of, row_changes, truncated

Value = str | int  # a text, or NULL or UNCHANGED
Row = tuple[Value, ...]
Message = tuple[str, Row | None, str, Row | None]  # kind, old tuple, its mark, new tuple

COLUMNS = 3
FRONT = b"w" + bytes(24)
values = st.one_of(st.text(max_size=20), st.sampled_from([NULL, "", "x" * 300]))
rows = st.tuples(*[values] * COLUMNS)
new_rows = st.tuples(*[st.one_of(values, st.just(UNCHANGED))] * COLUMNS)
messages = st.one_of(
    st.tuples(st.just("I"), st.none(), st.just(""), rows),
    st.tuples(st.just("U"), st.none(), st.just(""), new_rows),
    st.tuples(st.just("U"), rows, st.sampled_from("KO"), new_rows),
    st.tuples(st.just("D"), rows, st.sampled_from("KO"), st.none()),
)


def tuple_bytes(row: Row) -> bytes:
    parts = [struct.pack(">H", len(row))]
    for value in row:
        if isinstance(value, str):
            text = value.encode()
            parts.append(b"t" + struct.pack(">I", len(text)) + text)
        else:
            parts.append(b"n" if value == NULL else b"u")
    return b"".join(parts)


def message_bytes(message: Message) -> bytes:
    kind, old, mark, new = message
    made = FRONT + kind.encode() + struct.pack(">I", 77)
    if old is not None:
        made += mark.encode() + tuple_bytes(old)
    if new is not None:
        made += b"N" + tuple_bytes(new)
    return made


def expected_rows(sent: list[Message]) -> list[tuple[int, Row, int, bool]]:
    """(op, values, position of the message, whether it replaces the row before)."""
    found: list[tuple[int, Row, int, bool]] = []
    for number, (_, old, mark, new) in enumerate(sent):
        if old is not None:
            found.append((-1, old, number, False))
        if new is not None:
            if old is not None and mark == "O":
                new = tuple(o if n == UNCHANGED else n for o, n in zip(old, new, strict=True))
            found.append((1, new, number, old is not None))
    return found


@given(st.lists(messages, min_size=1, max_size=30))
def test_rows_of_many_messages(sent: list[Message]) -> None:
    changes = row_changes([message_bytes(message) for message in sent], COLUMNS, len(FRONT))
    expected = expected_rows(sent)
    assert changes.ops.tolist() == [op for op, *_ in expected]
    assert changes.messages.tolist() == [number for *_, number, _ in expected]
    assert changes.replaces.tolist() == [replaces for *_, replaces in expected]
    for column in range(COLUMNS):
        wanted = [row[column] for _, row, *_ in expected]
        assert changes.texts(column).to_pylist() == [value if isinstance(value, str) else None for value in wanted]
        assert (changes.lengths[column] == UNCHANGED).tolist() == [value == UNCHANGED for value in wanted]


def test_control_messages() -> None:
    column = b"\x01id\0" + struct.pack(">Ii", 20, -1)
    second = "\x00größe\0".encode() + struct.pack(">Ii", 25, -1)
    relation = relation_of(b"R" + struct.pack(">I", 5) + b"public\0t\0d" + struct.pack(">H", 2) + column + second)
    assert (relation.oid, relation.name, relation.identity) == (5, "public.t", "d")
    assert relation.sent == (("id", 20, -1), ("größe", 25, -1)) and relation.key == {0}
    assert truncated(b"T" + struct.pack(">IBII", 2, 1, 5, 6)) == (5, 6)
