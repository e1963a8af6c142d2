"""What a session's open transaction has written, as `transaction.py` keeps it and its statements ask for it."""
