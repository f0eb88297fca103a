"""SciPy's compiled functions, loaded alone: the same ones, and nothing is in SciPy's way later."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from aggcal._core import compiled_scipy

_ALONE = """
import sys, threading
from aggcal._core.compiled_scipy import dpotrf, expit
assert "scipy.special" not in sys.modules and "scipy.linalg" not in sys.modules
assert "scipy._lib._array_api" not in sys.modules and "numpy.testing" not in sys.modules
import scipy.special, scipy.linalg, scipy.stats, scipy.optimize, scipy.sparse.csgraph
assert scipy.special.expit is expit
assert scipy.linalg.lapack.dpotrf([[4.0]])[0] == dpotrf([[4.0]])[0] == [[2.0]]
assert scipy.stats.norm.cdf(0.0) == 0.5 and scipy.special.logsumexp([0.0]) == 0.0
from scipy.linalg import cython_blas, cython_lapack
import scipy.linalg.cython_lapack as lapack
assert "dpotrf" in cython_lapack.__pyx_capi__ and lapack is cython_lapack
assert scipy.linalg.inv([[4.0]]) == [[0.25]] and scipy.special.ellip_harm(1, 2, 1, 1, 1.5) == 1.5
"""
_SPARSE = """
import sys
import numpy as np
from aggcal._core.compiled_scipy import sparse
assert "numpy.f2py" not in sys.modules and "numpy.testing" not in sys.modules
import scipy.sparse
assert sparse is scipy.sparse and sparse.csr_array([[2.0]]) @ [3.0] == [6.0]
try:
    from scipy._external import array_api_compat
except ImportError:  # before SciPy 1.18
    from scipy._lib import array_api_compat
import scipy.stats, scipy.optimize, scipy.sparse.linalg, scipy.sparse.csgraph
assert array_api_compat.numpy.testing is np.testing and np.testing.assert_equal(1, 1) is None
assert np.f2py.run_main and array_api_compat.numpy.f2py is np.f2py
"""
_THREADED = """
import sys, threading
over = threading.Event()
threading.Thread(target=over.wait, name=sys.argv[1], daemon=True).start()
from aggcal._core.compiled_scipy import expit
print("scipy.special" in sys.modules, expit(0.0))
"""


def python(code: str, *arguments: str) -> str:
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_they_are_scipys_own_and_scipy_can_be_loaded_after_them() -> None:
    python(_ALONE)


def test_sparse_arrays_are_scipys_own_and_numpy_is_whole_after_them() -> None:
    python(_SPARSE)


@pytest.mark.parametrize(("name", "whole"), [("aggcal-progress", False), ("somebody", True)])
def test_another_thread_never_sees_a_package_that_is_not_whole(name: str, whole: bool) -> None:
    assert python(_THREADED, name) == f"{whole} 0.5"


def test_a_scipy_that_is_arranged_in_another_way_is_asked_as_usual(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nowhere(package: str, name: str) -> None:
        raise ImportError(package, name)

    monkeypatch.setattr(compiled_scipy, "alone", nowhere)
    for name in compiled_scipy.__all__:
        monkeypatch.delitem(vars(compiled_scipy), name, raising=False)
    assert compiled_scipy.ndtr(0.0) == 0.5
    assert compiled_scipy.dpotrf([[4.0]])[0] == [[2.0]]
    with pytest.raises(AttributeError):
        compiled_scipy.no_such_function  # noqa: B018


def test_every_name_is_there() -> None:
    functions = (name for name in compiled_scipy.__all__ if name != "sparse")
    assert all(callable(getattr(compiled_scipy, name)) for name in functions)


def test_special_functions_come_from_here() -> None:
    """One import of `scipy.special` elsewhere would make every run wait for it."""
    source = Path(compiled_scipy.__file__).parents[1]
    files = (path for path in source.rglob("*.py") if "paper" not in path.parts)
    found = [path.name for path in files if "from scipy.special" in path.read_text("utf-8")]
    assert found == [Path(compiled_scipy.__file__).name]
