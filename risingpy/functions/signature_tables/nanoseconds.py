"""Functions and operators on timestamp_ns, a type of ours. The lines' form is in `signatures.py`."""

NANOSECONDS = """
+ nanos_plus timestamp_ns interval = timestamp_ns
+ interval_plus_nanos interval timestamp_ns = timestamp_ns
- nanos_minus timestamp_ns interval = timestamp_ns
- nanos_difference timestamp_ns timestamp_ns = interval
date_trunc nanos_trunc text timestamp_ns = timestamp_ns
isfinite isfinite timestamp_ns = bool
epoch_ns epoch_ns timestamp_ns = int8
make_timestamp_ns make_timestamp_ns int8 = timestamp_ns
timezone nanos_to_utc text timestamp_ns = timestamptz
to_char to_char_nanos timestamp_ns text = text
"""
