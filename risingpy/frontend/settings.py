"""A session's run-time parameters: SET, RESET, SHOW and the client's settings at startup."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from risingpy.errors import InsufficientPrivilege, UndefinedObject
from risingpy.frontend.parameters.definitions import BY_NAME, DEFINITIONS, ParameterDefinition, parameter_key
from risingpy.frontend.results import StartupParameters
from risingpy.frontend.session_identity import NO_ROLE, ROLE, SESSION_AUTHORIZATION, SessionIdentity
from risingpy.frontend.system_catalog.system_relation import Setting

ALL = "all"
READ_ONLY = "transaction_read_only"
OF_TRANSACTION = ("transaction_isolation", "transaction_deferrable")  # outside of one, they are the defaults'
_Values = tuple[dict[str, str], dict[str, str]]  # of known parameters, of the client's own
_DEFAULT_VALUES = MappingProxyType({definition.name: definition.default for definition in DEFINITIONS})
_PATH_ENTRY = re.compile(r'"((?:[^"]|"")*)"|([^",\s]+)')
_SEVERITIES = ("LOG", "NOTICE", "WARNING", "ERROR")  # as PostgreSQL orders those that clients get


class Settings:
    """The values of one session. Names are matched in lower case."""

    def __init__(
        self,
        startup: StartupParameters,
        identity: SessionIdentity | None = None,
        defaults: Mapping[str, str] = MappingProxyType({}),
        stored: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Raises UndefinedObject or InvalidParameterValue for a setting that a client cannot have.

        `identity` decides which roles the session may take on, `defaults` are values that the operator gives,
        `stored` those of the role and the database, which may be of another version, and have been checked.
        """
        self._identity = identity
        self.version = 0  # grows when statements must be bound again
        self.changes = 0  # grows with every change of a value
        self._user = startup.user
        self._changed: dict[str, str] = {}
        self._defaults = dict(_DEFAULT_VALUES)
        self._defaults |= defaults
        self._defaults["session_authorization"] = startup.user
        self._first_custom: dict[str, str] = {}
        if stored:
            self._defaults |= {name: value for name, value in stored.items() if name in BY_NAME}
            self._first_custom = {name: value for name, value in stored.items() if "." in name}
        self._custom = dict(self._first_custom)
        self._values = dict(self._defaults)
        self._before: _Values | None = None  # the values after a ROLLBACK; None outside a transaction
        self._changes_before = 0  # `changes` when the transaction began
        self._after: _Values = {}, {}  # the values after a COMMIT, which SET LOCAL does not change
        self.reads_only: Callable[[], bool] | None = None  # whether the transaction may not write
        if identity is not None:
            identity.value = self._values.__getitem__
            self._values["is_superuser"] = self._shown_superuser()
        for name, value in startup.settings.items():
            self.set(name, (value,))
        # RESET restores the client's values at startup.
        self._defaults = dict(self._values)
        self._changed.clear()

    def get(self, name: str) -> str:
        """The value as SHOW prints it. Raises UndefinedObject."""
        value = self.find(name)
        if value is None:
            raise UndefinedObject(f'unrecognized configuration parameter "{name}"')
        return value

    def lets_through(self, severity: str) -> bool:
        """Whether `client_min_messages` lets a message of this severity through."""
        least = self.get("client_min_messages").upper()
        return severity == "INFO" or least not in _SEVERITIES or _SEVERITIES.index(severity) >= _SEVERITIES.index(least)

    def find(self, name: str) -> str | None:
        """The value as SHOW prints it; None if there is no such parameter."""
        key = parameter_key(name)
        if key == READ_ONLY and self.reads_only is not None:
            return "on" if self.reads_only() else "off"
        if key in OF_TRANSACTION and key not in self._after[0]:
            key = f"default_{key}"
        return self._values.get(key, self._custom.get(key))

    def set(self, name: str, values: Sequence[str] | None, *, local: bool = False) -> ParameterDefinition | None:
        """SET name TO values; None is DEFAULT. Returns the parameter's definition (None: one of the client's own).

        Within a transaction, a change stays only if that commits; with `local`, it ends with the transaction.
        Raises UndefinedObject, InvalidParameterValue, or FeatureNotSupported for values that are not supported.
        """
        key = parameter_key(name)
        definition = BY_NAME.get(key)
        known = definition is not None
        if key in OF_TRANSACTION:
            return self._set_of_transaction(BY_NAME[key], name, values)
        self._keep_mode(key)
        current, kept = (self._values, self._after[0]) if known else (self._custom, self._after[1])
        if local:
            kept.setdefault(key, current.get(key, ""))  # in PostgreSQL, too, a new one stays, with an empty value
        else:
            kept.pop(key, None)
        if definition is None:
            self._set_custom(key, name, values)
            return None
        if definition.for_superusers and self._identity is not None and not self._identity.may_set(key):
            raise InsufficientPrivilege(f'permission denied to set parameter "{key}"')
        value = self._defaults[key] if values is None else definition.check(name, values)
        if values is not None and self._identity is not None and key in (ROLE, SESSION_AUTHORIZATION):
            self._identity.check(key, value)
        self._store(definition, value)
        if key == SESSION_AUTHORIZATION:  # the role was one of the user before
            self.set(ROLE, (NO_ROLE,), local=local)
        return definition

    def reset(self, name: str) -> None:
        """RESET name, RESET ALL. As in PostgreSQL, RESET ALL leaves the session its roles."""
        if name != ALL:
            self.set(name, None)
            return
        self._custom = dict(self._first_custom)
        for definition in DEFINITIONS:
            if definition.name not in (ROLE, SESSION_AUTHORIZATION, READ_ONLY, *OF_TRANSACTION):
                self._store(definition, self._defaults[definition.name])

    def bind_again(self) -> None:
        """Something else has changed, by which statements are bound."""
        self.version += 1
        self.changes += 1

    def begin(self) -> None:
        """A transaction begins."""
        if self._before is None:
            self._before = dict(self._values), dict(self._custom)
            self._changes_before = self.changes

    def end(self, *, committed: bool) -> None:
        """The transaction, if there is one, ends: its changes stay only if it was committed."""
        if self._before is None:
            return
        if self.ends_quietly(committed=committed):
            self._before = None
            return
        values, custom = self._after if committed else self._before
        for definition in DEFINITIONS:
            self._store(definition, values.get(definition.name, self._values[definition.name]))
        self._custom = {**self._custom, **custom} if committed else custom
        self._before, self._after = None, ({}, {})

    def ends_quietly(self, *, committed: bool) -> bool:
        """Whether the end of the transaction changes no value."""
        if committed:
            return self._after == ({}, {})
        return self._before is None or (self.changes == self._changes_before and self._custom == self._before[1])

    def mark(self) -> Callable[[], None]:
        """A function that undoes, later in this transaction, all changes made after this call."""
        values, custom = dict(self._values), dict(self._custom)
        kept = dict(self._after[0]), dict(self._after[1])

        def go_back() -> None:
            for definition in DEFINITIONS:
                self._store(definition, values[definition.name])
            self._custom = dict(custom)
            self._after = dict(kept[0]), dict(kept[1])

        return go_back

    def all(self) -> tuple[Setting, ...]:
        """Every parameter, as SHOW ALL lists them."""
        listed = [
            Setting(d.reported or d.name, self.get(d.name), d.description, self._defaults[d.name]) for d in DEFINITIONS
        ]
        return (*listed, *(Setting(name, value, "") for name, value in self._custom.items()))

    def reported(self) -> Mapping[str, str]:
        """The parameters that the server reports to the client at startup."""
        return {d.reported: self._values[d.name] for d in DEFINITIONS if d.reported is not None}

    def drain_changes(self) -> Mapping[str, str]:
        """The reported parameters that changed since the last call."""
        changed, self._changed = self._changed, {}
        return changed

    def search_path(self) -> tuple[str, ...]:
        """The schemas to search, in order, `$user` replaced; they need not exist."""
        user = self._user if self._identity is None else self._identity.current_user
        names = []
        for quoted, plain in _PATH_ENTRY.findall(self._values["search_path"]):
            name = quoted.replace('""', '"') or plain
            if name:
                names.append(user if name == "$user" else name)
        return tuple(names)

    def _set_of_transaction(
        self, definition: ParameterDefinition, name: str, values: Sequence[str] | None
    ) -> ParameterDefinition:
        """A mode of the transaction that is open; without one it would end with the statement."""
        key = definition.name
        value = self._values[f"default_{key}"] if values is None else definition.check(name, values)
        if self._before is not None:
            self._after[0].setdefault(key, self._defaults[key])
            self._store(definition, value)
        return definition

    def _keep_mode(self, default: str) -> None:
        """Another default leaves the transaction that is open its mode."""
        key = default.removeprefix("default_")
        if key != default and key in OF_TRANSACTION and self._before is not None and key not in self._after[0]:
            self._set_of_transaction(BY_NAME[key], key, None)

    def _set_custom(self, key: str, name: str, values: Sequence[str] | None) -> None:
        # As in PostgreSQL, a name with a dot in it is the client's own parameter.
        if "." not in key:
            raise UndefinedObject(f'unrecognized configuration parameter "{name}"')
        if values is None:
            self._custom.pop(key, None)
        else:
            self._custom[key] = ", ".join(values)

    def _store(self, definition: ParameterDefinition, value: str) -> None:
        if self._values[definition.name] == value:
            return
        self._values[definition.name] = value
        self.changes += 1
        if definition.binds:
            self.version += 1
        if definition.reported is not None:
            self._changed[definition.reported] = value
        if definition.name in (ROLE, SESSION_AUTHORIZATION) and self._identity is not None:
            self._store(BY_NAME["is_superuser"], self._shown_superuser())

    def _shown_superuser(self) -> str:
        assert self._identity is not None
        return "on" if self._identity.is_superuser else "off"


def is_on(value: str) -> bool:
    """Whether a Boolean parameter's value is true."""
    return value in ("on", "true")
