"""Maps, and functions of functions: `|x| …`. The binder types these itself; the lines are for lists of functions.

All are RisingWave's. `map` is a map of any keys and values, `lambda` what a call's function of its own is.
"""

# fmt: off
MAPS = """
map_from_entries map_from_entries array = map
map_from_key_values map_from_key_values array array = map
map_access map_access map elem = every
map_contains map_contains map elem = bool
map_keys map_keys map = array
map_values map_values map = array
map_entries map_entries map = array
map_length map_length map = int4
map_cat map_cat map map = map
map_insert map_insert map elem every = map
map_delete map_delete map elem = map
map_filter map_filter map lambda = map
array_transform array_transform array lambda = array
array_sum array_sum array = elem
array_flatten array_flatten array = array
"""
# fmt: on
