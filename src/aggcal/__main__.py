"""``python -m aggcal``, and the command ``aggcal``."""

import gc
import signal
import sys

_RARELY = 20_000
"""Objects made before garbage is looked for: Python's own 700 take a twentieth of a small run, in
which most are modules that stay; more would keep garbage that holds arrays for longer."""


def start() -> int:
    """Run the command. Until its modules are loaded, Ctrl-C ends it at once and in silence."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(_RARELY, 10, 10)
    from aggcal.cli import main

    return main()


if __name__ == "__main__":  # workers of a cluster import this module too
    sys.exit(start())
