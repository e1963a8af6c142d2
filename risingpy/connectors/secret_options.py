"""Which options are secrets, and how texts are shown without them: the one list, and the one mask.

SHOW CREATE, the system relations, the log and errors show what users wrote, and each such text goes through
`masked_value` or `masked_text`. A value that is no secret may have one inside: the password of an URL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from risingpy.errors import SqlError

MASK = "***"
SECRET_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "every connector of messages": ("schema.registry.password",),
        "deltalake, iceberg": ("s3.access.key", "s3.secret.key", "catalog.credential", "catalog.token"),
        "http": ("headers.authorization", "headers.proxy-authorization", "headers.cookie"),
        "kafka": (
            "properties.sasl.jaas.config",
            "properties.sasl.oauthbearer.client.secret",
            "properties.sasl.oauthbearer.config",
            "properties.sasl.password",
            "properties.ssl.key.password",
            "properties.ssl.key.pem",
            "properties.ssl.keystore.password",
        ),
        "mqtt": ("password",),
        "nats": ("password", "token"),
        "mysql-cdc": ("password",),
        "postgres, jdbc, postgres-cdc": ("password",),
        "s3, fs": ("s3.credentials.access", "s3.credentials.secret"),
    }
)
"""The secret options, by the connectors that have them."""

_NAMES = frozenset(name for names in SECRET_OPTIONS.values() for name in names)
# An option that no connector of ours has: of another package, a header that a service made up, or misspelled.
_LIKELY = re.compile(
    r"passw|pwd|secret|token|credential|jaas|private|authorization|cookie"
    r"|(access|account|api|encryption|signing)[._-]?key|ssl\.key\."
)
# Shorter values stand in too many words: a mask in their place would make a riddle of the error.
_SHORTEST = 3
_IN_URLS = (
    (re.compile(r"(://[^/@:\s]*:)[^@/\s]+@"), rf"\1{MASK}@"),
    (re.compile(r"(password=)[^&\s']+"), rf"\1{MASK}"),
)


def is_secret(name: str) -> bool:
    """Whether the value of the option is a secret."""
    lower = name.lower()
    return lower in _NAMES or _LIKELY.search(lower) is not None


def masked_value(name: str, value: str) -> str:
    """An option's value as it is shown: `***` for a secret's, and in place of an URL's password."""
    return MASK if is_secret(name) else _without_passwords_of_urls(value)


def masked_text(text: str, options: Mapping[str, str]) -> str:
    """`text`, such as the error of a library, without the values of the options that are secrets."""
    secrets = [value for name, value in options.items() if is_secret(name) and len(value) >= _SHORTEST]
    for value in sorted(secrets, key=len, reverse=True):  # one may be the beginning of another
        text = text.replace(value, MASK)
    return _without_passwords_of_urls(text)


@contextmanager
def masked_errors(options: Mapping[str, str]) -> Iterator[None]:
    """An SqlError of the block has no values of secret options in its texts."""
    try:
        yield
    except SqlError as error:
        error.rewrite(lambda text: masked_text(text, options))
        raise


def _without_passwords_of_urls(text: str) -> str:
    for pattern, shown in _IN_URLS:
        text = pattern.sub(shown, text)
    return text
