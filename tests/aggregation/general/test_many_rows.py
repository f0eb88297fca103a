"""Studies of many rows take short cuts; they lead to the same optimum."""

from __future__ import annotations

from dataclasses import replace
from threading import Thread
from typing import Any

import numpy as np
import pytest

import aggcal
from aggcal._core.kernels import library, threads
from aggcal._core.machine import OURS
from aggcal.aggregation.consensus import Consensus
from aggcal.aggregation.general import choice, fit, spreads
from aggcal.aggregation.general.found import GeneralEffects
from aggcal.aggregation.solve import marginal

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


def fitted(judgments: aggcal.Judgments, monkeypatch: Any, *, many: bool) -> Consensus:
    """Fit to a tight tolerance, as few rows are fitted or as many."""
    sample = JUDGMENTS // 3 if many else 10**9
    for module in (fit, choice, marginal):
        monkeypatch.setattr(module, "_SAMPLE", sample)
    for module in (fit, marginal):
        monkeypatch.setattr(module, "_TOLERANCE", 1e-7)
    found = aggcal.aggregate(judgments, warn=False)
    assert isinstance(found.effects, GeneralEffects)
    assert found.effects.chosen.position
    assert found.convergence is not None
    assert found.convergence.converged
    return found


def test_the_short_cuts_of_many_rows_lead_to_the_same_optimum(
    uneven: aggcal.Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = fitted(uneven, monkeypatch, many=False)
    many = fitted(uneven, monkeypatch, many=True)
    np.testing.assert_allclose(many.scores, few.scores, atol=2e-5)
    np.testing.assert_allclose(many.reliabilities, few.reliabilities, atol=1e-4)
    one, two = (each.effects.fit.state for each in (few, many))  # type: ignore[union-attr]
    np.testing.assert_allclose(two.sds, one.sds, rtol=2e-4)


def test_a_tilt_is_bounded_by_what_judgments_leave_open(uneven: aggcal.Judgments) -> None:
    """Who gives most of the judgments moves little with it: few steps reach the unit."""
    found = aggcal.aggregate(uneven, warn=False, terms=aggcal.Terms(ties="halves", position="off"))
    assert found.convergence is not None
    assert found.convergence.converged
    assert found.convergence.iterations <= 15


@pytest.mark.parametrize("prior", [None, (0.7, 3.0)])
def test_a_foreseen_spread_is_a_fixed_point(prior: tuple[float, float] | None) -> None:
    """Where an update leads nowhere, looking ahead does not either; else it goes to the end."""
    rng = np.random.default_rng(3)
    noise = rng.uniform(0.2, 1.0, 4_000)
    shown = rng.normal(0.0, 0.6, 4_000) + rng.normal(0.0, noise)

    def seen(sd: float) -> Any:
        own = 1.0 / (noise**-2 + sd**-2)
        return spreads._Seen(own * shown / noise**2, own, own, prior)

    sd = 0.3
    for _ in range(400):
        sd = spreads._annotator_sd(seen(sd), "position", sd, 1)[0]
    ahead, moved = spreads._annotator_sd(seen(sd), "position", sd, 50)
    if prior is None:
        assert ahead == pytest.approx(sd, rel=1e-5)
        assert moved == 0.0
    assert spreads._annotator_sd(seen(0.5), "position", 0.5, 50)[0] == pytest.approx(sd, rel=2e-3)


@pytest.mark.skipif(library() is None, reason="no compiled kernels")
def test_threads_do_not_change_a_bit(
    uneven: aggcal.Judgments, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (fit, choice, marginal):
        monkeypatch.setattr(module, "_SAMPLE", JUDGMENTS // 3)
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
