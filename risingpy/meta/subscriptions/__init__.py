"""Subscriptions: what clients read of a relation's changes, and how long it is kept.

reader            reads a subscription's changes in order, and the rows of what it follows
change_rows       an epoch's changes as rows with a word for what happened
retention         the thread that has old changes deleted
deleted_epochs    up to which epoch each subscription has lost its changes, kept in the meta store
"""
