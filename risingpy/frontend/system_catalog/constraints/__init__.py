"""Constraints in the system relations.

listed         all constraints of a table, each as one record
pg_constraint  pg_constraint
usage          information_schema's relations about constraints
"""
