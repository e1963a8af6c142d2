"""The door: decides about one client, by the rules and the catalog's roles.

A user that does not exist, one without a password, one whose password has expired, and a wrong password get the same
messages in the same time: an exchange takes place in each case, about a secret that only the server knows. What the
reason was is in the log.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from risingpy.errors import SqlError
from risingpy.frontend.authentication.applicant import Applicant, Dialogue
from risingpy.frontend.authentication.guessing import Guessing
from risingpy.frontend.authentication.rules import ClientCertificate, LoginMethod, Rule, Rules
from risingpy.frontend.authentication.scram import ScramExchange, mechanisms
from risingpy.frontend.authentication.scram_secret import ScramSecret, mock_secret, parsed_secret
from risingpy.meta.schema.databases import check_connects, check_room, reached_database
from risingpy.meta.sessions import Sessions
from risingpy.plan.catalog import BOOTSTRAP_NAME, UNLIMITED, Catalog, Role, roles_of

_log = logging.getLogger(__name__)
INVALID_AUTHORIZATION, INVALID_PASSWORD = "28000", "28P01"


class Door:
    """Lets clients in. From any thread; `rules` may be replaced at any time.

    `sessions` are those that are open. `key` makes the salts of users without passwords, and must not
    change. `system_user` is the operating system's user that runs the server: it may be the bootstrap superuser.
    """

    def __init__(
        self,
        rules: Rules,
        catalog: Callable[[], Catalog],
        sessions: Sessions,
        *,
        key: bytes,
        system_user: str,
    ) -> None:
        self.rules = rules
        self._catalog = catalog
        self._sessions = sessions
        self._key = key
        self._system_user = system_user
        self._guessing = Guessing(time.monotonic)

    def let_in(self, applicant: Applicant, dialogue: Dialogue) -> None:
        """Returns if the client may have a session; else raises the error that it is told."""
        try:
            method = self._check_identity(applicant, dialogue)
            self.check_role(applicant)
        except SqlError as error:
            self._sessions.admissions.count("refused", error.sqlstate)
            _log.warning(
                "refused %r of %s to database %r: %s",
                applicant.user,
                applicant.shown_address,
                applicant.database,
                error.message,
            )
            raise
        self._sessions.admissions.count("accepted", method.value)

    def has_rule(self, applicant: Applicant) -> bool:
        """Whether some rule but one that rejects fits the client."""
        try:
            return self._rule(applicant)[1] is not LoginMethod.REJECT
        except SqlError:
            return False

    def check_role(self, applicant: Applicant) -> None:
        """What PostgreSQL checks after it knows who the client is, in its order."""
        catalog, name = self._catalog(), applicant.user
        role = catalog.role_named(name)
        if role is None:
            raise SqlError(f'role "{name}" does not exist', sqlstate=INVALID_AUTHORIZATION)
        if not role.login:
            raise SqlError(f'role "{name}" is not permitted to log in', sqlstate=INVALID_AUTHORIZATION)
        limited = role.connection_limit != UNLIMITED and not role.superuser
        if limited and _sessions_of(name, self._sessions) >= role.connection_limit:
            raise SqlError(f'too many connections for role "{name}"', sqlstate="53300")
        database = reached_database(catalog, applicant.database)
        check_connects(catalog, role.role_id, database)
        check_room(database, self._sessions, is_superuser=role.superuser)

    def _check_identity(self, applicant: Applicant, dialogue: Dialogue) -> LoginMethod:
        rule, method = self._rule(applicant)
        self._check_certificate(applicant, rule)
        match method:
            case LoginMethod.REJECT:
                raise SqlError(
                    f"pg_hba.conf rejects connection for {_shown(applicant)}", sqlstate=INVALID_AUTHORIZATION
                )
            case LoginMethod.PEER:
                self._check_peer(applicant)
            case LoginMethod.SCRAM:
                self._check_password(applicant, dialogue)
            case LoginMethod.TRUST | LoginMethod.CERT:
                pass
        return method

    def _rule(self, applicant: Applicant) -> tuple[Rule, LoginMethod]:
        catalog = self._catalog()
        with suppress(SqlError):  # a rule for a database holds under every name that leads there
            applicant = replace(applicant, database=reached_database(catalog, applicant.database).name)

        def is_member(user: str, group: str) -> bool:
            member, of = catalog.role_named(user), catalog.role_named(group)
            return member is not None and of is not None and of.role_id in roles_of(catalog.roles, member.role_id)

        found = self.rules.of(applicant, is_member, passwords=catalog.has_passwords)
        if found is None:
            message = f"no pg_hba.conf entry for {_shown(applicant)}"
            hint = 'The rules are "hba" in the server\'s settings file.'
            raise SqlError(message, sqlstate=INVALID_AUTHORIZATION, hint=hint)
        return found

    @staticmethod
    def _check_certificate(applicant: Applicant, rule: Rule) -> None:
        match rule.certificate:
            case ClientCertificate.SIGNED if applicant.certificate_name is None:
                raise SqlError("connection requires a valid client certificate", sqlstate=INVALID_AUTHORIZATION)
            case ClientCertificate.OF_THE_USER:
                if applicant.certificate_name is None:
                    raise SqlError("connection requires a valid client certificate", sqlstate=INVALID_AUTHORIZATION)
                if applicant.certificate_name != applicant.user:
                    message = f'certificate authentication failed for user "{applicant.user}"'
                    raise SqlError(message, sqlstate=INVALID_AUTHORIZATION)

    def _check_peer(self, applicant: Applicant) -> None:
        known = applicant.system_user
        runs_the_server = known == self._system_user and applicant.user == BOOTSTRAP_NAME
        if known is None or not (runs_the_server or known == applicant.user):
            message = f'Peer authentication failed for user "{applicant.user}"'
            raise SqlError(message, sqlstate=INVALID_AUTHORIZATION)

    def _check_password(self, applicant: Applicant, dialogue: Dialogue) -> None:
        key = applicant.shown_address, applicant.user
        wait = self._guessing.wait_of(key)
        if wait is None:
            message = f'too many failed logins of user "{applicant.user}" from {applicant.shown_address}'
            raise SqlError(message, sqlstate="53300", hint="Try again in half a minute.")
        if wait:
            dialogue.pause(wait)
        role = self._catalog().role_named(applicant.user)
        secret = None if role is None or role.secret is None else parsed_secret(role.secret)
        usable = secret is not None and not _has_expired(role)
        succeeded = self._exchange(applicant, dialogue, secret or mock_secret(applicant.user, self._key), usable)
        if succeeded:
            self._guessing.succeeded(key)
            return
        self._guessing.failed(key)
        _log.info("password of %r not accepted: %s", applicant.user, _reason(role, secret is not None))
        message = f'password authentication failed for user "{applicant.user}"'
        raise SqlError(message, sqlstate=INVALID_PASSWORD)

    @staticmethod
    def _exchange(applicant: Applicant, dialogue: Dialogue, secret: ScramSecret, usable: bool) -> bool:
        exchange = ScramExchange(secret, applicant.binding)
        chosen, first = dialogue.offer(mechanisms(applicant.binding))
        last = exchange.answer_final(dialogue.challenge(exchange.answer_first(chosen, first)))
        if last is None or not usable:
            return False
        dialogue.finish(last)
        return True


def _sessions_of(user: str, sessions: Sessions) -> int:
    return sum(each.user == user for each in sessions.activities())


def _shown(applicant: Applicant) -> str:
    names = f'host "{applicant.shown_address}", user "{applicant.user}", database "{applicant.database}"'
    return f"{names}, {applicant.shown_encryption}"


def _has_expired(role: Role | None) -> bool:
    return role is not None and role.valid_until is not None and role.valid_until < time.time() * 1_000_000


def _reason(role: Role | None, has_secret: bool) -> str:
    if role is None:
        return "there is no such role"
    if not has_secret:
        return "the role has no password"
    return "it has expired" if _has_expired(role) else "it is wrong"
