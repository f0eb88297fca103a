"""``python -m aggcal``, and the command ``aggcal``."""

import gc
import signal
import sys

_RARELY = 20_000
"""Objects made before garbage is looked for: Python's own 700 take a twentieth of a small run, in
which most are modules that stay; more would keep garbage that holds arrays for longer."""
_PARTICULAR = {"_duckdb", "cupy", "dask", "torch"}
"""What wants to be collected: DuckDB's bindings would call all that is left of them a leak."""


def start() -> int:
    """Run the command. Until its modules are loaded, Ctrl-C ends it at once and in silence."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(_RARELY, 10, 10)
    from aggcal.cli import main

    code = main()
    if not _PARTICULAR & sys.modules.keys():
        gc.freeze()  # or Python would look through all modules for garbage before it ends
    return code


if __name__ == "__main__":  # workers of a cluster import this module too
    sys.exit(start())
