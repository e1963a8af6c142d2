"""The door, the certificate and the rules of a server, made of its settings; and what SIGHUP reads again."""

from __future__ import annotations

import ipaddress
import logging
import os
import secrets
import socket
from pathlib import Path

from risingpy.config import ServeConfig
from risingpy.frontend.authentication.door import Door
from risingpy.frontend.authentication.rules import DEFAULT_RULES, INSECURE_RULES, BadRule, Rule, Rules, parse_rules
from risingpy.frontend.authentication.scram_secret import made_secret, parsed_secret
from risingpy.frontend.wire.tls import BadTls, ServerTls, TlsFiles
from risingpy.frontend.wire.transport import user_name
from risingpy.meta.database import Database
from risingpy.meta.schema.roles import with_bootstrap_secret
from risingpy.plan.catalog import BOOTSTRAP_ROLE_ID

_log = logging.getLogger(__name__)
KEY_FILE = "authentication.key"
_KEY_BYTES = 32


class Refused(Exception):
    """The server must not start like this. The operator must act."""


def rules_of(config: ServeConfig) -> Rules:
    """The rules, the operator's or ours. Raises Refused for a line that is none."""
    if not config.hba:
        return INSECURE_RULES if config.insecure else DEFAULT_RULES
    try:
        return parse_rules(config.hba)
    except BadRule as error:
        raise Refused(str(error)) from None


def tls_of(config: ServeConfig) -> ServerTls | None:
    """What TLS needs; None if the settings name no certificate. Raises Refused."""
    if config.tls_cert is None or config.tls_key is None:
        if config.tls_cert is not config.tls_key or config.tls_ca is not None:
            raise Refused("TLS needs both tls_cert and tls_key")
        return None
    try:
        return ServerTls(TlsFiles(config.tls_cert, config.tls_key, config.tls_ca, config.tls_min_version))
    except BadTls as error:
        raise Refused(str(error)) from None


def door_of(config: ServeConfig, database: Database) -> Door:
    """The door of a server that is about to listen. Raises Refused if it would let strangers of the network in."""
    rules = rules_of(config)
    _set_superuser_password(config, database)
    if not _is_loopback(config.host):
        _check_network(config, rules, database)
    for rule in rules.trusting_the_network:
        _log.warning("the rule %s %s %s … trust lets clients of other machines in without a password", *_words(rule))
    return Door(
        rules,
        lambda: database.reads.catalog,
        database.sessions,
        key=_key(database.data_dir),
        system_user=user_name(os.geteuid()) or "",
    )


def _words(rule: Rule) -> tuple[str, str, str]:
    return rule.kind, ",".join(rule.databases), ",".join(rule.users)


def _check_network(config: ServeConfig, rules: Rules, database: Database) -> None:
    host = config.host
    if config.insecure:
        _log.warning("--insecure: host %s is open to the network without a password", host)
        return
    if config.hba and not rules.ask_the_network:
        raise Refused(f"no line of hba asks clients that come to host {host} for a password; --insecure allows it")
    if not config.hba and not database.reads.catalog.has_passwords:
        raise Refused(
            f"host {host} is open to the network, and no user has a password: give the superuser one with "
            "--superuser-password-file, or write rules (hba); --insecure lets everybody in"
        )


def _set_superuser_password(config: ServeConfig, database: Database) -> None:
    """What the operator gives holds from now on, also if SQL has set another password meanwhile."""
    password = _given_password(config)
    if password is None:
        return
    stored = database.reads.catalog.roles[BOOTSTRAP_ROLE_ID].secret
    secret = None if stored is None else parsed_secret(stored)
    if secret is None or made_secret(password, secret.salt, secret.iterations) != stored:
        new = made_secret(password)
        database.ddl.change(lambda state: with_bootstrap_secret(state, new))


def _given_password(config: ServeConfig) -> str | None:
    if config.superuser_password_file is None:
        return config.superuser_password
    try:
        password = config.superuser_password_file.read_text("utf-8").removesuffix("\n").removesuffix("\r")
    except OSError as error:
        raise Refused(f"cannot read {config.superuser_password_file}: {error.strerror}") from None
    if not password:
        raise Refused(f"{config.superuser_password_file} is empty")
    return password


def _is_loopback(host: str) -> bool:
    try:
        found = socket.getaddrinfo(host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(each[4][0]).split("%", 1)[0]).is_loopback for each in found)


def _key(data_dir: Path) -> bytes:
    """The server's secret, made at its first start: the salts of users without a password come of it."""
    path = data_dir / KEY_FILE
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        key = b""
    if len(key) != _KEY_BYTES:
        key = secrets.token_bytes(_KEY_BYTES)
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(key)
    return key


def reloaded(config: ServeConfig, door: Door) -> ServerTls | None:
    """Gives the door the rules of new settings; returns what TLS has now. Raises Refused, and changes nothing then."""
    rules, tls = rules_of(config), tls_of(config)
    door.rules = rules
    return tls
