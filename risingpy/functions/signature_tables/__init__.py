"""The signature table's lines, a file per family of functions; `signatures.py` reads them and says what they mean."""

from risingpy.functions.signature_tables.addresses import ADDRESSES
from risingpy.functions.signature_tables.arrays import ARRAYS
from risingpy.functions.signature_tables.bit_strings import BIT_STRINGS
from risingpy.functions.signature_tables.byte_strings import BYTE_STRINGS
from risingpy.functions.signature_tables.conditional import CONDITIONAL
from risingpy.functions.signature_tables.date_and_time import DATE_AND_TIME
from risingpy.functions.signature_tables.formatting import FORMATTING
from risingpy.functions.signature_tables.jsonb import JSONB
from risingpy.functions.signature_tables.maps import MAPS
from risingpy.functions.signature_tables.mathematical import MATHEMATICAL
from risingpy.functions.signature_tables.multiranges import MULTIRANGES
from risingpy.functions.signature_tables.nanoseconds import NANOSECONDS
from risingpy.functions.signature_tables.ranges import RANGES
from risingpy.functions.signature_tables.system import SYSTEM
from risingpy.functions.signature_tables.text import TEXT
from risingpy.functions.signature_tables.vectors import VECTORS

FUNCTION_TABLES: tuple[str, ...] = (
    MATHEMATICAL,
    TEXT,
    BYTE_STRINGS,
    BIT_STRINGS,
    ADDRESSES,
    VECTORS,
    RANGES,
    MULTIRANGES,
    DATE_AND_TIME,
    NANOSECONDS,
    FORMATTING,
    CONDITIONAL,
    ARRAYS,
    MAPS,
    JSONB,
    SYSTEM,
)

__all__ = ["FUNCTION_TABLES"]
