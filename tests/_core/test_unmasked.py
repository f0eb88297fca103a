"""Medians and different values of plain arrays, as NumPy has them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from aggcal._core import unmasked
from aggcal._core.unmasked import distinct, median, quantiles


@pytest.mark.parametrize("size", [1, 2, 5, 8, 101])
def test_both_are_numpys_to_the_bit(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(size)
    values = random.normal(size=size).round(1)
    assert median(values) == np.median(values)
    shares = [0.0, 0.1, 0.25, 0.5, 0.77, 0.9, 1.0]
    assert quantiles(values, shares).tolist() == np.quantile(values, shares).tolist()
    for many in (unmasked._MANY, 1):
        monkeypatch.setattr(unmasked, "_MANY", many)
        for given in (values, random.integers(0, 9, (size, 2))):
            found = distinct(given)
            assert (found.dtype, found.tolist()) == (given.dtype, np.unique(given).tolist())


def test_nothing_and_nan() -> None:
    assert np.isnan(median([]))
    assert np.isnan(median([1.0, np.nan]))
    assert np.isnan(quantiles([1.0, np.nan], [0.5])).all()
    assert distinct(np.zeros(0, dtype=np.int32)).tolist() == []


def test_masked_arrays_are_not_loaded() -> None:
    code = (
        "import sys, numpy as np; from aggcal._core.unmasked import *; "
        "median(distinct(quantiles(np.arange(5.0), [0.3, 0.6]))); print('numpy.ma' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
