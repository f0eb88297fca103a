"""Eigenvalues and agreements under random signs, against dense matrices, compiled and not."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal._core.kernels import library
from aggcal.advice.check import random_signs
from aggcal.advice.check.random_signs import (
    Directions,
    Table,
    redrawn,
    strengths,
    weighted_agreements,
)

ANNOTATORS, ITEMS = 180, 70


@pytest.fixture(scope="module")
def dense() -> np.ndarray:
    """A third of the cells filled, some annotators idle, half of them with a taste in common."""
    random = np.random.default_rng(5)
    table = random.normal(size=(ANNOTATORS, ITEMS)) * (random.random((ANNOTATORS, ITEMS)) < 0.3)
    taste = random.normal(size=ITEMS)
    table[::2] += 0.8 * taste * (table[::2] != 0.0)
    table[40:44] = 0.0
    return table


def sparse(dense: np.ndarray) -> Table:
    row, column = np.nonzero(dense)
    starts = np.searchsorted(row, np.arange(len(dense) + 1))
    return Table(starts, column, dense[row, column], dense.shape[1])


def signed(dense: np.ndarray, draws: int, seed: int) -> list[np.ndarray]:
    """The table as it is, then with the signs that a seed draws."""
    row, column = np.nonzero(dense)
    bits, _ = random_signs._drawn(len(row), draws, np.random.default_rng(seed))
    tables = []
    for draw in range(draws + 1):
        table = dense.copy()
        table[row, column] *= np.where((bits >> np.uint64(draw)) & np.uint64(1), -1.0, 1.0)
        tables.append(table)
    return tables


def directions(dense: np.ndarray) -> tuple[Directions, np.ndarray]:
    """Two in each row, as entries and, annotators by two by items, as a table."""
    random, (row, column) = np.random.default_rng(9), np.nonzero(dense)
    table = sparse(dense)
    given = random.uniform(0.5, 1.5, (2, len(row)))
    whole = np.zeros((ANNOTATORS, 2, ITEMS))
    for k in range(2):
        whole[row, k, column] = given[k]
    return Directions.of(table.starts, *given), whole


def without(table: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Project each row by least squares, and make it as long as it was."""
    found = table.copy()
    for u, row in enumerate(table):
        part, *_ = np.linalg.lstsq(whole[u].T, row, rcond=None)
        rest = row - part @ whole[u]
        size = np.linalg.norm(rest)
        found[u] = rest * np.linalg.norm(row) / size if size > 1e-9 else 0.0
    return found


def largest(table: np.ndarray) -> float:
    gram = table @ table.T
    np.fill_diagonal(gram, 0.0)
    return float(np.linalg.eigvalsh(gram)[-1])


@pytest.mark.parametrize("kernel", [True, False])
@pytest.mark.parametrize("draws", [1, 20, 63])
def test_strengths_are_the_largest_eigenvalues(
    dense: np.ndarray, draws: int, monkeypatch: pytest.MonkeyPatch, *, kernel: bool
) -> None:
    if kernel and not hasattr(library(), "aggcal_signed_product"):
        pytest.skip("there is no kernel")
    monkeypatch.setattr(random_signs, "_compiled", lambda: kernel)
    away, whole = directions(dense)
    found = strengths(sparse(dense), away, draws, np.random.default_rng(3))
    as_it_is, *drawn = signed(dense, draws, 3)
    wanted = [largest(as_it_is), *(largest(without(table, whole)) for table in drawn)]
    assert len(found) == draws + 1
    np.testing.assert_allclose(found, wanted, rtol=2e-3)
    assert found[0] > found[1:].max()


@pytest.mark.parametrize("kernel", [True, False])
def test_agreements_are_those_of_the_whole_table(
    dense: np.ndarray, monkeypatch: pytest.MonkeyPatch, *, kernel: bool
) -> None:
    if kernel and not hasattr(library(), "aggcal_signed_product"):
        pytest.skip("there is no kernel")
    monkeypatch.setattr(random_signs, "_compiled", lambda: kernel)
    weight = np.random.default_rng(8).random(ANNOTATORS)
    found = weighted_agreements(sparse(dense), weight, 60, np.random.default_rng(3))
    for value, table in zip(found, signed(dense, 60, 3), strict=True):
        together = weight @ table
        wanted = together @ together - np.sum(np.square(weight[:, None] * table))
        assert value == pytest.approx(wanted, rel=1e-4, abs=1e-3)


def test_signs_are_fair_and_the_first_is_plus() -> None:
    bits, width = random_signs._drawn(20_000, 20, np.random.default_rng(0))
    assert width == 24
    assert not (bits & np.uint64(1)).any()
    for draw in range(1, 21):
        assert abs(float(random_signs._sign(bits, draw).mean())) < 4.0 / 20_000**0.5


def test_an_empty_table_has_no_pattern() -> None:
    empty = Table(np.zeros(201, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0), 5)
    nothing = Directions(np.zeros(0), np.zeros(0))
    assert (strengths(empty, nothing, 3, np.random.default_rng(0)) == 0.0).all()


def test_a_row_of_which_nothing_is_left_is_nothing() -> None:
    """Two numbers that add up to nothing in two directions have no others."""
    table = Table(np.array([0, 2]), np.arange(2), np.array([1.0, -1.0]), 2)
    away = Directions.of(table.starts, np.ones(2), np.array([0.0, 1.0]))
    bits = np.array([2, 0], dtype=np.uint64)
    assert (redrawn(table, away, bits, 1) == 0.0).all()
    assert (redrawn(table, away, bits, 0) == table.data).all()
