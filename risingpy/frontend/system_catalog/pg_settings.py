"""pg_settings and the system's parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from risingpy.frontend.system_catalog.system_relation import Row, SystemState, relation
from risingpy.plan.catalog import Catalog
from risingpy.plan.catalog.roles import READ_ALL_SETTINGS_ROLE_ID

_OF_THE_MACHINE = ("data_directory",)


def _rows(state: SystemState) -> Iterable[Row]:
    for setting in state.settings:
        source = "default" if setting.value == setting.default else "session"
        yield (
            *(setting.name, setting.value, None, "Session", setting.description, None, "user", "string", source),
            *(None, None, None, setting.default, setting.default, None, None, False),
        )


def _values(state: SystemState) -> Iterable[Row]:
    return ((setting.name.lower(), setting.value) for setting in state.settings)


def _parameters(state: SystemState) -> Iterable[Row]:
    return visible_parameters(state.parameters, state.catalog, state.role_id).items()


def visible_parameters(parameters: Mapping[str, str], catalog: Catalog, role_id: int) -> Mapping[str, str]:
    """The system's parameters without those that PostgreSQL shows only to members of pg_read_all_settings."""
    if catalog.has_role(role_id, READ_ALL_SETTINGS_ROLE_ID):
        return parameters
    return {name: value for name, value in parameters.items() if name not in _OF_THE_MACHINE}


PG_SETTINGS = relation(
    "pg_catalog",
    "pg_settings",
    "name text, setting text, unit text, category text, short_desc text, extra_desc text, context text, vartype text,"
    "source text, min_val text, max_val text, enumvals _text, boot_val text, reset_val text, sourcefile text,"
    "sourceline int4, pending_restart bool",
    _rows,
)
SETTING_VALUES = relation("risingpy", "rp_settings", "rp_setting text, rp_value text", _values)
RW_SYSTEM_PARAMETERS = relation("rw_catalog", "rw_system_parameters", "name text, value text", _parameters)
