"""Which annotators, and which of their rows, stand for all where those are too many.

Annotators come in the order of a file, which may be sorted by what they are, or repeat itself. So
one is drawn of each so many by a hash of their number: the sample is spread over all, does not
follow any period of theirs, and is the same on every machine and however rows are parted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggcal._core.arrays import BoolArray, IntArray

FEWEST = 20
"""Annotators of a sample at least, where there are so many: fewer tell little of how annotators
differ. Of fewer than are drawn of, some of the rows are taken instead."""
_ODD = np.array([0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB], dtype=np.uint64)
"""The constants of SplitMix64, whose outputs pass tests of randomness for consecutive inputs."""


class Thinning(NamedTuple):
    """One of so many annotators is drawn, and of these one of so many rows."""

    annotators: int = 1
    rows: int = 1

    @classmethod
    def by(cls, step: int, n_annotators: int) -> Thinning:
        """Return what leaves one of about so many rows.

        Examples
        --------
        >>> Thinning.by(50, 10_000), Thinning.by(50, 4)
        (Thinning(annotators=50, rows=1), Thinning(annotators=1, rows=50))
        """
        people = max(min(step, n_annotators // FEWEST), 1)
        return cls(people, max(step // people, 1))

    @property
    def all(self) -> bool:
        """Whether nothing is left out."""
        return self.annotators == self.rows == 1

    def drawn(self, first: int, number: int) -> BoolArray:
        """Say which annotators are drawn of so many from one on.

        Examples
        --------
        >>> mine = Thinning(annotators=4).drawn(0, 1000)
        >>> mine.reshape(-1, 4).sum(axis=1).tolist() == [1] * 250
        True
        """
        each = np.arange(first, first + number)
        block, place = np.divmod(each, self.annotators)
        return np.asarray(_hashed(block) % np.uint64(self.annotators) == place.astype(np.uint64))

    def before(self, first: int) -> int:
        """Return how many annotators are drawn of those before one."""
        block, place = divmod(first, self.annotators)
        drawn = int(_hashed(np.array([block]))[0] % np.uint64(self.annotators))
        return block + int(drawn < place)

    def kept(self, sizes: IntArray, first: int = 0) -> BoolArray:
        """Say which rows are kept, annotators having so many each, from one on.

        Every annotator who is drawn keeps at least one.
        """
        mine = self.drawn(first, len(sizes))
        if self.rows == 1:
            return np.repeat(mine, sizes)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        at = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        block, place = np.divmod(at, self.rows)
        room = np.minimum(self.rows, sizes[owner] - block * self.rows).astype(np.uint64)
        named = _hashed(owner + first) + block.astype(np.uint64)
        chosen = _hashed(named) % room == place.astype(np.uint64)
        return np.asarray(chosen & mine[owner])


ALL = Thinning()
"""Nothing is left out."""


def _hashed(numbers: IntArray | np.ndarray) -> np.ndarray:
    """Return numbers that look random, of 64 bits."""
    with np.errstate(over="ignore"):
        found = (numbers.astype(np.uint64) + np.uint64(1)) * _ODD[0]
        found = (found ^ (found >> np.uint64(30))) * _ODD[1]
        found = (found ^ (found >> np.uint64(27))) * _ODD[2]
    return np.asarray(found ^ (found >> np.uint64(31)))
