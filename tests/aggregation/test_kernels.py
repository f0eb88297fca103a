"""The compiled kernels against the NumPy sums: the same numbers, on any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal._core import kernels
from aggcal._core.arrays import FloatArray
from aggcal._core.kernels import library
from aggcal._core.kernels.threads import each_range
from aggcal.data.graph import ComparisonGraph

pytestmark = pytest.mark.skipif(library() is None, reason="no C compiler when aggcal was installed")

WITH_KERNELS = ("aggregation.native", "data.graph")


def test_a_forked_child_makes_threads_of_its_own() -> None:
    code = (
        "import multiprocessing, sys, aggcal\nfrom aggcal.simulation import simulate\n"
        "made = simulate(items=30, annotators=50, judgments=60_000)\n"
        "def fit(_): return aggcal.aggregate(made.judgments, warn=False).objective\n"
        "first = fit(0)\n"
        "with multiprocessing.get_context('fork').Pool(1) as pool: second = pool.map(fit, [0])[0]\n"
        "sys.exit(first != second)\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)


@pytest.mark.parametrize(
    ("method", "prior"),
    [*((name, "auto") for name in ("hra-g", "hra-e", "hra-n", "btl", "tcv")), ("hra-g", None)],
)
def test_both_reach_the_same_optimum(
    method: str,
    prior: Any,
    study_judgments: aggcal.Judgments,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fast = aggcal.aggregate(study_judgments, method, prior=prior, warn=False)
    for home in WITH_KERNELS:
        monkeypatch.setattr(f"aggcal.{home}.library", lambda: None)
    plain = aggcal.aggregate(study_judgments, method, prior=prior, warn=False)
    assert plain.convergence is not None
    assert plain.convergence.converged
    np.testing.assert_allclose(fast.scores, plain.scores, atol=1e-4)
    np.testing.assert_allclose(fast.agreement, plain.agreement, atol=1e-12)
    np.testing.assert_allclose(fast.reliabilities, plain.reliabilities, atol=1e-4)


def test_the_bits_do_not_depend_on_the_number_of_threads() -> None:
    """Rows for three ranges, which one thread adds up in turn, and items beyond dense matrices."""
    code = (
        "import os, sys\n"
        "os.sched_getaffinity = lambda _: set(range(int(sys.argv[1])))\n"
        "os.environ['OPENBLAS_NUM_THREADS'] = sys.argv[1]\n"
        "import aggcal\nfrom aggcal.simulation import simulate\n"
        "made = simulate(items=1_000, annotators=200, judgments=60_000)\n"
        "found = aggcal.aggregate(made.judgments, warn=False)\n"
        "print(found.scores.tobytes().hex(), found.reliabilities.tobytes().hex())\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code, threads], capture_output=True, check=True, text=True
        ).stdout
        for threads in ("1", "5")
    }
    assert len(said) == 1


@pytest.mark.parametrize("sizes", [(100, 1), (5, 3)], ids=["one piece", "pieces"])
def test_facts_about_many_rows_are_the_same_without_kernels(
    sizes: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enough rows for every thread; the annotators' shares are very uneven."""
    each, pieces = sizes
    rng, rows = np.random.default_rng(6), 90_000
    owner = np.sort(np.minimum(rng.geometric(0.2, rows) - 1, 9)).astype(np.int32)
    left = rng.integers(0, each, rows)
    right = (left + rng.integers(1, each, rows)) % each
    piece = each * rng.integers(0, pieces, rows)
    codes = owner, (left + piece).astype(np.int32), (right + piece).astype(np.int32)
    scores = rng.normal(size=each * pieces)

    def facts() -> list[FloatArray]:
        judgments = aggcal.Judgments.of_codes(*codes)
        graph = ComparisonGraph(judgments)
        return [
            judgments.judgments_per_item.astype(np.float64),
            judgments.judgments_per_annotator.astype(np.float64),
            aggcal.Consensus.of(judgments, scores, method="any").agreement,
            graph.component_sizes.astype(np.float64),
            *judgments.wins_and_losses,
        ]

    fast = facts()
    for home in WITH_KERNELS:
        monkeypatch.setattr(f"aggcal.{home}.library", lambda: None)
    for found, expected in zip(fast, facts(), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert fast[0].sum() == 2 * rows


def test_threads_do_not_wait_for_each_other() -> None:
    """Sums within sums: were they to wait for a free thread, none would ever be free."""

    def outer(begin: int, end: int) -> int:
        return sum(each_range(lambda low, high: high - low, [begin, begin + 1, end]))

    assert sum(each_range(outer, list(range(0, 1_001, 10)))) == 1_000


def test_kernels_can_be_switched_off() -> None:
    code = "from aggcal._core.kernels import library; print(library())"
    environment = {**os.environ, "AGGCAL_KERNELS": "off"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, env=environment
    )
    assert done.stdout == "None\n"


def test_a_library_of_another_machine_is_passed_over(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pathlib import Path

    wrong = Path(str(tmp_path)) / "kernels.so"
    wrong.write_bytes(b"not a library")
    monkeypatch.setattr(kernels, "_LIBRARY", wrong)
    assert library.__wrapped__() is None
