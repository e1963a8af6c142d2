"""Recursions as plans: their operators, their state tables, and the stages that repeat for them."""
