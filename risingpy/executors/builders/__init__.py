"""Executors of plan nodes.

operators                                       the whole tree; it asks the others for their kinds of nodes:
leaves, aggregate, join, ordered, watermark
"""
