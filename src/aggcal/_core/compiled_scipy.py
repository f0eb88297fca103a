"""SciPy's compiled functions without the Python around them, which takes long to load.

`scipy.special` takes a third of a second to load, as long as ten thousand judgments take to fit;
the compiled functions in it take a hundredth. So they are loaded alone. They are the very functions
of SciPy, and what needs more of a package imports it as usual, now or later. `scipy.sparse` is
loaded whole, but without what it makes NumPy load and does not use, which takes as long again.
"""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from aggcal._core.machine import OURS

if TYPE_CHECKING:
    from scipy import sparse
    from scipy.linalg.blas import dtrmm
    from scipy.linalg.lapack import dlauum, dpotrf, dpotri, dpotrs, dtrtri, dtrtrs, spotrf, spotrs
    from scipy.special import (
        bdtr,
        betaincinv,
        binom,
        chdtr,
        chdtrc,
        chdtri,
        erfcx,
        expit,
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
    "dlauum",
    "dpotrf",
    "dpotri",
    "dpotrs",
    "dtrmm",
    "dtrtri",
    "dtrtrs",
    "erfcx",
    "expit",
    "gammaln",
    "log_expit",
    "log_ndtr",
    "logit",
    "ndtr",
    "ndtri",
    "sparse",
    "spotrf",
    "spotrs",
    "stdtr",
    "stdtrit",
]

_BLAS = {"dtrmm"}
_LAPACK = {"dlauum", "dpotrf", "dpotri", "dpotrs", "dtrtri", "dtrtrs", "spotrf", "spotrs"}
_UNUSED = ("f2py", "testing")
"""What of NumPy SciPy's copy of its names has, for which NumPy loads compilers and test runners."""
_COPIES = ("scipy._lib.array_api_compat.numpy", "scipy._external.array_api_compat.numpy")
"""Where that copy is, by the version of SciPy."""
_PACKAGES = ("scipy.special", "scipy.linalg")
"""Packages that compiled modules are taken from; those of the first need one of the second."""


def __getattr__(name: str) -> Any:
    """Load a function when it is first imported from here."""
    if name not in __all__:
        raise AttributeError(name)
    if name == "sparse":
        globals()[name] = loaded = _sparse()
        return loaded
    algebra = name in _LAPACK or name in _BLAS
    package = "scipy.linalg" if algebra else "scipy.special"
    compiled = "_fblas" if name in _BLAS else "_flapack" if algebra else "_ufuncs"
    found = None
    with suppress(ImportError, AttributeError):
        found = getattr(alone(package, compiled), name)
    if found is None:  # a SciPy that is arranged in another way
        public = f"{package}.{'blas' if name in _BLAS else 'lapack'}" if algebra else package
        found = getattr(import_module(public), name)
    if algebra:
        from aggcal._core import blas
        from aggcal._core.lapack import released

        blas.just_loaded()
        found = released(name, found)
    globals()[name] = found
    return found


def alone(package: str, name: str) -> ModuleType:
    """Load a compiled module of a package without the package itself, where that is safe.

    While it is loaded, empty packages stand in for the real one and for what that would load. That
    is done only if no thread but ours, none of which imports SciPy, could see them; otherwise, and
    if the package is loaded already, the import is a usual one.

    Examples
    --------
    >>> alone("scipy.special", "_ufuncs").expit(0.0)
    np.float64(0.5)
    """
    whole = f"{package}.{name}"
    if whole in sys.modules:
        return sys.modules[whole]
    if package in sys.modules or not _is_unseen():
        return import_module(whole)
    stand_ins = {name: _empty(name) for name in _PACKAGES if name not in sys.modules}
    sys.modules.update(stand_ins)
    try:
        return import_module(whole)
    finally:
        for each in stand_ins:
            del sys.modules[each]


def _empty(package: str) -> ModuleType:
    """Return a package with nothing in it, whose modules can be loaded."""
    spec = find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise ImportError(package)
    found = ModuleType(package)
    found.__path__ = list(spec.submodule_search_locations)
    return found


def _is_unseen() -> bool:
    """Whether no thread but ours, none of which imports SciPy, could see what stands in."""
    me = threading.current_thread()
    return all(each is me or each.name.startswith(OURS) for each in threading.enumerate())


def _sparse() -> ModuleType:
    """Load `scipy.sparse`; empty modules stand in meanwhile for those that it does not use."""
    import numpy as np

    if any(copy in sys.modules for copy in _COPIES) or not _is_unseen():
        return import_module("scipy.sparse")
    stand_ins = {name: ModuleType(name) for name in _UNUSED if name not in vars(np)}
    vars(np).update(stand_ins)
    try:
        return import_module("scipy.sparse")
    finally:
        copies = [vars(sys.modules[copy]) for copy in _COPIES if copy in sys.modules]
        for name, stand_in in stand_ins.items():
            for names in (vars(np), *copies):
                if names.get(name) is stand_in:
                    del names[name]
        for copied in copies:
            copied.setdefault("__getattr__", partial(getattr, np))
