"""Objects of S3, Google Cloud Storage and Azure, and of whatever speaks S3, with obstore.

The store must honour conditional puts (`If-None-Match: *`), as these three do. Credentials and endpoints are those of
the environment (AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_KEY, …).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, NotFoundError, PreconditionError
from obstore.store import from_url

from risingpy.storage.objects.object_store import Bytes, FoundObject, ObjectExists, ObjectMissing, StateUnavailable

# Obstore tries again by itself, but not for the three minutes of its default: who waits should learn of it sooner.
_PATIENCE = timedelta(seconds=10)


class CloudObjects:
    """See `ObjectStore`. StateUnavailable if the URI is none that obstore takes."""

    def __init__(self, uri: str) -> None:
        self.uri = uri
        options = {"timeout": _PATIENCE, "connect_timeout": timedelta(seconds=3), "allow_http": True}
        retries = {"max_retries": 4, "retry_timeout": _PATIENCE}
        try:
            self._store = from_url(uri, client_options=options, retry_config=retries)
        except (BaseError, ValueError) as error:
            raise StateUnavailable(f"cannot use {uri}: {_first_line(error)}") from error

    def put(self, name: str, data: Bytes) -> None:
        try:
            with self._errors("write", name):
                obstore.put(self._store, name, bytes(data), mode="create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError):
            raise ObjectExists(name) from None

    def get(self, name: str) -> bytes:
        try:
            with self._errors("read", name):
                return bytes(obstore.get(self._store, name).bytes())
        except (NotFoundError, FileNotFoundError):
            raise ObjectMissing(name) from None

    def list(self, prefix: str) -> Iterator[FoundObject]:
        found: list[FoundObject] = []
        with self._errors("list", prefix):
            for page in obstore.list(self._store, prefix.rstrip("/") or None):
                found += [FoundObject(each["path"], each["size"], each["last_modified"].timestamp()) for each in page]
        yield from sorted((each for each in found if each.name.startswith(prefix)), key=lambda each: each.name)

    def delete(self, name: str) -> None:
        try:
            with self._errors("delete", name):
                obstore.delete(self._store, name)
        except (NotFoundError, FileNotFoundError):
            return

    def delete_unfinished(self, before: float) -> int:
        return 0  # a cloud keeps nothing of a put that was interrupted

    @contextmanager
    def _errors(self, what: str, name: str) -> Iterator[None]:
        try:
            yield
        except (AlreadyExistsError, PreconditionError, NotFoundError, FileNotFoundError):
            raise
        except (BaseError, OSError) as error:
            raise StateUnavailable(f"cannot {what} {self.uri.rstrip('/')}/{name}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    """Obstore appends its whole configuration, on further lines."""
    return str(error).partition("\n")[0]
