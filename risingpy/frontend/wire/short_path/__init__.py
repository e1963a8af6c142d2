"""Answers to what clients send most often, without portals and messages as objects.

That is reads of one row by its key, and INSERTs of few rows.
"""
