"""Changelogs: what sinks, subscriptions and SUBSCRIBE read of the graph's changes.

reader     whole committed epochs, in order
trimming   which epochs no follower needs any more
"""
