"""A short read is refused, as the long way refuses it, from the moment on when its right is gone, however it goes."""

from __future__ import annotations

import pytest

from tests.frontend.session.reads.short_answers import Answers
from tests.frontend.session.rights.test_privileges import Users
from tests.frontend.session.rights.test_privileges import users as users
from tests.frontend.wire import raw_client as raw

TEXT = raw.query(b"SELECT b FROM t WHERE a = 1")
SERIES = raw.bind(b"", b"p", (b"1",)) + raw.describe(b"P") + raw.execute() + raw.SYNC
SETUP = "GRANT SELECT ON t TO bob, team; CREATE SCHEMA s; GRANT USAGE ON SCHEMA s TO bob"


def asked(answers: Answers) -> list[bytes]:
    """What a read in a text, and a prepared one, are answered, in short if that is possible."""
    return [answers.short(data) or answers.long(data) for data in (TEXT, SERIES)]


@pytest.mark.parametrize(
    ("reader", "before", "change"),
    [
        ("bob", "", "REVOKE SELECT ON t FROM bob, PUBLIC"),
        ("bob", "GRANT SELECT (a, b) ON t TO bob; REVOKE SELECT ON t FROM bob; GRANT SELECT (a, b) ON t TO bob",
         "REVOKE SELECT (b) ON t FROM bob"),
        ("bob", "", "DROP OWNED BY bob"),
        ("bob", "REVOKE SELECT ON t FROM bob; ALTER TABLE t OWNER TO bob", "ALTER TABLE t OWNER TO alice"),
        ("bob", "REVOKE USAGE ON SCHEMA public FROM PUBLIC; GRANT USAGE ON SCHEMA public TO bob",
         "REVOKE USAGE ON SCHEMA public FROM bob"),
        ("carol", "", "REVOKE team FROM carol"),
        ("carol", "", "ALTER ROLE carol NOINHERIT"),
        ("carol", "", "REVOKE SELECT ON t FROM team"),
        ("bob", "REVOKE SELECT ON t FROM bob; ALTER ROLE bob SUPERUSER", "ALTER ROLE bob NOSUPERUSER"),
        ("bob", "REVOKE SELECT ON t FROM bob; GRANT pg_read_all_data TO bob", "REVOKE pg_read_all_data FROM bob"),
        ("bob", "", "BEGIN; REVOKE SELECT ON t FROM bob; COMMIT"),
    ],
)  # fmt: skip
def test_what_is_revoked_is_refused(users: Users, reader: str, before: str, change: str) -> None:
    root = users["root"]
    root.run(f"{SETUP}; {before or 'SELECT 1'}; FLUSH")
    answers = Answers(users[reader].session)
    answers.long(raw.parse(b"p", b"SELECT b FROM t WHERE a = $1", (23,)) + raw.SYNC)
    for _ in range(3):
        assert all(b"10" in said for said in asked(answers))
    assert all(answers.short(data) is not None for data in (TEXT, SERIES))
    root.run(change)
    for _ in range(3):
        for said in asked(answers):
            state = b"C42P01\0" if "SCHEMA" in change else b"C42501\0"  # of a schema on the search path
            assert state in said and b"SELECT 1" not in said, said


def test_another_role_reads_for_itself(users: Users) -> None:
    root = users["root"]
    root.run(f"{SETUP}; GRANT carol TO alice; REVOKE SELECT ON t FROM team; FLUSH")
    answers = Answers(users["alice"].session)
    answers.long(raw.parse(b"p", b"SELECT b FROM t WHERE a = $1", (23,)) + raw.SYNC)
    for _ in range(3):
        assert all(b"10" in said for said in asked(answers))
        for role, allowed in (("carol", False), ("none", True)):
            answers.long(raw.query(b"SET ROLE " + role.encode()))
            for said in (*asked(answers), *asked(answers)):
                assert (b"C42501\0" in said) is not allowed, (role, said)
