"""Answers to what clients send most often, without portals and messages as objects: reads of one row by its key."""
