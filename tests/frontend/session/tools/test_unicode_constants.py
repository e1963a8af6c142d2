"""U&'…' and U&"…" with UESCAPE, beside PostgreSQL."""

from __future__ import annotations

from tests.frontend.session.tools.beside import Beside

STATEMENTS = (
    r"SELECT U&'d\0061t\+000061' AS x, u&'\0441\043B', U&'a\\b', U&'it''s', U&'', U&'\D83D\DE00', U&'\+01F600'",
    r"""SELECT U&"d\0061t\+000061" FROM (SELECT 1 AS data) s""",
    r"""SELECT U&"d!0061t!+000061" UESCAPE '!' FROM (SELECT 1 AS data) s""",
    r"""SELECT U&'d!0061t!+000061' UESCAPE '!', U&'d!0061' UESCAPE E'!', U&'a''!0061' UESCAPE '!' AS x""",
    r"""SELECT U & 'x'""",
    r"""SELECT u&1 AS x FROM (SELECT 3 AS u) s""",
    r"""SELECT u&"x", u &"x" AS y FROM (SELECT 3 AS u, 1 AS x) s""",
    "SELECT U&'a\\0062'\n  'c\\0064' AS x",
    r"""CREATE TABLE U&"t\0061b" (U&"\00E9" int, b text DEFAULT U&'\0441' CHECK (b <> U&'\0042'))""",
    r"""INSERT INTO tab VALUES (1)""",
    r"""INSERT INTO tab VALUES (2, U&'\0061'), (3, U&'b'), (4, u&'!0061' UESCAPE '!')""",
    r"""SELECT * FROM U&"t\0061b" ORDER BY 1""",
    r"""CREATE VIEW vv AS SELECT U&'\0441' AS c, U&"\00E9", e'a\nb' AS x FROM tab WHERE b = U&'\0061'""",
    r"""SELECT pg_get_viewdef('vv'::regclass, true)""",
    r"""SELECT column_name, column_default FROM information_schema.columns WHERE table_name = 'tab' ORDER BY 1""",
    r"""ALTER TABLE tab RENAME COLUMN U&"\00E9" TO d""",
    r"""SELECT * FROM vv ORDER BY 2""",
    r"""SELECT U&"a""b" FROM (SELECT 1 AS "a""b") s""",
    r"""SELECT U&'a' AS U&"x\0079", 1 AS U&"z!0079" UESCAPE '!'""",
    r"""SELECT '!' LIKE U&'!!' UESCAPE '!' AS x""",
    r"""COMMENT ON TABLE tab IS U&'\0441omment'""",
    r"""SELECT obj_description('tab'::regclass)""",
    r"""SELECT U&'\0041' || U&'\0042' || 'c' AS x, (U&'1')::int AS y, U&'2' :: int AS z""",
    r"""PREPARE p AS SELECT U&'\0061' || $1 AS x""",
    r"""EXECUTE p(U&'\0062')""",
    r"""SELECT uescape, 1 AS uescape FROM (SELECT 1 AS uescape) s""",
)
MISTAKES = (
    r"SELECT U&'\D83D' AS bad",
    r"SELECT U&'\DE00' AS bad",
    r"SELECT U&'\D83Dx' AS bad",
    r"SELECT U&'a\\\D83D\\' AS bad",
    r"SELECT 1, U&'a''\00' AS bad",
    r"SELECT U&'\x' AS bad",
    r"SELECT U&'\+00006' AS bad",
    r"SELECT U&'\0000' AS bad",
    r"SELECT U&'\+110000' AS bad",
    r"SELECT U&'a' UESCAPE '+'",
    r"SELECT U&'a' UESCAPE 'ab'",
    r"SELECT U&'a' UESCAPE ''''",
    r"SELECT U&'a' UESCAPE 5",
    r"SELECT U&'a' UESCAPE",
    r"SELECT U&'a' UESCAPE x",
    r'SELECT U&""',
    r'SELECT U&"\0000"',
    r"SELECT U&'abc",
    r'SELECT U&"abc',
    r"SELECT U&'d!0041' UESCAPE '!', nosuch",
)


def test_constants_and_names(beside: Beside) -> None:
    beside.same(*STATEMENTS)


def test_mistakes_have_their_places(beside: Beside) -> None:
    for sql in MISTAKES:
        assert beside.place(sql) == beside.place_there(sql), sql
    beside.same(*MISTAKES)
