"""Which clients are let in, and how they show who they are: lines in pg_hba.conf's words, of which the first fits.

    local    DATABASE  USER  METHOD  [OPTIONS]
    host     DATABASE  USER  ADDRESS  METHOD  [OPTIONS]      (hostssl: with TLS only; hostnossl: without)

DATABASE: all, sameuser, samerole, names.  USER: all, names, +group.  ADDRESS: all, an address, address/bits, or an
address and a mask.  METHOD: trust, reject, scram-sha-256, peer, cert.  OPTIONS: clientcert=verify-ca | verify-full.
"""

from __future__ import annotations

import ipaddress
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from risingpy.frontend.authentication.applicant import Applicant

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
IsMember = Callable[[str, str], bool]
"""Whether a user is a member of a group."""


class BadRule(ValueError):
    """A line that is no rule. The operator must mend it."""


class LoginMethod(Enum):
    """The value is pg_hba's word."""

    TRUST = "trust"
    REJECT = "reject"
    SCRAM = "scram-sha-256"
    PEER = "peer"
    CERT = "cert"

    @property
    def asks(self) -> bool:
        """Whether a client must show who it is."""
        return self in (LoginMethod.SCRAM, LoginMethod.PEER, LoginMethod.CERT)


class ClientCertificate(Enum):
    """What the rule wants besides its method; the value is pg_hba's word."""

    NOT_NEEDED = ""
    SIGNED = "verify-ca"
    OF_THE_USER = "verify-full"


@dataclass(frozen=True, slots=True)
class Rule:
    """One line. `networks` None: any address. One `until_passwords` asks for passwords as soon as a user has one."""

    kind: str
    databases: tuple[str, ...]
    users: tuple[str, ...]
    networks: tuple[Network, ...] | None
    method: LoginMethod
    certificate: ClientCertificate = ClientCertificate.NOT_NEEDED
    until_passwords: bool = False

    def fits(self, applicant: Applicant, is_member: IsMember) -> bool:
        """Whether the rule is about this client."""
        return (
            self._fits_connection(applicant)
            and self._fits_database(applicant, is_member)
            and any(self._fits_user(word, applicant.user, is_member) for word in self.users)
        )

    def _fits_connection(self, applicant: Applicant) -> bool:
        if applicant.address is None or self.kind == "local":
            return applicant.address is None and self.kind == "local"
        if (self.kind == "hostssl" and not applicant.over_tls) or (self.kind == "hostnossl" and applicant.over_tls):
            return False
        if self.networks is None:
            return True
        address = plain_address(applicant.address)
        return any(address.version == each.version and address in each for each in self.networks)

    def _fits_database(self, applicant: Applicant, is_member: IsMember) -> bool:
        for word in self.databases:
            match word:
                case "all":
                    return True
                case "sameuser" if applicant.database == applicant.user:
                    return True
                case "samerole" | "samegroup" if is_member(applicant.user, applicant.database):
                    return True
                case _ if word == applicant.database:
                    return True
        return False

    @staticmethod
    def _fits_user(word: str, user: str, is_member: IsMember) -> bool:
        return word in ("all", user) or (word.startswith("+") and is_member(user, word[1:]))

    @property
    def reaches_beyond_this_machine(self) -> bool:
        """Whether the rule is about clients of other machines."""
        if self.kind == "local":
            return False
        return self.networks is None or not all(each.is_loopback for each in self.networks)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules in their order."""

    rules: tuple[Rule, ...]

    def of(self, applicant: Applicant, is_member: IsMember, *, passwords: bool) -> tuple[Rule, LoginMethod] | None:
        """The first rule that fits, and the method that it has now; `passwords`: whether some user has one."""
        for rule in self.rules:
            if rule.fits(applicant, is_member):
                return rule, (LoginMethod.SCRAM if rule.until_passwords and passwords else rule.method)
        return None

    @property
    def ask_the_network(self) -> bool:
        """Whether there is a rule by which clients of other machines must show who they are."""
        return any(rule.reaches_beyond_this_machine and rule.method.asks for rule in self.rules)

    @property
    def trusting_the_network(self) -> Sequence[Rule]:
        """The rules by which clients of other machines come in without showing who they are."""
        return [rule for rule in self.rules if rule.reaches_beyond_this_machine and rule.method is LoginMethod.TRUST]


@lru_cache(maxsize=1024)
def plain_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """An address without its scope; an IPv4 address that came through an IPv6 socket is an IPv4 address."""
    address = ipaddress.ip_address(text.split("%", 1)[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


_LOOPBACK: tuple[Network, ...] = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
_ALL = ("all",)
_ON_THE_SOCKET = Rule("local", _ALL, _ALL, None, LoginMethod.PEER)
_FROM_HERE = Rule("host", _ALL, _ALL, _LOOPBACK, LoginMethod.TRUST, until_passwords=True)
DEFAULT_RULES = Rules((_ON_THE_SOCKET, _FROM_HERE, Rule("host", _ALL, _ALL, None, LoginMethod.SCRAM)))
"""Without rules of the operator's: the user of the operating system on the socket, anybody of this machine by TCP while
no user has a password, and others with a password."""
INSECURE_RULES = Rules((_ON_THE_SOCKET, Rule("host", _ALL, _ALL, None, LoginMethod.TRUST, until_passwords=True)))
"""Those of --insecure: anybody from anywhere, while no user has a password."""


def parse_rules(lines: Sequence[str]) -> Rules:
    """The rules of lines; comments and empty lines are left out. Raises BadRule with the line."""
    rules = []
    for number, line in enumerate(lines, start=1):
        try:
            words = shlex.split(line, comments=True)
            if words:
                rules.append(_rule(words))
        except ValueError as error:
            raise BadRule(f'line {number} of hba, "{line.strip()}": {error}') from None
    return Rules(tuple(rules))


def _rule(words: list[str]) -> Rule:
    kind, *rest = words
    if kind not in ("local", "host", "hostssl", "hostnossl"):
        raise BadRule(f'"{kind}" is not local, host, hostssl or hostnossl')
    if len(rest) < (3 if kind == "local" else 4):
        raise BadRule("a rule has a type, databases, users, an address (not for local) and a method")
    databases, users = (tuple(word for word in field.split(",") if word) for field in rest[:2])
    rest = rest[2:]
    networks: tuple[Network, ...] | None = None
    if kind != "local":
        networks, rest = _address(rest)
    if not rest:
        raise BadRule("the method is missing")
    method, certificate = _method(rest[0], kind), ClientCertificate.NOT_NEEDED
    for option in rest[1:]:
        certificate = _option(option, kind)
    if method is LoginMethod.CERT:
        certificate = ClientCertificate.OF_THE_USER
    return Rule(kind, databases, users, networks, method, certificate)


def _address(words: list[str]) -> tuple[tuple[Network, ...] | None, list[str]]:
    first, *rest = words
    if first == "all":
        return None, rest
    if first in ("samehost", "samenet"):
        raise BadRule(f"{first} is not supported: write the addresses")
    try:
        if "/" not in first and rest and _is_address(rest[0]):
            return (ipaddress.ip_network(f"{first}/{rest[0]}"),), rest[1:]
        return (ipaddress.ip_network(first),), rest
    except ValueError as error:
        raise BadRule(f"{error} (host names are not supported)") from None


def _is_address(word: str) -> bool:
    try:
        ipaddress.ip_address(word)
    except ValueError:
        return False
    return True


def _method(word: str, kind: str) -> LoginMethod:
    if word in ("md5", "password"):
        raise BadRule(f"the method {word} is not supported: use scram-sha-256")
    known = {method.value: method for method in LoginMethod}
    if word not in known:
        raise BadRule(f'the method "{word}" is not supported: use {", ".join(known)}')
    method = known[word]
    if method is LoginMethod.PEER and kind != "local":
        raise BadRule("the method peer is only for local")
    if method is LoginMethod.CERT and kind != "hostssl":
        raise BadRule("the method cert is only for hostssl")
    return method


def _option(option: str, kind: str) -> ClientCertificate:
    name, _, value = option.partition("=")
    if name != "clientcert" or value not in ("verify-ca", "verify-full"):
        raise BadRule(f'the option "{option}" is not supported: clientcert=verify-ca or verify-full is')
    if kind != "hostssl":
        raise BadRule("clientcert is only for hostssl")
    return ClientCertificate(value)
