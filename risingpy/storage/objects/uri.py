"""Which objects a URI of `--state` means."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from risingpy.errors import InvalidParameterValue
from risingpy.storage.objects.directory_objects import DirectoryObjects
from risingpy.storage.objects.object_store import ObjectStore

CLOUD_SCHEMES = ("s3", "gs", "az")
_EXAMPLES = "file:///shared/db, s3://bucket/db, gs://bucket/db or az://account/container/db"


def open_objects(uri: str) -> ObjectStore:
    """The objects of a URI. Asks nobody yet. InvalidParameterValue if the URI is none, or an extra is missing."""
    parts = urlsplit(uri)
    if parts.scheme == "file":
        return DirectoryObjects(_directory(uri))
    if parts.scheme not in CLOUD_SCHEMES:
        raise InvalidParameterValue(f'"{uri}" is no place for state', hint=f"Give a URI such as {_EXAMPLES}.")
    if not parts.netloc:
        raise InvalidParameterValue(f'"{uri}" names no bucket', hint=f"Give a URI such as {_EXAMPLES}.")
    try:
        from risingpy.storage.objects.cloud_objects import CloudObjects  # noqa: PLC0415  (an extra)
    except ImportError:
        hint = "Install it: pip install 'risingpy[state]'."
        raise InvalidParameterValue(
            f"{parts.scheme}:// needs the package obstore, which is not here", hint=hint
        ) from None
    return CloudObjects(uri)


def _directory(uri: str) -> Path:
    parts = urlsplit(uri)
    path = Path(unquote(parts.path))
    if parts.netloc not in ("", "localhost") or not path.is_absolute() or parts.query or parts.fragment:
        hint = "A file URI has three slashes and an absolute path: file:///shared/db."
        raise InvalidParameterValue(f'"{uri}" is no directory of this machine', hint=hint)
    return path
