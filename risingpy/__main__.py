"""`python -m risingpy`, the same as the command `risingpy`."""

from risingpy.cli import main

main()
