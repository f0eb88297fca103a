"""SciPy's compiled functions without the Python around them, which takes long to load.

`scipy.special` takes a third of a second to load, as long as ten thousand judgments take to fit;
the compiled functions in it take a hundredth. So they are loaded alone. They are the very functions
of SciPy, and what needs more of a package imports it as usual, now or later.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from aggcal._core.machine import OURS

if TYPE_CHECKING:
    from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtrs
    from scipy.special import (
        bdtr,
        betaincinv,
        binom,
        chdtr,
        chdtrc,
        chdtri,
        erfcx,
        expit,
        gammaincc,
        gammaln,
        log_expit,
        log_ndtr,
        logit,
        ndtr,
        ndtri,
        stdtr,
        stdtrit,
    )

__all__ = [
    "bdtr",
    "betaincinv",
    "binom",
    "chdtr",
    "chdtrc",
    "chdtri",
    "dpotrf",
    "dpotri",
    "dpotrs",
    "dtrtrs",
    "erfcx",
    "expit",
    "gammaincc",
    "gammaln",
    "log_expit",
    "log_ndtr",
    "logit",
    "ndtr",
    "ndtri",
    "stdtr",
    "stdtrit",
]

_LAPACK = {"dpotrf", "dpotri", "dpotrs", "dtrtrs"}


def __getattr__(name: str) -> Any:
    """Load a function when it is first imported from here."""
    if name not in __all__:
        raise AttributeError(name)
    package = "scipy.linalg" if name in _LAPACK else "scipy.special"
    found = None
    with suppress(ImportError, AttributeError):
        found = getattr(alone(package, "_flapack" if name in _LAPACK else "_ufuncs"), name)
    if found is None:  # a SciPy that is arranged in another way
        public = "scipy.linalg.lapack" if name in _LAPACK else package
        found = getattr(import_module(public), name)
    globals()[name] = found
    return found


def alone(package: str, name: str) -> ModuleType:
    """Load a compiled module of a package without the package itself, where that is safe.

    While it is loaded, an empty package stands in for the real one. That is done only if no thread
    but ours, which import nothing, could see it; otherwise, and if the package is loaded already,
    the import is a usual one.

    Examples
    --------
    >>> alone("scipy.special", "_ufuncs").expit(0.0)
    np.float64(0.5)
    """
    whole = f"{package}.{name}"
    if whole in sys.modules:
        return sys.modules[whole]
    me = threading.current_thread()
    others = [each for each in threading.enumerate() if each is not me]
    if package in sys.modules or not all(each.name.startswith(OURS) for each in others):
        return import_module(whole)
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(package)
    stand_in = ModuleType(package)
    stand_in.__path__ = list(spec.submodule_search_locations)
    sys.modules[package] = stand_in
    try:
        return import_module(whole)
    finally:
        del sys.modules[package]
