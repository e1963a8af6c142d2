"""The server's side of the SCRAM-SHA-256 exchange, without I/O (RFC 5802, RFC 7677; channel binding RFC 5929).

    client first   n,,n=,r=<client nonce>                       (or y,, or p=tls-server-end-point,,)
    server first   r=<client nonce><server nonce>,s=<salt>,i=<iterations>
    client final   c=<base64 of the header and the binding>,r=<both nonces>,p=<proof>
    server final   v=<the server's own proof>

The user's name is the one of the startup packet, as in PostgreSQL: the one in the message is not looked at. Errors have
PostgreSQL's wording.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from risingpy.errors import FeatureNotSupported, ProtocolViolation, SqlError
from risingpy.frontend.authentication.scram_secret import KEY_BYTES, ScramSecret, mac

PLAIN, PLUS = "SCRAM-SHA-256", "SCRAM-SHA-256-PLUS"
_BINDING_TYPE = "tls-server-end-point"
_NONCE_BYTES = 18
_NONCE = re.compile(r"[\x21-\x2b\x2d-\x7e]+")  # printable ASCII without commas
_FIRST = re.compile(r"(?P<header>(?P<flag>[ny]|p=[^,]*),(?P<identity>[^,]*),)(?P<bare>.*)", re.DOTALL)
_BARE = re.compile(r"n=[^,]*,r=(?P<nonce>[^,]*)(?:,.*)?", re.DOTALL)
_FINAL = re.compile(r"(?P<unproven>c=(?P<binding>[^,]*),r=(?P<nonce>[^,]*)(?:,[^,]*)*?),p=(?P<proof>[^,]*)", re.DOTALL)


def mechanisms(binding: bytes | None) -> tuple[str, ...]:
    """What the server offers, the best first; `binding` is the digest of its certificate (None: no TLS)."""
    return (PLAIN,) if binding is None else (PLUS, PLAIN)


@dataclass(frozen=True, slots=True)
class _First:
    """What the first two messages have settled."""

    header: str
    bare: str
    answer: str
    nonce: str
    bound: bool


class ScramExchange:
    """One exchange, in two steps. `binding` is the digest of the server's certificate (None: no TLS)."""

    def __init__(self, secret: ScramSecret, binding: bytes | None = None, nonce: str | None = None) -> None:
        self._secret = secret
        self._binding = binding
        self._own_nonce = secrets.token_urlsafe(_NONCE_BYTES) if nonce is None else nonce
        self._first: _First | None = None

    def answer_first(self, mechanism: str, message: bytes) -> bytes:
        """The server's first message. Raises ProtocolViolation (08P01) for a message that is none, and 28000."""
        if mechanism not in mechanisms(self._binding):
            raise ProtocolViolation("client selected an invalid SASL authentication mechanism")
        found = _FIRST.fullmatch(_text(message))
        if found is None:
            raise _malformed("Unexpected channel-binding flag.")
        bound = self._check_flag(mechanism, found["flag"])
        if found["identity"]:
            raise FeatureNotSupported("client uses authorization identity, but it is not supported")
        if found["bare"].startswith("m="):
            raise FeatureNotSupported("client requires an unsupported SCRAM extension")
        bare = _BARE.fullmatch(found["bare"])
        if bare is None:
            raise _malformed("Expected the attributes n and r.")
        if not _NONCE.fullmatch(bare["nonce"]):
            raise ProtocolViolation("non-printable characters in SCRAM nonce")
        nonce = bare["nonce"] + self._own_nonce
        salt = base64.b64encode(self._secret.salt).decode("ascii")
        answer = f"r={nonce},s={salt},i={self._secret.iterations}"
        self._first = _First(found["header"], found["bare"], answer, nonce, bound)
        return answer.encode("ascii")

    def answer_final(self, message: bytes) -> bytes | None:
        """The server's last message; None for a wrong password. Raises ProtocolViolation (08P01), and 28000."""
        first = self._first
        assert first is not None
        text = _text(message)
        found = _FINAL.fullmatch(text)
        if found is None:
            raise _malformed("Expected the attributes c, r and p.")
        self._check_binding(first, found["binding"])
        if not hmac.compare_digest(found["nonce"].encode(), first.nonce.encode()):
            raise ProtocolViolation("invalid SCRAM response", detail="Nonce does not match.")
        proof = _decoded(found["proof"])
        if proof is None or len(proof) != KEY_BYTES:
            raise _malformed("Malformed proof in client-final-message.")
        signed = f"{first.bare},{first.answer},{found['unproven']}".encode()
        signature = mac(self._secret.stored_key, signed)
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        if not hmac.compare_digest(hashlib.sha256(client_key).digest(), self._secret.stored_key):
            return None
        return b"v=" + base64.b64encode(mac(self._secret.server_key, signed))

    def _check_flag(self, mechanism: str, flag: str) -> bool:
        """Whether the client binds the exchange to its TLS connection."""
        if not flag.startswith("p="):
            if mechanism == PLUS:
                raise ProtocolViolation(
                    f"client selected {PLUS}, but the SCRAM message does not include channel binding data"
                )
            if flag == "y" and self._binding is not None:
                raise SqlError(
                    "SCRAM channel binding negotiation error",
                    sqlstate="28000",
                    detail="The client supports SCRAM channel binding but thinks the server does not. "
                    "However, this server does support channel binding.",
                )
            return False
        if mechanism != PLUS:
            raise ProtocolViolation(
                f"client selected {PLAIN} without channel binding, but the SCRAM message includes channel binding data"
            )
        if flag != f"p={_BINDING_TYPE}":
            raise ProtocolViolation(f'unsupported SCRAM channel-binding type "{flag[2:]}"')
        return True

    def _check_binding(self, first: _First, given: str) -> None:
        expected = first.header.encode("utf-8")
        if first.bound:
            assert self._binding is not None
            expected += self._binding
        if not hmac.compare_digest(_decoded(given) or b"", expected):
            if first.bound:
                raise SqlError("SCRAM channel binding check failed", sqlstate="28000")
            raise ProtocolViolation("unexpected SCRAM channel-binding attribute in client-final-message")


def _text(message: bytes) -> str:
    try:
        text = message.decode("utf-8")
    except UnicodeDecodeError:
        raise _malformed("The message is not UTF-8.") from None
    if "\0" in text or not text:
        raise _malformed("Message length does not match input length." if text else "The message is empty.")
    return text


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text.encode("utf-8"), validate=True)
    except (binascii.Error, ValueError):
        return None


def _malformed(detail: str) -> ProtocolViolation:
    return ProtocolViolation("malformed SCRAM message", detail=detail)
