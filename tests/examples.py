"""How many examples a property test tries: few in `make test`, thousands in `make fuzz`."""

from __future__ import annotations

import os

from hypothesis import settings

FUZZ = "fuzz"  # the profile of `make fuzz`
FUZZ_EXAMPLES = int(os.environ.get("RISINGPY_FUZZ_EXAMPLES", "2000"))


def examples(number: int) -> settings:
    """For a property whose examples are dear: `number` of them, and under the fuzz profile as many as of any other."""
    return settings(max_examples=max(number, FUZZ_EXAMPLES) if is_fuzzing() else number)


def is_fuzzing() -> bool:
    """Whether the run was asked for many more examples."""
    return os.environ.get("HYPOTHESIS_PROFILE") == FUZZ
