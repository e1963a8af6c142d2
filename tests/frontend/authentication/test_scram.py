"""The SCRAM exchange: the RFC's own example, another implementation as the client, thousands of mangled messages."""

from __future__ import annotations

import base64
import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scramp import ScramClient
from scramp.core import ScramException

from risingpy.errors import SqlError
from risingpy.frontend.authentication.saslprep import saslprep
from risingpy.frontend.authentication.scram import PLAIN, PLUS, ScramExchange, mechanisms
from risingpy.frontend.authentication.scram_secret import ScramSecret, made_secret, mock_secret, parsed_secret
from tests.frontend.authentication.mangling import mangled

BINDING = b"\x17" * 32
MANGLED = 20_000


def secret_of(password: str, salt: bytes = b"0123456789abcdef", iterations: int = 4096) -> ScramSecret:
    found = parsed_secret(made_secret(password, salt, iterations))
    assert found is not None
    return found


def test_the_example_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    exchange = ScramExchange(secret_of("pencil", salt), nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = exchange.answer_first(PLAIN, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    assert first == b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    final = exchange.answer_final(
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert final == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def log_in(password: str, exchange: ScramExchange, binding: bytes | None = None) -> bool:
    """What scramp's client, which checks the server's proof too, makes of an exchange."""
    channel = None if binding is None else ("tls-server-end-point", binding)
    client = ScramClient(list(mechanisms(binding)), "any", password, channel_binding=channel)
    answer = exchange.answer_first(client.mechanism_name, client.get_client_first().encode())
    client.set_server_first(answer.decode())
    final = exchange.answer_final(client.get_client_final().encode())
    if final is None:
        return False
    client.set_server_final(final.decode())
    return True


@pytest.mark.parametrize("binding", [None, BINDING])
@pytest.mark.parametrize("password", ["secret", "pass word, with = and ,", "ünïcödé", "パスワード", "x" * 500])
def test_another_client(password: str, binding: bytes | None) -> None:
    assert log_in(password, ScramExchange(secret_of(password), binding), binding)
    assert not log_in(password + "!", ScramExchange(secret_of(password), binding), binding)
    assert not log_in(password, ScramExchange(mock_secret("nobody", b"key"), binding), binding)


def test_a_binding_to_another_connection_is_refused() -> None:
    """Somebody in between has a certificate of their own, so their digest differs from the server's."""
    with pytest.raises(SqlError, match="SCRAM channel binding check failed"):
        log_in("secret", ScramExchange(secret_of("secret"), BINDING), b"\x18" * 32)


def test_nobody_strips_the_binding_from_the_offer() -> None:
    """A client that could bind, and was told that the server cannot, says so; this server can."""
    exchange = ScramExchange(secret_of("secret"), BINDING)
    with pytest.raises(SqlError, match="negotiation error") as raised:
        exchange.answer_first(PLAIN, b"y,,n=,r=abc")
    assert raised.value.sqlstate == "28000"


@pytest.mark.parametrize(
    ("mechanism", "message", "sqlstate"),
    [
        ("SCRAM-SHA-1", b"n,,n=,r=abc", "08P01"),
        (PLUS, b"n,,n=,r=abc", "08P01"),
        (PLUS, b"p=tls-unique,,n=,r=abc", "08P01"),
        (PLAIN, b"p=tls-server-end-point,,n=,r=abc", "08P01"),
        (PLAIN, b"n,a=root,n=,r=abc", "0A000"),
        (PLAIN, b"n,,m=ext,n=,r=abc", "0A000"),
        (PLAIN, b"n,,n=,r=", "08P01"),
        (PLAIN, b"n,,n=,r=a\tb", "08P01"),
        (PLAIN, b"n,,n=,r=\xff", "08P01"),
        (PLAIN, b"", "08P01"),
        (PLAIN, b"n,,n=,r=abc\0", "08P01"),
    ],
)
def test_first_messages_that_are_refused(mechanism: str, message: bytes, sqlstate: str) -> None:
    with pytest.raises(SqlError) as raised:
        ScramExchange(secret_of("secret"), BINDING).answer_first(mechanism, message)
    assert raised.value.sqlstate == sqlstate


def test_nobody_gets_in_with_mangled_messages() -> None:
    """Each exchange has one message or more that differs from a right one: none succeeds, none raises another error."""
    dice = random.Random(29)
    secret = secret_of("secret", iterations=1)
    for number in range(MANGLED):
        binding = BINDING if number % 2 else None
        channel = None if binding is None else ("tls-server-end-point", binding)
        client = ScramClient(list(mechanisms(binding)), "any", "secret", channel_binding=channel)
        exchange = ScramExchange(secret, binding)
        first = client.get_client_first().encode()
        try:
            answer = exchange.answer_first(client.mechanism_name, mangled(first, dice) if number % 3 == 0 else first)
            client.set_server_first(answer.decode())
            final = client.get_client_final().encode()
            answered = exchange.answer_final(mangled(final, dice))
        except SqlError as error:
            assert error.sqlstate in ("08P01", "28000", "0A000")
            continue
        except ScramException:  # the client sees that the nonce is not its own
            continue
        assert answered is None


@given(st.text(max_size=40))
def test_saslprep_gives_one_form(password: str) -> None:
    prepared = saslprep(password)
    assert saslprep(prepared) == prepared or prepared == password
    assert made_secret(password, b"salt", 1) == made_secret(prepared, b"salt", 1) or prepared == password


@pytest.mark.parametrize(
    ("password", "prepared"),
    [
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("a\u00a0b", "a b"),
        ("\u0007", "\u0007"),  # prohibited: used as it is
        ("\u0627\u0031", "\u0627\u0031"),  # its directions do not agree: likewise
        (unicodedata.normalize("NFD", "é"), "é"),
    ],
)
def test_saslprep_of_rfc_4013(password: str, prepared: str) -> None:
    assert saslprep(password) == prepared


def test_a_user_without_a_password_has_always_the_same_salt() -> None:
    assert mock_secret("nobody", b"key").salt == mock_secret("nobody", b"key").salt
    assert mock_secret("nobody", b"key").salt != mock_secret("nobody else", b"key").salt
    assert len(mock_secret("nobody", b"key").salt) == len(secret_of("secret").salt)


@pytest.mark.parametrize("text", ["", "md5x", "SCRAM-SHA-256$0:c2FsdA==$x:y", "SCRAM-SHA-256$4096:####$a:b"])
def test_what_is_no_secret(text: str) -> None:
    assert parsed_secret(text) is None
