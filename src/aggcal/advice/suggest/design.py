"""The first pairs of a study that has no judgments yet: balanced, connected, of small diameter."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray

Pairs = tuple[IntArray, IntArray]

_DRAWS, _MOST_MEASURED = 20, 300
"""Designs that are drawn, of which the one of smallest diameter is taken: more are seldom better.
Beyond so many items one draw is enough: random designs of many items hardly differ."""
_ATTEMPTS = 50  # of parting pairs that would be asked twice: each round has several ways out


def first_pairs(n_items: int, n: int, random: np.random.Generator) -> Pairs:
    """Choose pairs of items of which nothing is known, in the order in which to ask them.

    Every item is in about as many pairs as any other (they differ by one at most), on the left as
    on the right; so it is in whatever part of the list is asked from the top (by two at most). No
    pair comes twice before all came once. The first ``n_items - 1`` pairs join all items, which
    fewer cannot; the further ones shorten the ways between them.

    Examples
    --------
    >>> one, other = first_pairs(4, 6, np.random.default_rng(0))
    >>> sorted((min(p), max(p)) for p in zip(one.tolist(), other.tolist()))
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    """
    most = n_items * (n_items - 1) // 2
    rounds = [_all_pairs(n_items, random) for _ in range(n // most)]
    rest = n % most
    if rest:
        rounds.append(_design(n_items, rest, random))
    one = np.concatenate([pairs[0] for pairs in rounds])
    other = np.concatenate([pairs[1] for pairs in rounds])
    return _turned(n_items, one, other, random)


def _design(n_items: int, n: int, random: np.random.Generator) -> Pairs:
    """Draw different pairs, the shortest design of several where drawing makes a difference."""
    draws = _DRAWS if n_items < n and n_items <= _MOST_MEASURED else 1
    if 2 * n > n_items * (n_items - 1) // 2:
        draws = 0  # with half of all pairs hardly any two items are far from each other
    best, shortest = None, (np.inf, np.inf)
    for _ in range(draws):
        drawn = _drawn(n_items, n, random)
        if drawn is None or draws == 1:
            best = drawn
            break
        ways = _distances(n_items, *drawn)
        length = (float(ways.max()), float(ways.sum()))
        if length < shortest:
            best, shortest = drawn, length
    if best is None:
        one, other = _all_pairs(n_items, random)
        best = one[:n], other[:n]
    return best


def _distances(n_items: int, one: IntArray, other: IntArray) -> FloatArray:
    from scipy.sparse import coo_array  # as long as most studies take to fit
    from scipy.sparse.csgraph import shortest_path

    ends = one.astype(np.int32), other.astype(np.int32)  # SciPy 1.14 walks no others
    graph = coo_array((np.ones(len(one)), ends), shape=(n_items, n_items)).tocsr()
    found: FloatArray = shortest_path(graph, directed=False, unweighted=True)
    return found


def _all_pairs(n_items: int, random: np.random.Generator) -> Pairs:
    """Return all pairs, so that items are in equally many of any first part of them.

    An even number of items meets in the rounds of a tournament (the circle method), of which two
    successive ones form a cycle through all items; an odd number along cycles (Walecki's).
    """
    if n_items % 2:
        half = n_items // 2
        zigzag = np.ravel(np.stack([np.arange(1, half + 1), -np.arange(1, half + 1)]), order="F")
        cycles = [
            np.concatenate([[n_items - 1], (k + np.concatenate([[0], zigzag[:-1]])) % (2 * half)])
            for k in range(half)
        ]
        walks = [_walk(n_items, random) for _ in cycles]
        rounds = [
            np.stack([cycle[walk], cycle[(walk + 1) % n_items]])
            for cycle, walk in zip(cycles, walks, strict=True)
        ]
    else:
        circle = np.arange(n_items - 1)
        rounds = []
        for k in circle:
            seats = np.concatenate([[n_items - 1], (circle + k) % (n_items - 1)])
            pairs = np.stack([seats[: n_items // 2], seats[: n_items // 2 - 1 : -1]])
            rounds.append(pairs[:, random.permutation(pairs.shape[1])])
    one, other = random.permutation(n_items)[np.concatenate(rounds, axis=1)]
    return one, other


def _walk(n_items: int, random: np.random.Generator) -> IntArray:
    """Return the steps of a cycle through all items, so that none comes again before all came.

    Every second step is taken first; of an odd number, the item that is left over is joined next.
    """
    steps = np.arange(n_items)
    first, second = steps[:-1:2], steps[1:-1:2][::-1]
    lone = second[: n_items % 2]
    others = np.concatenate([second[len(lone) :], steps[-1:]])
    return np.concatenate([random.permutation(first), lone, random.permutation(others)])


def _drawn(n_items: int, n: int, random: np.random.Generator) -> Pairs | None:
    """Draw a cycle through all items, then one partner after the other for everybody."""
    order = random.permutation(n_items)
    walk = _walk(n_items, random)
    one, other = order[walk[:n]], order[(walk[:n] + 1) % n_items]
    degree = np.bincount(np.concatenate([one, other]), minlength=n_items)
    taken = set((np.minimum(one, other) * n_items + np.maximum(one, other)).tolist())
    parts = [(one, other)]
    left = n - len(one)
    while left:
        size = min(left, n_items // 2)
        seldom = np.lexsort((random.random(n_items), degree))[: 2 * size]
        pairs = _partners(seldom, n_items, taken, random)
        if pairs is None:
            return None
        # Who had a rest in the round before comes first in this one.
        pairs = pairs[:, np.argsort(degree[pairs].min(axis=0), kind="stable")]
        degree[pairs.ravel()] += 1
        taken |= set((pairs.min(axis=0) * n_items + pairs.max(axis=0)).tolist())
        parts.append((pairs[0], pairs[1]))
        left -= size
    return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])


def _partners(
    items: IntArray, n_items: int, taken: set[int], random: np.random.Generator
) -> IntArray | None:
    """Pair items off at random, none with a partner it had before; None if no way is found."""
    for _ in range(_ATTEMPTS):
        pairs = random.permutation(items).reshape(2, -1)
        for _ in range(_ATTEMPTS):
            keys = pairs.min(axis=0) * n_items + pairs.max(axis=0)
            again = np.flatnonzero([key in taken for key in keys.tolist()])
            if not len(again):
                return pairs
            # Those who met before change partners with anybody.
            for k in again:
                swap = random.integers(pairs.shape[1])
                pairs[1, [k, swap]] = pairs[1, [swap, k]]
    return None


def _turned(n_items: int, one: IntArray, other: IntArray, random: np.random.Generator) -> Pairs:
    """Put each item on the left about as often as on the right, by walking along the pairs.

    Along a walk every item is left as often as it is entered; items in an odd number of pairs are
    joined by steps to nowhere, which are dropped afterwards.
    """
    degree = np.bincount(np.concatenate([one, other]), minlength=n_items)
    odd = np.flatnonzero(degree % 2)
    ends = np.concatenate([np.stack([one, other]), np.stack([odd, np.full_like(odd, n_items)])], 1)
    steps: list[list[int]] = [[] for _ in range(n_items + 1)]
    for k in random.permutation(ends.shape[1]).tolist():
        steps[ends[0, k]].append(k)
        steps[ends[1, k]].append(k)
    left = np.full(ends.shape[1], -1)
    for start in random.permutation(n_items + 1).tolist():
        here = start
        while True:
            while steps[here] and left[steps[here][-1]] >= 0:
                steps[here].pop()
            if not steps[here]:
                break  # only where the walk began are all steps taken
            k = steps[here].pop()
            left[k] = here
            here = int(ends[0, k] + ends[1, k] - here)
    first = left[: len(one)]
    return first, one + other - first
