"""LAPACK beside other threads: SciPy's results to the bit, and Python is let go of."""

from __future__ import annotations

import sys
import threading
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.linalg.blas as scipys_blas
import scipy.linalg.lapack as scipys

from aggcal._core import compiled_scipy as ours
from aggcal._core.lapack import released

_ORDERS = ("C", "F")


def matrix(n: int, kind: str, order: Any = "C") -> Any:
    random = np.random.default_rng(n)
    root = random.normal(size=(n, n))
    dtype = np.float32 if kind == "s" else np.float64
    return np.array(root @ root.T + n * np.eye(n), dtype=dtype, order=order)


def the_same(found: Any, expected: Any) -> None:
    assert found[1] == expected[1]
    assert found[0].dtype == expected[0].dtype
    assert found[0].flags.f_contiguous == expected[0].flags.f_contiguous
    np.testing.assert_array_equal(found[0], expected[0], strict=True)


@pytest.mark.parametrize(("kind", "n", "order"), list(product("sd", (1, 2, 65, 300), _ORDERS)))
def test_factors_are_scipys(kind: str, n: int, order: Any) -> None:
    name = f"{kind}potrf"
    for sign, lower, clean, over in product((1.0, -1.0), *[(False, True)] * 3):
        options = {"lower": lower, "clean": clean, "overwrite_a": over}
        given = [sign * matrix(n, kind, order) for _ in range(2)]
        the_same(
            getattr(ours, name)(given[0], **options), getattr(scipys, name)(given[1], **options)
        )
        # What may be overwritten is, and nothing else.
        np.testing.assert_array_equal(*given)


@pytest.mark.parametrize(("kind", "lower"), list(product("sd", (False, True))))
def test_solutions_are_scipys(kind: str, lower: bool) -> None:
    random = np.random.default_rng(1)
    factor = getattr(scipys, f"{kind}potrf")(matrix(40, kind), lower=lower)[0]
    for target in (
        random.normal(size=40),
        random.normal(size=(40, 3)),
        random.normal(size=(3, 40)).T,
    ):
        given = target.astype(factor.dtype)
        name = f"{kind}potrs"
        expected = getattr(scipys, name)(factor, given, lower=lower)
        the_same(getattr(ours, name)(factor, given, lower=lower), expected)
        for trans in (0, 1):
            if kind == "d":
                options = {"lower": lower, "trans": trans}
                the_same(
                    ours.dtrtrs(factor, given, **options), scipys.dtrtrs(factor, given, **options)
                )


@pytest.mark.parametrize(
    ("name", "lower", "over"),
    list(product(("dpotri", "dtrtri", "dlauum"), (False, True), (False, True))),
)
def test_inverses_are_scipys(name: str, lower: bool, over: bool) -> None:
    factors = [scipys.dpotrf(matrix(70, "d"), lower=lower)[0] for _ in range(2)]
    options = {"lower": lower, "overwrite_c": over}
    the_same(
        getattr(ours, name)(factors[0], **options), getattr(scipys, name)(factors[1], **options)
    )
    np.testing.assert_array_equal(*factors)


@pytest.mark.parametrize(("side", "lower", "over"), list(product((0, 1), (0, 1), (0, 1))))
def test_products_with_a_triangle_are_scipys(side: int, lower: int, over: int) -> None:
    random = np.random.default_rng(2)
    triangle = matrix(40, "d", "F")
    given = np.asfortranarray(random.normal(size=(7, 40) if side else (40, 7)))
    options = {"side": side, "lower": lower, "overwrite_b": over}
    others = given.copy(order="F")
    found = ours.dtrmm(-1.5, triangle, given, **options)
    expected = scipys_blas.dtrmm(-1.5, triangle, others, **options)
    np.testing.assert_array_equal(found, expected, strict=True)
    np.testing.assert_array_equal(given, others)


def test_a_part_of_a_matrix_is_worked_on_in_its_place() -> None:
    whole = matrix(90, "d", "F")
    before, part = whole.copy(order="F"), whole[10:60, 20:70]
    part[...] = matrix(50, "d")
    factor, failed = ours.dpotrf(part, overwrite_a=True)
    assert not failed
    assert factor is part
    np.testing.assert_array_equal(part, scipys.dpotrf(matrix(50, "d"))[0])
    target = whole[10:60, 75:80]
    expected = scipys_blas.dtrmm(2.0, part, target)
    assert ours.dtrmm(2.0, part, target, overwrite_b=1) is target
    np.testing.assert_array_equal(target, expected)
    before[10:60, 20:70], before[10:60, 75:80] = part, target
    np.testing.assert_array_equal(whole, before)


def test_scipy_says_what_is_wrong_with_a_matrix() -> None:
    for wrong in (np.zeros((2, 3)), np.zeros(3)):
        with pytest.raises(Exception, match=r"square|dimension|shape"):
            ours.dpotrf(wrong)
    factor = np.eye(2)
    with pytest.raises(Exception, match=r"dimension"):
        ours.dpotrs(factor, np.zeros(3))
    with pytest.raises(Exception, match=r"dtrmm|dimension|shape"):
        ours.dtrmm(1.0, factor, np.zeros((3, 3)))


def test_a_function_without_an_address_is_scipys_own() -> None:
    assert released("dpotrf", len) is len


def test_other_threads_work_meanwhile() -> None:
    """Nobody is made to let go of Python here: another thread runs only if it is let in."""
    seen, begin, given = threading.Event(), threading.Lock(), np.eye(300, order="F")

    def work() -> None:
        with begin:
            seen.set()

    other, usual = threading.Thread(target=work), sys.getswitchinterval()
    begin.acquire()
    other.start()
    try:
        sys.setswitchinterval(1000.0)
        begin.release()
        for _ in range(10_000):
            ours.dpotrf(given, clean=False, overwrite_a=True)  # copies would let others in
            if seen.is_set():
                break
        assert seen.is_set()
    finally:
        sys.setswitchinterval(usual)
        other.join()
