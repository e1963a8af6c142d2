"""What a session holds from one statement to the next: PREPARE and its like, and cursors in SQL."""
