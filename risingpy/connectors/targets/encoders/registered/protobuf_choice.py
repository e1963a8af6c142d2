"""ENCODE PROTOBUF of sinks. Google's runtime is an extra, so what needs it is imported here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from risingpy.connectors.formats.schema_options import schema_options
from risingpy.connectors.late_imports import imported
from risingpy.connectors.targets.options import Options
from risingpy.errors import FeatureNotSupported, InvalidParameterValue
from risingpy.types import SqlType

if TYPE_CHECKING:
    from risingpy.connectors.targets.encoders.registered.protobuf_rows import ProtobufRows

_MODULE = "risingpy.connectors.targets.encoders.registered.protobuf_rows"


def protobuf_rows(options: Options, columns: Sequence[tuple[str, SqlType]], topic: str | None) -> ProtobufRows:
    """What writes rows. Raises InvalidParameterValue for wrong options, FeatureNotSupported without the library."""
    own = dict(options.values)
    found = schema_options(own)
    Options(options.owner, own).refuse_unknown(())
    if found.message is None:
        raise InvalidParameterValue(f"{options.owner} needs the option message", hint="message = 'package.Message'")
    if found.registry is not None and topic is None:
        hint = "Without a topic: schema.location = 'file:///messages.pb'."
        raise FeatureNotSupported(f"a schema.registry of {options.owner} is for a topic", hint=hint)
    try:
        module = imported(_MODULE)
    except ImportError as error:
        hint = "Install it: pip install 'risingpy[protobuf]'"
        raise FeatureNotSupported(f"ENCODE PROTOBUF is not installed: {error}", hint=hint) from error
    return cast("ProtobufRows", module.ProtobufRows(columns, found, topic or ""))
