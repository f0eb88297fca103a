"""The compiled kernels against the NumPy sums: the same numbers, on any number of threads."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import numpy as np
import pytest

import aggcal
from aggcal._core import kernels
from aggcal._core.arrays import FloatArray, constant
from aggcal._core.kernels import library
from aggcal._core.kernels.threads import each_range
from aggcal.data.graph import ComparisonGraph
from aggcal.models.compiled import CompiledThurstone
from aggcal.models.links import link
from aggcal.models.rows import Rows, rows_of
from aggcal.models.thurstone import Thurstone
from aggcal.simulation import simulate

pytestmark = pytest.mark.skipif(library() is None, reason="no C compiler when aggcal was installed")

WITH_KERNELS = ("models.compiled", "models.rows", "data.graph", "_core.arrays")


@cache
def study_rows(judgments: int, annotators: int, *, weighted: bool) -> Rows:
    made = simulate(items=40, annotators=annotators, judgments=judgments, seed=11)
    columns = dict(made.judgments)
    if weighted:
        columns["weight"] = np.random.default_rng(1).choice([0.25, 1.0, 3.0], judgments)
    return rows_of(aggcal.read_judgments(columns))


def extreme_scores() -> FloatArray:
    """Scores whose differences reach deep into both tails."""
    scores = np.random.default_rng(2).normal(size=40)
    scores[:4] = [0.0, 30.0, -800.0, 2000.0]
    return scores


@pytest.mark.parametrize("name", ["logistic", "normal", "laplace"])
@pytest.mark.parametrize("precision", [None, 4.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(3_000, 30), (100_000, 3)], ids=["many small", "few large"])
@pytest.mark.parametrize("far", [False, True], ids=["near", "far"])
def test_kernels_agree_with_numpy(
    name: str, precision: float | None, weighted: bool, shape: tuple[int, int], far: bool
) -> None:
    rows = study_rows(*shape, weighted=weighted)
    scores = extreme_scores() if far else np.random.default_rng(3).normal(size=40)
    plain = Thurstone(rows, link(name), 0.5, precision)
    fast = CompiledThurstone(rows, link(name), 0.5, precision)
    fast.evaluate(0.9 * scores)  # γ is then looked for from what this one says
    fast._last_norm = 0.0  # ask for the tightest γ
    one, two = plain.evaluate(scores), fast.evaluate(scores)
    size = np.abs(one.gradient).max()
    assert two.value == pytest.approx(one.value, rel=1e-12)
    np.testing.assert_allclose(two.gradient, one.gradient, atol=1e-10 * size)
    np.testing.assert_allclose(two.diagonal, one.diagonal, rtol=1e-8)
    np.testing.assert_allclose(fast.reliabilities, plain.reliabilities, atol=1e-8)
    vector = np.random.default_rng(4).normal(size=40)
    exact = plain.product(vector)
    np.testing.assert_allclose(fast.product(vector), exact, atol=1e-5 * np.abs(exact).max())
    if two.stiffness is not None:
        along = plain.product(scores)
        assert two.stiffness == pytest.approx(
            scores @ along, abs=1e-5 * np.abs(scores * along).max()
        )


@pytest.mark.parametrize("prior", ["auto", None])
@pytest.mark.parametrize("method", ["hra-g", "btl", "tcv"])
def test_every_prior_works_without_the_kernels(
    method: str, prior: None, study_judgments: aggcal.Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    for home in WITH_KERNELS:
        monkeypatch.setattr(f"aggcal.{home}.library", lambda: None)
    found = aggcal.aggregate(study_judgments, method, prior=prior, warn=False)
    assert found.convergence is not None
    assert found.convergence.converged


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


@pytest.mark.parametrize("method", ["hra-g", "hra-e", "hra-n", "btl", "tcv"])
def test_both_reach_the_same_optimum(
    method: str, study_judgments: aggcal.Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = aggcal.aggregate(study_judgments, method, warn=False)
    for home in WITH_KERNELS:
        monkeypatch.setattr(f"aggcal.{home}.library", lambda: None)
    plain = aggcal.aggregate(study_judgments, method, warn=False)
    np.testing.assert_allclose(fast.scores, plain.scores, atol=1e-8)
    np.testing.assert_allclose(fast.agreement, plain.agreement, atol=1e-12)
    np.testing.assert_allclose(fast.reliabilities, plain.reliabilities, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_in_tiles_are_the_same_rows(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    n, count = 3_000, 20_000
    rng = np.random.default_rng(5)
    winner = rng.integers(0, n, count, dtype=np.int32)
    loser = ((winner + rng.integers(1, n, count)) % n).astype(np.int32)
    weight = rng.choice([0.5, 2.0], count) if weighted else constant(1.0, count)
    rows = Rows(winner, loser, weight, np.array([0, count]), n)
    monkeypatch.setattr("aggcal.models.rows._MANY_ITEMS", 1)
    monkeypatch.setattr("aggcal.models.rows._TILE", 9)
    tiled = rows.pooled()
    tile = (tiled.winner >> 9) * 1_000 + (tiled.loser >> 9)
    assert (np.diff(tile) >= 0).all()
    assert len(np.unique(tile)) == 36
    seen, expected = (
        np.sort(np.rec.fromarrays([r.winner, r.loser, r.weight])) for r in (tiled, rows)
    )
    assert (seen == expected).all()


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
