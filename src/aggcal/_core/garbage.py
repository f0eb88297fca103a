"""When garbage is looked for: modules stay until a command ends, and need not be looked through."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def modules_stay(*, for_good: bool = False) -> Iterator[None]:
    """Load modules without looking for garbage among them: not now, not later, not at the end.

    Python would look through all that they hold several times, and once more as it ends, which
    takes longer than a small fit. Only the first modules of a process are kept out: there is
    hardly any garbage yet that would be kept with them, and not DuckDB, which complains at the end
    of a process that what it made is still there; unless it is ``for_good``: the process ends
    without taking anything apart.

    Examples
    --------
    >>> with modules_stay():
    ...     import aggcal.metrics
    """
    complaining = "_duckdb" in sys.modules and not for_good
    if gc.get_freeze_count() or not gc.isenabled() or complaining:
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
