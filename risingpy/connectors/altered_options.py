"""Which options of a source ALTER may change: those on which no position that a job stands at, and no row, depends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from risingpy.errors import InvalidParameterValue

_FIXED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "file": ("path", "format"),
        "kafka": ("topic",),
        "mysql-cdc": ("hostname", "database.name"),  # another server's positions are others
        "nats": ("stream", "subject"),
        "posix_fs": ("posix_fs.root",),
        # A copy that did not follow the original's columns lacks values of those that were added since.
        "postgres-cdc": ("slot.name", "database.name", "schema.name", "publication.name", "auto.schema.change"),
        "s3": ("s3.bucket_name",),
    }
)
"""By connector: what says of which messages, files or tables the positions are. Of others every option does."""


def check_altered(options: Mapping[str, str], names: Iterable[str]) -> None:
    """Raises InvalidParameterValue for an option of a source that must stay as CREATE has set it."""
    connector = options.get("connector", "").lower()
    fixed = _FIXED.get(connector)
    for name in names:
        if name in ("connector", "connection") or fixed is None or name in fixed:
            raise InvalidParameterValue(
                f'option "{name}" of a source cannot be changed',
                hint=f"What has been read of the {connector} source was read with the old value. Create another one.",
            )
