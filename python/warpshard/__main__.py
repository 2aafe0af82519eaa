"""The command line program: `warpshard`, and `python -m warpshard`."""

import signal
import sys

from ._native import program


def main() -> int:
    """Runs the program with the arguments of this process; returns its exit code."""
    # The program handles interrupts itself: it ends with results up to the interrupt.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return program(["warpshard", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
