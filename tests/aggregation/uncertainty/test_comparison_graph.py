"""That a design has no weakly joined groups, told from one eigenvalue."""

from __future__ import annotations

import numpy as np
import pytest

from aggcal.aggregation.groups import CLEAR, MOST_GROUPS, adjacency, evenly_joined


@pytest.mark.parametrize(
    ("each", "across"),
    [(6, 1.0), (20, 1.0), (20, 0.1), (20, 0.3), (45, 1.0), (70, 0.02), (70, 0.3), (70, 1.0)],
)
def test_who_is_evenly_joined_has_no_groups_by_all_eigenvalues(each: int, across: float) -> None:
    """Judgments an item, and the share of them that are asked whatever the class is."""
    random, n = np.random.default_rng(each), 420
    left = random.integers(n, size=n * each // 2)
    right = (left + random.integers(1, n, len(left))) % n
    kept = (left % 2 == right % 2) | (random.random(len(left)) < across)
    left, right = left[kept], right[kept]
    degree = np.bincount(np.r_[left, right], minlength=n).astype(float)
    given = 1.0 / np.sqrt(degree[left] * degree[right])
    whole = np.zeros((n, n))
    np.add.at(whole, (left, right), given)
    values = 1.0 - np.linalg.eigvalsh(whole + whole.T)[::-1][: MOST_GROUPS + 1]
    k = np.arange(2, len(values))
    clear = values[k] / values[k - 1] > CLEAR * (k / (k - 1)) ** 2
    even = evenly_joined(adjacency(left, right, given, n), degree)
    assert not (even and clear.any())
    assert even == (each >= 20 and across == 1.0) or 0.02 < across < 1.0
    if across == 0.02:
        assert clear.any()


@pytest.mark.parametrize("reach", [1, 3, 30])
@pytest.mark.parametrize("blocks", [1, 5, 30])
def test_chains_and_blocks_are_not_called_even_where_eigenvalues_show_groups(
    reach: int, blocks: int
) -> None:
    """Items in a ring, compared with their next ones; where it is cut, only once."""
    n = 600
    left, right, given = [], [], []
    for step in range(1, reach + 1):
        one = np.arange(n)
        other = (one + step) % n
        inside = one * blocks // n == other * blocks // n
        kept = inside | (step == 1)
        left.append(one[kept])
        right.append(other[kept])
        given.append(np.where(inside[kept], 10.0, 0.3))
    ends, times = (np.concatenate(left), np.concatenate(right)), np.concatenate(given)
    degree = np.bincount(np.concatenate(ends), np.tile(times, 2), n).astype(float)
    weight = times / np.sqrt(degree[ends[0]] * degree[ends[1]])
    whole = np.zeros((n, n))
    np.add.at(whole, ends, weight)
    values = 1.0 - np.linalg.eigvalsh(whole + whole.T)[::-1][: MOST_GROUPS + 1]
    k = np.arange(2, len(values))
    clear = values[k] / np.maximum(values[k - 1], 1e-12) > CLEAR * (k / (k - 1)) ** 2
    even = evenly_joined(adjacency(*ends, weight, n), degree)
    assert not (even and clear.any())
    if blocks > 1 and reach > 1:
        assert clear.any()


@pytest.mark.parametrize("size", [12, 200, 2000])
@pytest.mark.parametrize("across", [0.1, 0.5])
def test_a_group_among_many_items_is_not_missed(size: int, across: float) -> None:
    """However few items it has, numbered one after the other, and however soon one may stop."""
    random, n = np.random.default_rng(size), 4000
    left = np.repeat(np.arange(n), 40)
    right = random.integers(n, size=len(left))
    own = (left < size) & (random.random(len(left)) > across)
    right[own] = random.integers(size, size=own.sum())
    others = (left >= size) & (right < size) & (random.random(len(left)) > across)
    right[others] = random.integers(size, n, others.sum())
    left, right = left[left != right], right[left != right]
    degree = np.bincount(np.r_[left, right], minlength=n).astype(float)
    given = 1.0 / np.sqrt(degree[left] * degree[right])
    assert not evenly_joined(adjacency(left, right, given, n), degree)
