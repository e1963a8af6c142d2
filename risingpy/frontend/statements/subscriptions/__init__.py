"""Statements about subscriptions.

subscription      CREATE and ALTER SUBSCRIPTION
cursor            DECLARE … SUBSCRIPTION CURSOR, and FETCH from one
subscribe         SUBSCRIBE
reading_right     what a SUBSCRIBE that runs may go on reading
"""
