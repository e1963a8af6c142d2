"""A client of Confluent's schema registry (its REST interface, version 7): schemas by id, and a subject's latest."""

from __future__ import annotations

import base64
import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from risingpy.errors import InvalidParameterValue, SourceUnavailable

_SECONDS = 4.0  # CREATE must answer within five
_NOT_FOUND = 404
_REFUSED = (409, 422)  # another schema of the subject does not go with it; it is none
_MAX_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """A schema: `kind` is AVRO, PROTOBUF or JSON; `references` are the texts it builds on, by name, in order of use."""

    kind: str
    text: str
    references: tuple[tuple[str, str], ...] = ()
    schema_id: int | None = None


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """A registry at one of several addresses, `http://` or `https://`. It holds no connection."""

    addresses: Sequence[str]
    username: str | None = None
    password: str | None = None

    def check(self) -> None:
        """Asks for its subjects. Raises SourceUnavailable."""
        self._get("/subjects")

    def by_id(self, schema_id: int) -> RegisteredSchema | None:
        """The schema of an id, None if there is none."""
        found = self._get(f"/schemas/ids/{schema_id}")
        return None if found is None else self._registered(found, "")

    def latest(self, subject: str, *, serialized: bool = False) -> RegisteredSchema:
        """As `find_latest`. Raises InvalidParameterValue if there is none."""
        found = self.find_latest(subject, serialized=serialized)
        if found is None:
            raise InvalidParameterValue(f'the schema registry has no subject "{subject}"')
        return found

    def find_latest(self, subject: str, *, serialized: bool = False) -> RegisteredSchema | None:
        """The latest schema of a subject, None if it has none.

        `serialized` asks for Protobuf schemas as descriptors in base64, instead of their source.
        """
        asked = "?format=serialized" if serialized else ""
        found = self._get(f"{_versions(subject)}/latest{asked}")
        return None if found is None else self._registered(found, asked)

    def register(self, subject: str, text: str) -> int:
        """The id of an Avro schema, the subject's latest afterwards. Raises InvalidParameterValue if it is refused."""
        found = self._ask(_versions(subject), json.dumps({"schema": text}).encode())
        if not isinstance(found, dict) or not isinstance(found.get("id"), int):
            raise SourceUnavailable("the schema registry has answered without an id")
        return int(found["id"])

    def _registered(self, found: Any, asked: str) -> RegisteredSchema:
        if not isinstance(found, dict) or not isinstance(found.get("schema"), str):
            raise SourceUnavailable("the schema registry has answered without a schema")
        references: dict[str, str] = {}
        try:
            self._add_references(found, references, set(), asked)
        except (KeyError, TypeError, ValueError) as error:
            raise SourceUnavailable(f"the schema registry has answered with wrong references: {error!r}") from error
        return RegisteredSchema(
            str(found.get("schemaType") or "AVRO"), found["schema"], tuple(references.items()), found.get("id")
        )

    def _add_references(self, found: dict[str, Any], references: dict[str, str], seen: set[str], asked: str) -> None:
        """Adds what a schema refers to, what that refers to first."""
        for each in found.get("references") or ():
            subject, version = urllib.parse.quote(str(each["subject"]), safe=""), int(each["version"])
            if str(each["name"]) in seen:
                continue
            seen.add(str(each["name"]))
            schema = self._get(f"/subjects/{subject}/versions/{version}{asked}")
            if schema is None:
                raise InvalidParameterValue(f'the schema registry has no version {version} of "{each["subject"]}"')
            self._add_references(schema, references, seen, asked)
            references[str(each["name"])] = schema["schema"]

    def _get(self, path: str) -> Any:
        """The JSON at a path, None if there is nothing. Raises SourceUnavailable if no address answers."""
        return self._ask(path, None)

    def _ask(self, path: str, posted: bytes | None) -> Any:
        """The answer to GET, or to POST of what is `posted`; None for 404."""
        failure = ""
        for address in self.addresses:
            request = urllib.request.Request(address.rstrip("/") + path, posted, self._headers())
            try:
                with urllib.request.urlopen(request, timeout=_SECONDS / len(self.addresses)) as answer:
                    return json.loads(answer.read(_MAX_BYTES))
            except urllib.error.HTTPError as error:
                if error.code == _NOT_FOUND:
                    return None
                if error.code in _REFUSED:
                    told = error.read(_MAX_BYTES).decode("utf-8", "replace")[:1000]
                    raise InvalidParameterValue(f"the schema registry refuses the schema: {told}") from None
                failure = f"{address}: HTTP status {error.code}"
            except (OSError, ValueError) as error:
                failure = f"{address}: {getattr(error, 'reason', error)}"
        raise SourceUnavailable(f"the schema registry does not answer: {failure}")

    def _headers(self) -> dict[str, str]:
        kind = "application/vnd.schemaregistry.v1+json"
        headers = {"Accept": f"{kind}, application/json", "Content-Type": kind}
        if self.username is not None:
            secret = base64.b64encode(f"{self.username}:{self.password or ''}".encode()).decode()
            headers["Authorization"] = f"Basic {secret}"
        return headers


def _versions(subject: str) -> str:
    return f"/subjects/{urllib.parse.quote(subject, safe='')}/versions"


def registry_of(options: dict[str, str]) -> SchemaRegistry | None:
    """Takes the registry out of the options of a format; None if they name none. Nothing is connected yet.

    Raises InvalidParameterValue for an address that is none.
    """
    address = options.pop("schema.registry", None)
    username = options.pop("schema.registry.username", None)
    password = options.pop("schema.registry.password", None)
    if address is None:
        if username is not None or password is not None:
            raise InvalidParameterValue("schema.registry.username needs schema.registry")
        return None
    addresses = [each.strip() for each in address.split(",") if each.strip()]
    for each in addresses:
        if not each.lower().startswith(("http://", "https://")):
            hint = "http://host:8081, or several of them with commas between."
            raise InvalidParameterValue(f'invalid schema.registry "{each}"', hint=hint)
    if not addresses:
        raise InvalidParameterValue("schema.registry is empty")
    return SchemaRegistry(tuple(addresses), username, password)
