"""What sinks deliver to. `target` is what a target is."""
