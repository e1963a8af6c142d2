"""Answers to what clients send most often, without portals and messages as objects.

That is reads of one row by its key, INSERTs of few rows, UPDATEs and DELETEs by key.
"""
