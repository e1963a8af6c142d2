"""What `--state` costs: `python -m benchmarks.shared_state`."""
