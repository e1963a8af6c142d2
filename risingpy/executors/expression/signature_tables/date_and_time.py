"""Functions on dates, times and intervals. The lines' form is in `signatures.py`."""

# fmt: off
DATE_AND_TIME = """
now now = timestamptz
date_trunc date_trunc text timestamp = timestamp | text timestamptz = timestamptz | text interval = interval
timezone timezone text timestamp = timestamptz | text timestamptz = timestamp
make_date make_date int4 int4 int4 = date
make_time make_time int4 int4 float8 = time
make_timestamp make_timestamp int4 int4 int4 int4 int4 float8 = timestamp
to_timestamp to_timestamp float8 = timestamptz
"""
