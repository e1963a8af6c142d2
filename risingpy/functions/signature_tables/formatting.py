"""Functions that format and read by templates. The lines' form is in `signatures.py`."""

# fmt: off
FORMATTING = """
to_char to_char_timestamp timestamp text = text
to_char to_char_timestamptz@ timestamptz text = text
to_char to_char_interval interval text = text
to_char to_char_numeric numeric text = text
to_char to_char_integer int4 text = text | int8 text = text
to_char to_char_real float4 text = text
to_char to_char_double float8 text = text
to_date to_date text text = date
to_number to_number text text = numeric:plain
to_timestamp to_timestamp_text@ text text = timestamptz
"""
