"""A compact letter display: items that share a letter cannot be told apart.

Two items whose order is certified share none, and any two others share at least one (Piepho, 2004).
"""

from __future__ import annotations

from string import ascii_lowercase

import numpy as np

from aggcal._core.arrays import TextArray
from aggcal.aggregation.uncertainty.certified import Certified

MOST_LETTERED = 500
"""Items that letters are given to: those of more could not be read."""
_MOST_LETTERS = 702  # a to zz: of orders that need more, letters would explain nothing


def letters(certified: Certified) -> TextArray | None:
    """Return the letters of each item, "a" for the group of the highest one; None for too many.

    Where there are more groups than letters, they are called aa, ab, ..., parted by blanks.

    Examples
    --------
    >>> from aggcal.aggregation.uncertainty.covariance import DenseCovariance
    >>> scores = np.array([9.0, 6.0, 3.0, 0.0])
    >>> letters(Certified(scores, DenseCovariance(np.eye(4)), 0.95)).tolist()
    ['a', 'ab', 'bc', 'c']
    """
    n = len(certified.scores)
    if n > MOST_LETTERED:
        return None
    order = np.argsort(-certified.scores, kind="stable")
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    apart = [0] * n
    for above, below in certified.pairs():
        apart[place[above]] |= 1 << int(place[below])
    groups = [(1 << n) - 1]
    for k in range(n):
        groups = _split(groups, k, apart[k])
        if len(groups) > _MOST_LETTERS:
            return None
    # From the top: by the highest item, then by the lowest.
    groups.sort(key=lambda group: (group & -group, group))
    names = [_name(k) for k in range(len(groups))]
    between = " " if len(groups) > len(ascii_lowercase) else ""
    found = [
        between.join(name for name, group in zip(names, groups, strict=True) if group >> k & 1)
        for k in place.tolist()
    ]
    return np.array(found, dtype=object)


def _split(groups: list[int], k: int, apart: int) -> list[int]:
    """Part an item from those that it differs from, and drop groups that are within others."""
    kept, parts = [], []
    for group in groups:
        if group >> k & 1 and group & apart:
            parts += [group & ~apart, group & ~(1 << k)]
        else:
            kept.append(group)
    for part in sorted(parts, key=int.bit_count, reverse=True):
        if not any(part & group == part for group in kept):
            kept.append(part)
    return kept


def _name(k: int) -> str:
    """Return a to z, then aa, ab and so on.

    Examples
    --------
    >>> _name(0), _name(25), _name(26), _name(27)
    ('a', 'z', 'aa', 'ab')
    """
    first, last = divmod(k, len(ascii_lowercase))
    return (ascii_lowercase[first - 1] if first else "") + ascii_lowercase[last]
