"""Circles, against counting every triple."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import sums
from aggcal.advice.check.context import Fitted
from aggcal.advice.check.cycles import _Pairs, cycle_findings, cycles
from aggcal.advice.check.pair_answers import Answers


@pytest.mark.parametrize(("n", "asked"), [(9, 25), (70, 600)])
def test_triples_are_those_of_brute_force(n: int, asked: int, random: np.random.Generator) -> None:
    """More than 64 items take two words of bits each."""
    rows = [
        (f"u{u}", f"i{a}", f"i{b}")
        for u in range(3)
        for a, b in (random.choice(n, 2, replace=False) for _ in range(asked))
    ]
    judgments = aggcal.read_judgments(rows)
    answers = Answers.of(judgments)
    net = sums(answers.pair, judgments.count * (answers.up - 0.5), answers.n_pairs)
    beats = {}
    for pair in range(answers.n_pairs):
        a, b = int(answers.first[pair]), int(answers.second[pair])
        if net[pair] != 0.0:
            beats[a, b], beats[b, a] = net[pair] > 0, net[pair] < 0
    triads = circular = 0
    for a, b, c in combinations(range(judgments.n_items), 3):
        if {(a, b), (b, c), (a, c)} <= beats.keys():
            triads += 1
            circular += beats[a, b] == beats[b, c] == beats[c, a]
    chosen = np.ones(judgments.n_items, dtype=bool)
    pairs = _Pairs.among(chosen, answers.first, answers.second)
    assert pairs.count(net) == (triads, circular)
    assert triads > circular > 0


def test_rock_paper_scissors_goes_round_and_round() -> None:
    """Nine items on a ring, each above the next four: a third of the triples are circles."""
    ring = [
        (f"u{u}", f"i{a}", f"i{(a + k) % 9}")
        for u in range(6)
        for a in range(9)
        for k in (1, 2, 3, 4)
    ]
    found = cycles(Fitted.of(aggcal.read_judgments(ring)))
    assert found.triads == 84
    assert found.circular == 30
    assert [f.code for f in cycle_findings(found)] == ["circular"]
