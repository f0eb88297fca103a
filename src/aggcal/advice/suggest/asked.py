r"""What the pairs asked so far take from two matrices, worked out for the items looked at.

A judgment of a pair, a = e_i − e_j, takes u u' from the covariance C of the scores,
u = √share · C a, and so from S = C L C

    u h' + h u',    h = √share · S a − ½ u'L u · u,    u'L u = share · a'S a.

Neither matrix is changed: after some judgments C is C₀ − U'U and S is S₀ − U'H − H'U. An item's
column of U and H needs its column of C₀ and of S₀, and what the items of the pairs asked have in
U and H. So it can be worked out when the item is looked at, and for most items never is.
"""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import each_range, even
from aggcal.advice.suggest.worth import LEAST

_ROOM = 40
"""Judgments to make room for at first. When it is full, the room doubles and some more: rows whose
length is a power of two would share few places in the caches."""
_ITEMS, _CANDIDATES = 200, 1000  # of a thread: for fewer, waking it takes longer


class Values(NamedTuple):
    """What pairs are worth."""

    variance: FloatArray
    """a'Ca."""
    stake: FloatArray
    """a'Sa."""
    valued: IntArray
    """Judgments that each takes into account."""


class Asked:
    """The pairs asked, with U and H as far as they were needed.

    Parameters
    ----------
    covariance
        C₀, in doubles.
    carried
        The upper triangle of S₀. Its precision is that of U and H.
    """

    def __init__(self, covariance: FloatArray, carried: FloatArray) -> None:
        self._covariance, self._carried = covariance, carried
        self.number = 0
        """Judgments so far."""
        n, kind = len(covariance), carried.dtype
        self._done = np.zeros(n, dtype=np.int64)  # judgments that an item has caught up with
        self._taken = np.empty((n, 2, 0), dtype=kind)  # u and h of each item
        self._met = np.empty((0, 2, 0), dtype=kind)  # u'a and h'a of each pair, of those before it
        self._pairs, self._scale = np.empty((0, 2), dtype=np.int64), np.empty((0, 2))
        self._make_room(_ROOM)

    def copy(self) -> Asked:
        """Return one that goes its own way."""
        other = copy(self)
        vars(other).update(_done=self._done.copy())
        other._make_room(self._room)  # noqa: SLF001
        return other

    def _make_room(self, room: int) -> None:
        """Make room for some judgments, in new arrays; what was worked out is kept."""
        k, taken, met, pairs, scale = self.number, self._taken, self._met, self._pairs, self._scale
        self._room = room
        self._taken = np.empty((len(taken), 2, room), dtype=taken.dtype)
        self._met = np.empty((room, 2, room), dtype=met.dtype)
        self._pairs, self._scale = np.empty((room, 2), dtype=np.int64), np.empty((room, 2))
        self._taken[:, :, :k], self._met[:k, :, :k] = taken[:, :, :k], met[:k, :, :k]
        self._pairs[:k], self._scale[:k] = pairs[:k], scale[:k]
        # Looked up once: it takes as long as a judgment does.
        self._places = at(
            self._covariance, self._carried, self._pairs, self._scale,
            self._met, self._taken, self._done,
        )  # fmt: skip

    def _make_room_for_one(self) -> None:
        if self.number == self._room:
            self._make_room(2 * self._room + 8)

    def take(self, one: int, other: int, variance: float, gained: float) -> None:
        """Add a judgment of a pair, given the variance of its gap and its information."""
        self._make_room_for_one()
        k = self.number
        if min(self._done[one], self._done[other]) < k:
            self.catch_up(np.array([one, other]))
        met = self._taken[one, :, :k] - self._taken[other, :, :k]
        stake = sum(self._at(x, x) for x in (one, other)) - 2.0 * self._at(one, other)
        stake = max(stake - 2.0 * float(met[0] @ met[1]), 0.0)
        share = gained / (1.0 + gained * variance)
        self._met[k, :, :k] = met
        self._pairs[k] = one, other
        self._scale[k] = share**0.5, 0.5 * share * stake
        self.number += 1

    def _at(self, one: int, other: int) -> float:
        return float(self._carried[min(one, other), max(one, other)])

    def catch_up(self, items: IntArray) -> None:
        """Work out U and H of some items."""
        if library() is None:
            self._catch_up(items)
            return
        items = items[self._done[items] < self.number]
        # The kernel takes several at a time, from where the first of them is.
        items = items[np.argsort(self._done[items])]
        kernel, sizes = self._kernel("aggcal_caught_up"), (len(self._done), self.number, self._room)

        def work(begin: int, end: int) -> None:
            kernel(end - begin, *at(items[begin:end]), *sizes, *self._places)

        each_range(work, even(len(items), _ITEMS))

    def _kernel(self, name: str) -> Any:
        single = self._carried.dtype == np.float32
        return getattr(library(), f"{name}_single" if single else name)

    def _catch_up(self, items: IntArray) -> None:
        """Work the same out without compiled kernels."""
        for k in range(int(self._done[items].min(initial=self.number)), self.number):
            late = items[self._done[items] <= k]
            (i, j), (root, half), met = self._pairs[k], self._scale[k], self._met[k, :, :k]
            u, h = self._taken[late, 0, :k], self._taken[late, 1, :k]
            one, other = (
                self._carried[np.minimum(late, x), np.maximum(late, x)].astype(np.float64)
                for x in (i, j)
            )
            step = root * (self._covariance[late, i] - self._covariance[late, j] - u @ met[0])
            self._taken[late, 0, k] = step
            far = u @ met[1] + h @ met[0]
            self._taken[late, 1, k] = root * (one - other - far) - half * step
        self._done[items] = self.number

    def lower(
        self, pairs: tuple[IntArray, IntArray], values: Values, which: IntArray | None = None
    ) -> None:
        """Take what judgments took from what pairs are worth.

        Parameters
        ----------
        pairs
            Pairs of items that have caught up.
        values
            What they were worth: changed in place.
        which
            The pairs whose values are wanted; None for all.
        """
        (i, j), (variance, stake, valued) = pairs, values
        some = np.arange(len(i)) if which is None else which
        if library() is not None:
            kernel, places = self._kernel("aggcal_lowered"), at(i, j)
            sizes, values_at = (self.number, self._room), at(valued, variance, stake)

            def work(begin: int, end: int) -> None:
                some_at = at(some[begin:end])
                kernel(end - begin, *some_at, *places, *sizes, self._places[5], LEAST, *values_at)

            each_range(work, even(len(some), _CANDIDATES))
            return
        taken, first = self._taken, int(valued[some].min(initial=self.number))
        step = taken[i[some], :, first : self.number] - taken[j[some], :, first : self.number]
        step *= (np.arange(first, self.number) >= valued[some, None])[:, None, :]
        u, h = step[:, 0], step[:, 1]
        variance[some] = np.maximum(variance[some] - np.einsum("ij,ij->i", u, u), LEAST)
        stake[some] = np.maximum(stake[some] - 2.0 * np.einsum("ij,ij->i", u, h), 0.0)
        valued[some] = self.number

    def choose(
        self,
        pairs: tuple[IntArray, IntArray],
        values: Values,
        open_: tuple[FloatArray, BoolArray, bool],
        limits: tuple[float, int],
        items: IntArray,
    ) -> tuple[IntArray, FloatArray]:
        """Take the pair that is worth most, and so on while it is clear which one that is.

        Returns which were chosen, and of each what it was worth and the variance of its gap. None
        are without compiled kernels.

        Parameters
        ----------
        pairs
            The candidates.
        values
            What they are worth, up to date: changed in place.
        open_
            The information of a judgment of each, whether it may be asked, and whether more than
            once.
        limits
            What a pair must be worth more than, and how many are to be chosen at most.
        items
            The items of the candidates.
        """
        if library() is None:
            return np.empty(0, dtype=np.int64), np.empty((0, 2))
        self._make_room_for_one()
        (gained, allowed, again), (floor, most) = open_, limits
        most = min(most, self._room - self.number)
        chosen, found, may = np.empty(most, np.int64), np.empty((most, 2)), allowed.astype(np.uint8)
        number = self._kernel("aggcal_chosen")(
            len(gained), *at(*pairs, gained, may), again, floor, most, len(items), *at(items),
            len(self._done), self.number, self._room, *self._places, LEAST,
            *at(values.valued, values.variance, values.stake, chosen, found),
        )  # fmt: skip
        self.number += number
        return chosen[:number], found[:number]

    @property
    def steps(self) -> FloatArray:
        """U', of all items."""
        self.catch_up(np.arange(len(self._done)))
        return self._taken[:, 0, : self.number]
