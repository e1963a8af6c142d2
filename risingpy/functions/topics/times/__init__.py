"""Dates, times and intervals; series of them; the clock."""
