"""The options of CREATE CONNECTION, by its type, and whether the other side answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import cast

from risingpy.connectors.formats.schema_registry import registry_of
from risingpy.connectors.late_imports import imported
from risingpy.errors import FeatureNotSupported, InvalidParameterValue

_OF_REGISTRY = ("schema.registry", "schema.registry.username", "schema.registry.password")
_OF_ICEBERG = ("warehouse.path", "s3.endpoint", "s3.region", "s3.access.key", "s3.secret.key")


def check_connection(kind: str, options: Mapping[str, str]) -> None:
    """Checks the options of a connection of a type, and that a broker or registry answers, within 5 s.

    Raises InvalidParameterValue, FeatureNotSupported if a library is missing, SourceUnavailable.
    """
    _CHECKS[kind](options)


def _check_kafka(options: Mapping[str, str]) -> None:
    for name in sorted(options):
        if not name.startswith("properties."):
            raise _unknown(name, "kafka", "Its options begin with properties, such as properties.bootstrap.server.")
    try:
        module = imported("risingpy.connectors.kafka.source")
    except ImportError as error:
        hint = "Install it: pip install 'risingpy[kafka]'"
        raise FeatureNotSupported(f"the kafka connector is not installed: {error}", hint=hint) from error
    check = cast(Callable[[Mapping[str, str]], None], module.check_brokers)
    check(options)


def _check_registry(options: Mapping[str, str]) -> None:
    for name in sorted(options):
        if name not in _OF_REGISTRY:
            raise _unknown(name, "schema_registry", f"Its options are {', '.join(_OF_REGISTRY)}.")
    registry = registry_of(dict(options))
    if registry is None:
        raise InvalidParameterValue("a connection of type schema_registry needs the option schema.registry")
    registry.check()


def _check_iceberg(options: Mapping[str, str]) -> None:
    """The catalog is reached when a sink is made, which says of which table."""
    for name in sorted(options):
        if name not in _OF_ICEBERG and not name.startswith("catalog."):
            raise _unknown(name, "iceberg", f"Its options are {', '.join(_OF_ICEBERG)}, and those of catalog.")


def _unknown(name: str, kind: str, hint: str) -> InvalidParameterValue:
    return InvalidParameterValue(f'unknown option "{name}" of a connection of type {kind}', hint=hint)


_CHECKS: Mapping[str, Callable[[Mapping[str, str]], None]] = MappingProxyType(
    {"kafka": _check_kafka, "iceberg": _check_iceberg, "schema_registry": _check_registry}
)
