"""Changes of the schema that a transaction has made so far, and that only its session sees.

draft              the changes, the state that they make, and their commit
drafted_commands   CREATE, ALTER and DROP on a draft
"""
