"""Jobs that are set aside, because they take longer than the epochs that all share allow.

set_aside   the changes of the state: a job leaves the shared epochs, and joins them again
jobs        their processes and steps, as the barrier loop directs them
refreshes   views that are refreshed at intervals, whose jobs are always set aside
pace        one of them: its process, its step, and when it may join the others again
"""
