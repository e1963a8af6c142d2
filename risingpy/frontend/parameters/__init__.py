"""Run-time parameters: which there are (`definitions`, `accepted`) and which values each takes (`kinds`)."""
