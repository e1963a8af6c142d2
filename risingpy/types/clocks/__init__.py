"""What texts of times say of clocks elsewhere.

zone_abbreviations  PST, MSK and their like
clock_words         now, today, tomorrow, yesterday
"""
