"""Runs a job in epochs of its own, in a process of its own: one that is too slow for the epochs that all jobs share.

messages   what the server and the process tell each other
process    the server's side
worker     the process
step       one epoch of its own: which changes it takes, and what it hands over
mirror     the job's state in a store of its own, and the tables of others as they were at a committed epoch
"""
