"""The strength of common patterns, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal.advice.check import random_signs
from aggcal.advice.check.random_signs import (
    Leftovers,
    Taken,
    drawn_bits,
    sign_of,
    strengths_and_agreements,
)

ANNOTATORS, ITEMS = 180, 30


class Study:
    """Leftovers of random pairs, a common pattern among them, and what a test needs to know."""

    def __init__(self, seed: int = 1) -> None:
        random = np.random.default_rng(seed)
        first, second = np.triu_indices(ITEMS, 1)
        judged = random.random((ANNOTATORS, len(first))) < 0.06
        judged[7] = False
        owner, pair = np.nonzero(judged)
        self.first, self.second = first[pair], second[pair]
        self.scale = random.uniform(0.5, 2.0, (ANNOTATORS, ITEMS))
        self.doubt = random.uniform(0.05, 0.25, len(owner))
        self.functions = random.normal(size=(2, len(owner)))
        taste, part = random.normal(size=ITEMS), random.normal(size=ANNOTATORS)
        common = (taste[self.first] - taste[self.second]) * part[owner]
        off = 0.7 * common + random.normal(size=len(owner))
        codes, position = np.unique(
            np.concatenate([owner * ITEMS + self.first, owner * ITEMS + self.second]),
            return_inverse=True,
        )
        study = Leftovers(
            owner,
            off,
            position.ravel(),
            np.searchsorted(codes, np.arange(ANNOTATORS + 1) * ITEMS),
            codes % ITEMS,
            self.scale.ravel()[codes],
            Taken.of(owner, self.doubt, list(self.functions)),
            ITEMS,
        )
        self.study = study._replace(off=study.left(off))

    def dense(self, off: np.ndarray) -> np.ndarray:
        """The table, entry by entry."""
        table = np.zeros((ANNOTATORS, ITEMS))
        for u, i, j, x in zip(self.study.owner, self.first, self.second, off, strict=True):
            table[u, i] += x
            table[u, j] -= x
        return table * self.scale

    def drawn(self, draws: int, seed: int) -> list[np.ndarray]:
        """The table as it is and with random signs: what is taken off is found by least squares."""
        bits = drawn_bits(len(self.study.off), draws, np.random.default_rng(seed))
        tables = [self.dense(self.study.off)]
        for draw in range(1, draws + 1):
            off = self.study.off * sign_of(bits, draw)
            for u in range(ANNOTATORS):
                mine = self.study.owner == u
                root = np.sqrt(self.doubt[mine])
                given = (self.functions[:, mine] * root).T
                part, *_ = np.linalg.lstsq(given, off[mine] / root, rcond=None)
                off[mine] -= root * (given @ part)
            table = self.dense(off)
            size = np.linalg.norm(tables[0], axis=1) / np.maximum(
                np.linalg.norm(table, axis=1), 1e-9
            )
            tables.append(table * size[:, None])
        return tables


@pytest.fixture(scope="module")
def study() -> Study:
    return Study()


def largest(table: np.ndarray) -> float:
    gram = table @ table.T
    np.fill_diagonal(gram, 0.0)
    return float(np.linalg.eigvalsh(gram)[-1])


@pytest.mark.parametrize("entries", [0, 30_000, 1 << 21])
@pytest.mark.parametrize("draws", [1, 20, 63])
def test_strengths_are_the_largest_eigenvalues(
    study: Study, draws: int, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    """One table at a time, some, or all."""
    monkeypatch.setattr(random_signs, "_ENTRIES", entries)
    ones, random = np.ones(ANNOTATORS), np.random.default_rng(3)
    found, _ = strengths_and_agreements(study.study, ones, draws, random)
    wanted = [largest(table) for table in study.drawn(draws, 3)]
    assert len(found) == draws + 1
    np.testing.assert_allclose(found, wanted, rtol=3e-3)
    assert found[0] > found[1:].max()


def test_agreements_are_those_of_the_whole_table(study: Study) -> None:
    weight = np.random.default_rng(8).random(ANNOTATORS)
    _, found = strengths_and_agreements(study.study, weight, 60, np.random.default_rng(3))
    for value, table in zip(found, study.drawn(60, 3), strict=True):
        together = weight @ table
        wanted = together @ together - np.sum(np.square(weight[:, None] * table))
        assert value == pytest.approx(wanted, rel=1e-3, abs=2e-2)


def test_what_is_left_is_left_alone(study: Study) -> None:
    """Nothing more is taken off what nothing is left of; rows keep their lengths."""
    left = study.study
    np.testing.assert_allclose(left.left(left.off), left.off, atol=1e-12)
    bits = drawn_bits(len(left.off), 1, np.random.default_rng(0))
    found = left.redrawn(left.off * sign_of(bits, 1))
    np.testing.assert_allclose(left.squares(found), left.squares(left.table(left.off)))


def test_signs_are_fair_and_the_first_is_plus() -> None:
    bits = drawn_bits(20_000, 20, np.random.default_rng(0))
    assert not (bits & np.uint64(1)).any()
    for draw in range(1, 21):
        assert abs(float(sign_of(bits, draw).mean())) < 4.0 / 20_000**0.5


def test_an_empty_table_has_no_pattern() -> None:
    none = np.zeros(0, dtype=np.int64)
    starts = np.zeros(201, dtype=np.int64)
    empty = Leftovers(none, np.zeros(0), none, starts, none, np.zeros(0), (), 5)
    for found in strengths_and_agreements(empty, np.ones(200), 3, np.random.default_rng(0)):
        assert (found == 0.0).all()


def test_a_row_of_which_nothing_is_left_is_nothing() -> None:
    """Two pairs in two directions have no others."""
    owner, item = np.zeros(2, dtype=np.int64), np.arange(4)
    taken = Taken.of(owner, np.full(2, 0.25), [np.ones(2), np.array([0.0, 1.0])])
    position, starts = np.array([0, 1, 2, 3]), np.array([0, 4])
    study = Leftovers(owner, np.array([1.0, -1.0]), position, starts, item, np.ones(4), taken, 4)
    assert (study.redrawn(study.off * [1.0, -1.0]) == 0.0).all()


def test_a_direction_that_is_another_one_is_taken_once() -> None:
    """So are those of answers that tell nothing of it."""
    owner, doubt = np.array([0, 0, 1, 1]), np.array([0.2, 0.1, 0.0, 0.0])
    gap = np.array([1.0, -2.0, 1.0, 3.0])
    one, other = Taken.of(owner, doubt, [gap, 3.0 * gap])
    assert float(one.along[:2] @ one.pull[:2]) == pytest.approx(1.0)
    assert (other.along == 0.0).all()
    assert (one.along[2:] == 0.0).all()
