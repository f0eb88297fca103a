"""Which pairs are considered: all of them, or those near each other and some at random."""

from __future__ import annotations

import numpy as np

from aggcal._core.arrays import IntArray
from aggcal.advice.suggest.beliefs import Beliefs

MOST_PAIRS = 200_000
"""Up to so many pairs, all of them are considered."""

_MARKED = 3000
"""Items up to which candidates are marked in a table of all pairs, which takes a quarter of the
time of sorting them; with more of them the table takes more memory than the pairs."""
_PARTNERS = 8  # neighbours each item is tried with: more find better pairs, and take longer


def candidates(
    beliefs: Beliefs, wanted: int, random: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Return pairs of positions, i before j.

    Parameters
    ----------
    beliefs
        What is believed about the items.
    wanted
        How many pairs will be chosen: there are several times as many candidates.
    random
        Draws those that are not near each other.
    """
    n = beliefs.n_items
    most = max(MOST_PAIRS, 8 * wanted)
    if n * (n - 1) // 2 <= most:
        i, j = np.triu_indices(n, 1)
        return i.astype(np.int64), j.astype(np.int64)
    ranked = np.lexsort((random.random(n), beliefs.scores))
    steps = range(1, max(2, 3 * most // (4 * n)) + 1)
    parts = [np.stack([ranked[:-step], ranked[step:]]) for step in steps]
    far = random.integers(n, size=(2, most // 4))
    parts += [far[:, far[0] != far[1]], _bridges(beliefs, ranked, random)]
    one, other = np.concatenate(parts, axis=1)
    keys = np.minimum(one, other) * n + np.maximum(one, other)
    if n <= _MARKED:
        marked = np.zeros(n * n, dtype=bool)
        marked[keys] = True
        keys = np.flatnonzero(marked)
    else:
        # So many are sorted sooner than `np.unique` finds them.
        keys.sort()
        keys = keys[np.append(True, keys[1:] != keys[:-1])]
    i, j = np.divmod(keys.astype(np.uint32) if n <= _MARKED else keys, n)
    return i.astype(np.int64), j.astype(np.int64)


def _bridges(beliefs: Beliefs, ranked: IntArray, random: np.random.Generator) -> IntArray:
    """Pair one item of each lesser piece with the nearest of the largest, and with some others."""
    main = ranked[beliefs.piece[ranked] == 0]
    # The best-known item of each piece stands for it.
    order = np.argsort(beliefs.variances, kind="stable")
    _, first = np.unique(beliefs.piece[order], return_index=True)
    lesser = order[first[1:]]
    near = np.searchsorted(beliefs.scores[main], beliefs.scores[lesser])
    steps = np.arange(_PARTNERS) - _PARTNERS // 2
    positions = np.clip(near[:, None] + steps[None, :], 0, len(main) - 1)
    anywhere = random.integers(len(main), size=positions.shape)
    other = np.concatenate([main[positions], main[anywhere]], axis=1)
    return np.stack([np.repeat(lesser, other.shape[1]), other.ravel()])
