"""The server's key of secrets, on its way to a cluster's workers: sealed with the secret that Spark's processes have.

    salt (16 bytes) | nonce (12 bytes) | AES-256-GCM of the key, under HKDF-SHA256(Spark's secret, salt)

Spark gives the secret of `spark.authenticate` to each executor in its environment, which the executor's Python
processes inherit. So nobody who reads along in the network, or finds what Spark has written to a disk, has the key.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from risingpy.connectors.secrets.vault import KEY_BYTES, SecretKeyUnavailable

SECRET_VARIABLE = "_SPARK_AUTH_SECRET"  # Spark's own
_PURPOSE = b"risingpy key of secrets"
_SALT_BYTES, _NONCE_BYTES = 16, 12


def carried(key: bytes, secret: str) -> bytes:
    """The key, sealed for those who have Spark's secret."""
    salt, nonce = os.urandom(_SALT_BYTES), os.urandom(_NONCE_BYTES)
    return salt + nonce + _cipher(secret, salt).encrypt(nonce, key, _PURPOSE)


def carried_key(box: bytes | None, environ: Mapping[str, str]) -> bytes:
    """The reverse of `carried`, with the secret of this process's environment. Raises SecretKeyUnavailable."""
    if box is None:
        hint = "Give the file's place with --secret-key-file."
        raise SecretKeyUnavailable("the server could not read its key of secrets when it sent the epoch", hint=hint)
    secret = environ.get(SECRET_VARIABLE)
    if not secret:
        hint = "Set spark.authenticate, and its secret, in spark-defaults.conf of every machine."
        raise SecretKeyUnavailable("Spark has not given its secret to this process", hint=hint)
    salt, nonce = box[:_SALT_BYTES], box[_SALT_BYTES : _SALT_BYTES + _NONCE_BYTES]
    try:
        return _cipher(secret, salt).decrypt(nonce, box[_SALT_BYTES + _NONCE_BYTES :], _PURPOSE)
    except InvalidTag:
        hint = "spark.authenticate.secret must be the same on every machine."
        raise SecretKeyUnavailable("the server's key was sealed with another secret of Spark's", hint=hint) from None


def _cipher(secret: str, salt: bytes) -> AESGCM:
    return AESGCM(HKDF(SHA256(), KEY_BYTES, salt, _PURPOSE).derive(secret.encode()))
