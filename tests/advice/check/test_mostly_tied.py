"""Studies in which most answers are ties: nobody is accused for that."""

from __future__ import annotations

import numpy as np
import pytest

import aggcal
from aggcal.advice.check import check
from aggcal.simulation import SimulatedTerms, Simulation, simulate

ACCUSING = {"reversed-annotators", "contradicting", "guessing", "position-bias", "divided"}
MIRRORED = (33_500_019, 33_500_023, 33_500_029)
"""Studies in which the fit that takes ties as halves ended with the order turned round."""
DIVIDED = (33_500_004, 33_500_011)
"""Studies in which what ties leave over looked like two camps."""


def tied(seed: int) -> Simulation:
    terms = SimulatedTerms(ties="davidson", tie_readiness=3.9, tie_readiness_sd=0.5)
    return simulate(items=20, annotators=5, judgments=3000, seed=seed, terms=terms)


@pytest.mark.parametrize("seed", [*MIRRORED, *DIVIDED])
def test_nobody_is_accused_in_a_clean_study(seed: int) -> None:
    found = check(aggcal.read_judgments(tied(seed).shown), with_precision=False)
    assert not ACCUSING & {finding.code for finding in found.findings}


def test_camps_are_found_all_the_same() -> None:
    terms = SimulatedTerms(ties="davidson", tie_readiness=1.5, axis_sd=1.0, second_camp=0.4)
    study = simulate(items=20, annotators=14, judgments=2660, seed=500, terms=terms)
    assert np.mean(np.asarray(study.grade) == 0) > 0.5
    found = check(aggcal.read_judgments(study.shown), with_precision=False)
    assert {"divided", "different-tastes"} & {finding.code for finding in found.findings}
