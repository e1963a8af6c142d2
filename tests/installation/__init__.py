"""The wheel, installed alone in an empty environment as the documents say, and used there."""
