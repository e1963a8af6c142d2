"""Views of which not the rate counts: recursions, and views whose state ends."""
