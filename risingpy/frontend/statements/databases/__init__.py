"""Statements about databases and schemas, and about the settings that sessions begin with."""
