"""What texts of times say of clocks elsewhere, and a clock of nanoseconds.

zone_abbreviations  PST, MSK and their like
clock_words         now, today, tomorrow, yesterday
nano_moments        values of timestamp_ns in Python
timestamp_ns        their text and binary forms
"""
