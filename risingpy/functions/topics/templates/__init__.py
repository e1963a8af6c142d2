"""to_char, to_number, to_date and to_timestamp.

datetime_templates, datetime_output, datetime_input
number_templates, number_output, number_input
interval_calendar                                       days and weeks of intervals, for to_char
"""
