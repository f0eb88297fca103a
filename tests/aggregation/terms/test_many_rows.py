"""Studies of many rows, most of them by a few annotators."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread

import numpy as np
import pytest

import aggcal
from aggcal._core.kernels import library, threads
from aggcal._core.machine import OURS
from aggcal.aggregation import terms
from aggcal.aggregation.consensus import Consensus

ITEMS, ANNOTATORS, JUDGMENTS = 320, 150, 9_000


@pytest.fixture(scope="module")
def uneven() -> aggcal.Judgments:
    """A study with ties and sides in which a few annotators give most of the judgments."""
    rng = np.random.default_rng(5)
    share = np.arange(1, ANNOTATORS + 1.0) ** -1.1
    owner = rng.choice(ANNOTATORS, JUDGMENTS, p=share / share.sum())
    owner[:ANNOTATORS] = np.arange(ANNOTATORS)
    scores, strength = rng.normal(size=ITEMS), np.exp(rng.normal(0.0, 0.4, ANNOTATORS))
    strength[rng.random(ANNOTATORS) < 0.05] *= -1.0
    left = rng.integers(0, ITEMS, JUDGMENTS)
    right = (left + rng.integers(1, ITEMS, JUDGMENTS)) % ITEMS
    eta = strength[owner] * (scores[left] - scores[right]) + rng.normal(0.3, 0.5, ANNOTATORS)[owner]
    won, tied = np.exp(eta), np.exp(rng.normal(-1.0, 0.8, ANNOTATORS)[owner] + 0.5 * eta)
    drawn = rng.random(JUDGMENTS) * (1.0 + won + tied)
    outcome = np.where(drawn < won, 1.0, np.where(drawn < won + tied, 0.5, 0.0))
    order = np.argsort(owner, kind="stable")
    codes = (column[order].astype(np.int32) for column in (owner, left, right))
    made = aggcal.Judgments.of_codes(*codes)
    return replace(made, outcome=outcome[order], sided=True)


def test_a_multiplier_is_bounded_by_what_judgments_leave_open(uneven: aggcal.Judgments) -> None:
    """Who gives most of the judgments moves little with it: few steps reach the constraint."""
    found = aggcal.aggregate(uneven, warn=False, terms=aggcal.Terms(ties="halves", position="off"))
    assert found.convergence is not None
    assert found.convergence.converged
    assert found.convergence.iterations <= 15


@pytest.mark.skipif(library() is None, reason="no compiled kernels")
def test_threads_do_not_change_a_bit(
    uneven: aggcal.Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terms, "_SAMPLE", JUDGMENTS // 3)
    monkeypatch.setattr(threads, "_ROWS_PER_RANGE", 1_000)
    many = aggcal.aggregate(uneven, warn=False)
    one: list[Consensus] = []
    # In a thread of the pool's name ranges are worked on one after the other.
    alone = Thread(
        name=OURS, target=lambda: one.append(aggcal.aggregate(replace(uneven), warn=False))
    )
    alone.start()
    alone.join()
    np.testing.assert_array_equal(one[0].scores, many.scores)
    np.testing.assert_array_equal(one[0].reliabilities, many.reliabilities)
