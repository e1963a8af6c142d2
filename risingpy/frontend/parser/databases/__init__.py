"""Statements about databases and schemas, and about the settings that sessions of a database or a role begin with.

trees      what the parser makes
parsing    CREATE, ALTER and DROP DATABASE, SCHEMA; USE; SET and RESET of a database's or a role's settings
"""
