"""``python -m aggcal``, and the command ``aggcal``."""

import atexit
import gc
import os
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

    code = main()
    _end(code)
    return code


def _end(code: int) -> None:
    """End the process without taking its modules apart, which takes as long as a small report.

    What waits for the end of a process is done. A profiler or a debugger keeps it.
    """
    if sys.getprofile() is not None or sys.gettrace() is not None:
        return
    atexit._run_exitfuncs()  # noqa: SLF001  # it has no other name
    for stream in (sys.stdout, sys.stderr):
        if not stream.closed:
            stream.flush()
    os._exit(code)


if __name__ == "__main__":  # workers of a cluster import this module too
    sys.exit(start())
