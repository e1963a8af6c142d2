"""Functions and operators on dates, times and intervals. The lines' form is in `signatures.py`."""

# fmt: off
DATE_AND_TIME = """
+ date_plus_days date int4 = date
+ days_plus_date int4 date = date
+ date_plus_time date time = timestamp
+ time_plus_date time date = timestamp
+ timestamp_plus date interval = timestamp | timestamp interval = timestamp
+ interval_plus_timestamp interval date = timestamp | interval timestamp = timestamp
+ timestamptz_plus@ timestamptz interval = timestamptz
+ interval_plus_timestamptz@ interval timestamptz = timestamptz
+ add_intervals interval interval = interval
+ add time interval = time | interval time = time
- date_minus_days date int4 = date
- subtract date date = int4
- timestamp_minus date interval = timestamp | timestamp interval = timestamp
- timestamptz_minus@ timestamptz interval = timestamptz
- difference timestamp timestamp = interval | timestamptz timestamptz = interval
- subtract_intervals interval interval = interval
- subtract time interval = time | time time = interval
- negate_interval interval = interval
* multiply_interval interval float8 = interval
* multiply_by_interval float8 interval = interval
/ divide_interval interval float8 = interval
now now = timestamptz
clock_timestamp clock_timestamp = timestamptz
pg_sleep pg_sleep float8 = void
pg_sleep_for pg_sleep_for interval = void
pg_sleep_until pg_sleep_until timestamptz = void
age age timestamp timestamp = interval
age age_at@ timestamptz timestamptz = interval
date_bin date_bin interval timestamp timestamp = timestamp | interval timestamptz timestamptz = timestamptz
date_trunc date_trunc text timestamp = timestamp
date_trunc date_trunc_at@ text timestamptz = timestamptz
date_trunc date_trunc_at text timestamptz text = timestamptz
date_trunc date_trunc_interval text interval = interval
isfinite isfinite date = bool | timestamp = bool | timestamptz = bool | interval = bool
justify_days justify_days interval = interval
justify_hours justify_hours interval = interval
justify_interval justify_interval interval = interval
make_date make_date int4 int4 int4 = date
make_interval make_interval int4 int4 int4 int4 int4 int4 float8 = interval
make_time make_time int4 int4 float8 = time
make_timestamp make_timestamp int4 int4 int4 int4 int4 float8 = timestamp
make_timestamptz make_timestamptz@ int4 int4 int4 int4 int4 float8 = timestamptz
make_timestamptz make_timestamptz int4 int4 int4 int4 int4 float8 text = timestamptz
timezone to_utc text timestamp = timestamptz
timezone to_local text timestamptz = timestamp
timezone to_utc_by_offset interval timestamp = timestamptz
timezone to_local_by_offset interval timestamptz = timestamp
to_timestamp to_timestamp float8 = timestamptz
OVERLAPS overlaps timestamp timestamp timestamp timestamp = bool
OVERLAPS overlaps timestamptz timestamptz timestamptz timestamptz = bool
OVERLAPS overlaps time time time time = bool
TEXT_AT text_at timestamptz text = text
PARSE_AT parse_at text text = timestamptz
"""
