"""``python -m aggcal``, and the command ``aggcal``."""

import signal
import sys


def start() -> int:
    """Run the command. Until its modules are loaded, Ctrl-C ends it at once and in silence."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from aggcal.cli import main

    return main()


if __name__ == "__main__":  # workers of a cluster import this module too
    sys.exit(start())
