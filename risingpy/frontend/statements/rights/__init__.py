"""Statements about who may do what: roles and memberships.

The parser's trees come in, `Command`s go out; `dispatch.py` calls.
"""
