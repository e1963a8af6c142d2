"""Which rule fits which client, and what is no rule."""

from __future__ import annotations

import pytest

from risingpy.frontend.authentication.applicant import Applicant
from risingpy.frontend.authentication.guessing import (
    FREE_FAILURES,
    LONGEST_QUEUE_SECONDS,
    LONGEST_WAIT_SECONDS,
    MOST_ENTRIES,
    Guessing,
)
from risingpy.frontend.authentication.rules import DEFAULT_RULES, BadRule, LoginMethod, Rules, parse_rules

LINES = """
# comments and empty lines are left out

local   all        all                            peer
host    sameuser   all        127.0.0.1 255.255.255.255  trust
hostssl dev,test   alice,+staff  10.0.0.0/8       scram-sha-256 clientcert=verify-ca
hostssl all        robot      10.1.0.0/16         cert
hostnossl all      all        10.0.0.0/8          reject
host    "dev"      "all"      fd00::/8            scram-sha-256
host    samerole   bob        192.168.0.1         scram-sha-256
""".splitlines()


def is_member(user: str, group: str) -> bool:
    return (user, group) in (("carol", "staff"), ("bob", "crew"))


def method(rules: Rules, user: str, database: str, address: str | None, *, tls: bool, passwords: bool = True) -> str:
    found = rules.of(Applicant(user, database, address, over_tls=tls), is_member, passwords=passwords)
    return "none" if found is None else found[1].value


@pytest.mark.parametrize(
    ("user", "database", "address", "tls", "expected"),
    [
        ("any", "dev", None, False, "peer"),
        ("dev", "dev", "127.0.0.1", False, "trust"),
        ("any", "dev", "127.0.0.1", False, "none"),
        ("dev", "dev", "127.0.0.2", False, "none"),
        ("alice", "dev", "10.9.9.9", True, "scram-sha-256"),
        ("carol", "test", "10.9.9.9", True, "scram-sha-256"),
        ("carol", "other", "10.9.9.9", True, "none"),
        ("robot", "other", "10.1.0.1", True, "cert"),
        ("robot", "other", "10.2.0.1", True, "none"),
        ("alice", "dev", "10.9.9.9", False, "reject"),
        ("x", "dev", "fd00::1", False, "scram-sha-256"),
        ("x", "dev", "fe80::1%eth0", False, "none"),
        ("dev", "dev", "::ffff:127.0.0.1", False, "trust"),
        ("bob", "crew", "192.168.0.1", False, "scram-sha-256"),
        ("bob", "dev", "192.168.0.1", False, "none"),
    ],
)
def test_the_first_rule_that_fits(user: str, database: str, address: str | None, tls: bool, expected: str) -> None:
    assert method(parse_rules(LINES), user, database, address, tls=tls) == expected


@pytest.mark.parametrize(
    ("address", "passwords", "expected"),
    [
        (None, True, "peer"),
        ("127.0.0.1", False, "trust"),
        ("127.0.0.1", True, "scram-sha-256"),
        ("::1", False, "trust"),
        ("10.0.0.1", False, "scram-sha-256"),
    ],
)
def test_the_rules_of_a_server_without_rules(address: str | None, passwords: bool, expected: str) -> None:
    assert method(DEFAULT_RULES, "root", "dev", address, tls=False, passwords=passwords) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("host all all 127.0.0.1/32 md5", "the method md5 is not supported: use scram-sha-256"),
        ("host all all 127.0.0.1/32 ldap", 'the method "ldap" is not supported'),
        ("host all all 127.0.0.1/33 trust", "127.0.0.1/33"),
        ("host all all example.org trust", "host names are not supported"),
        ("host all all samenet trust", "samenet is not supported"),
        ("host all all 127.0.0.1/32", "has a type, databases, users, an address"),
        ("host all all all peer", "the method peer is only for local"),
        ("host all all all cert", "the method cert is only for hostssl"),
        ("local all all peer map=m", 'the option "map=m" is not supported'),
        ("host all all all trust clientcert=verify-ca", "clientcert is only for hostssl"),
        ("hostgssenc all all all trust", '"hostgssenc" is not local, host, hostssl or hostnossl'),
        ('host "all all all trust', "No closing quotation"),
    ],
)
def test_lines_that_are_no_rules(line: str, message: str) -> None:
    with pytest.raises(BadRule) as raised:
        parse_rules(["local all all peer", line])
    assert message in str(raised.value) and str(raised.value).startswith("line 2 of hba")


@pytest.mark.parametrize(
    ("lines", "asks", "trusts"),
    [
        (["local all all peer"], False, False),
        (["host all all 127.0.0.1/32 scram-sha-256"], False, False),
        (["host all all all scram-sha-256"], True, False),
        (["hostssl all all 10.0.0.0/8 cert", "host all all 10.0.0.0/8 trust"], True, True),
    ],
)
def test_what_rules_mean_for_the_network(lines: list[str], asks: bool, trusts: bool) -> None:
    rules = parse_rules(lines)
    assert (rules.ask_the_network, bool(rules.trusting_the_network)) == (asks, trusts)
    assert LoginMethod.SCRAM.asks and not LoginMethod.TRUST.asks


def test_guesses_wait_in_turn() -> None:
    clock = [0.0]
    guessing = Guessing(lambda: clock[0])
    mine, others = ("10.0.0.1", "root"), ("10.0.0.1", "alice")
    for _ in range(FREE_FAILURES):
        assert guessing.wait_of(mine) == 0
        guessing.failed(mine)
    assert [round(guessing.wait_of(mine) or 0, 3) for _ in range(3)] == [0.1, 0.2, 0.3], "parallel tries queue"
    assert guessing.wait_of(others) == 0, "other users do not wait for them"
    clock[0] = 10
    for _ in range(20):
        guessing.failed(mine)
    assert guessing.wait_of(mine) == LONGEST_WAIT_SECONDS
    assert [guessing.wait_of(mine) for _ in range(10)][-1] is None, "the queue has an end"
    clock[0] += LONGEST_QUEUE_SECONDS
    assert guessing.wait_of(mine) is not None
    guessing.succeeded(mine)
    assert guessing.wait_of(mine) == 0
    for number in range(MOST_ENTRIES + 10):
        guessing.failed((str(number), "x"))
    assert len(guessing._failures) == MOST_ENTRIES
