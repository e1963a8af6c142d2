"""The whole catalog as statements that make it anew: `rw_catalog.rw_definitions`, of which `risingpy export` is made.

`definitions(catalog, …)` gives them in an order in which each finds what it names. Values that are secret are not in
them: `***` stands in their place.
"""

from risingpy.frontend.definitions.catalog_text import definitions

__all__ = ["definitions"]
