"""What concurrent clients see, checked against the order in which they asked and were answered."""
