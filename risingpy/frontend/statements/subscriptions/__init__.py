"""Statements about subscriptions.

subscription      CREATE and ALTER SUBSCRIPTION
cursor            DECLARE … SUBSCRIPTION CURSOR, and FETCH from one
subscribe         SUBSCRIBE
"""
