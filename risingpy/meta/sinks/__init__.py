"""Delivery of sinks: whole committed epochs from their changelogs to other systems, a thread for each sink.

deliveries         begins and ends them as sinks are created, altered and dropped, and waits for them
delivery           the thread of one sink
outgoing_changes   what of an epoch the other side gets
delivered_epochs   how far each sink has come, kept in the meta store
into_tables        sinks into tables: no delivery, the jobs are connected
"""
