"""How strong a common pattern of annotators would be by chance: their leftovers with random signs.

A sign is drawn for all that an annotator has left over of one pair, so that it counts for one of
its two items and against the other, as in the study. What the annotator's own slope would explain
is taken off again, and each row of the table of annotators by items is made as long as it was: a
fit leaves nothing in that direction, and who has tastes of their own leaves more than others. Signs
of single entries of that table would spread its rows over directions which answers to few pairs, or
to items in several components, do not have; any such study would stand out.

The strength is the largest eigenvalue of T Tᵀ without its diagonal, T being the table, by Lanczos'
method: of several draws at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal._core.progress import counted

_WORD = 64
_MOST_DRAWS = _WORD - 1
"""Draws: a bit of a word each, and one bit for the leftovers as they are."""
_ENTRIES = 1 << 21  # of the tables that are worked on at once: more take more memory
_TOLERANCE = 1e-3
"""Share by which an eigenvalue may still have grown between two looks. Those of random signs differ
by some thousandths; less takes longer."""
_LOOK_EVERY = 8  # steps: more go on for longer than needed, fewer look more often than needed
_MOST_STEPS = 24
"""Steps at most. By chance the table as it is gets as far in them as those with random signs do, so
that they compare; a pattern that stands out is found by then."""
_LOOKING = "looking for camps"
_NOTHING = 1e-6  # share of a row's squares, or of a direction's, that is taken for rounding

Bits = npt.NDArray[np.uint64]
Single = npt.NDArray[np.float32]


class Taken(NamedTuple):
    """A direction that a fit takes off each annotator's leftovers r: r − (Σ along r) pull.

    Of each annotator Σ along pull is 1, or 0 where there is no such direction.
    """

    along: FloatArray
    pull: FloatArray

    @classmethod
    def of(
        cls, owner: IntArray, doubt: FloatArray, functions: Sequence[FloatArray]
    ) -> tuple[Taken, ...]:
        """Make directions of functions f: answers move by doubt · f, and Σ f r is what is left.

        Examples
        --------
        >>> owner, gap = np.zeros(2, dtype=np.int64), np.array([1.0, 2.0])
        >>> [found] = Taken.of(owner, np.full(2, 0.25), [gap])
        >>> round(float(found.along @ found.pull), 9), float(found.pull[1] / found.pull[0])
        (1.0, 2.0)
        """
        m = int(owner.max(initial=-1)) + 1
        found: list[Taken] = []
        for function in functions:
            before, along = sums(owner, doubt * np.square(function), m), function
            for other in found:
                along = along - sums(owner, along * other.pull, m)[owner] * other.along
            length = sums(owner, doubt * np.square(along), m)
            real = length > _NOTHING * before
            unit = np.where(real, np.where(real, length, 1.0) ** -0.5, 0.0)
            along = along * unit[owner]
            found.append(cls(along, doubt * along))
        return tuple(found)


class Leftovers(NamedTuple):
    """What annotators have left over of pairs, and the table of annotators by items it makes.

    Entries, one for each annotator and pair, are sorted by annotator. ``position`` is where in the
    table they count: for their first items, and then against their second ones. The rows of the
    table begin at ``starts``; each of its cells has an item and a scale.
    """

    owner: IntArray
    off: FloatArray
    position: IntArray
    starts: IntArray
    item: IntArray
    scale: FloatArray
    taken: tuple[Taken, ...]
    n_items: int

    @property
    def annotators(self) -> int:
        """How many rows the table has."""
        return len(self.starts) - 1

    def table(self, off: FloatArray) -> FloatArray:
        """Return the cells that such leftovers make."""
        found = np.bincount(self.position, np.concatenate([off, -off]), len(self.scale))
        return np.asarray(self.scale * found)

    def squares(self, data: FloatArray) -> FloatArray:
        """Return the squared length of each row."""
        owner = np.repeat(np.arange(self.annotators), np.diff(self.starts))
        return sums(owner, np.square(data), self.annotators)

    def left(self, off: FloatArray) -> FloatArray:
        """Take off what a fit takes off each annotator's leftovers."""
        for each in self.taken:
            part = sums(self.owner, off * each.along, self.annotators)
            off = off - part[self.owner] * each.pull
        return off

    def redrawn(self, off: FloatArray) -> FloatArray:
        """Return the cells that leftovers with other signs make, with rows as long as they were.

        Examples
        --------
        One annotator judged the three pairs of three items; with other signs what is left of a pair
        still counts for one item and against the other:

        >>> owner, off = np.zeros(3, dtype=np.int64), np.array([1.0, 2.0, 3.0])
        >>> position, starts, item = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 3]), np.arange(3)
        >>> study = Leftovers(owner, off, position, starts, item, np.ones(3), (), 3)
        >>> found = study.redrawn(off * [1.0, -1.0, 1.0])
        >>> study.table(off), found.round(3) + 0.0
        (array([ 3.,  2., -5.]), array([-2.517,  5.033, -2.517]))
        >>> study.squares(study.table(off)), study.squares(found).round(6)
        (array([38.]), array([38.]))
        """
        found = self.table(self.left(off))
        longer = _longer(self.squares(self.table(self.off)), self.squares(found))
        return np.asarray(np.repeat(longer, np.diff(self.starts)) * found)


def _longer(own: FloatArray, left: FloatArray) -> FloatArray:
    """Return the factor that makes rows as long as they were; 0 where nothing of one is left."""
    real = left > _NOTHING * own
    return np.where(real, np.sqrt(own / np.where(real, left, 1.0)), 0.0)


def strengths_and_agreements(
    study: Leftovers, weight: FloatArray, draws: int, random: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return the largest eigenvalue of the table, and how far annotators agree in all items.

    The latter is `agreement`. Both are given first of the table as it is, then with random signs.

    Examples
    --------
    Two annotators who deviate alike in eight pairs, one who deviates in another:

    >>> starts, owner = np.array([0, 16, 32, 34]), np.repeat([0, 1, 2], [8, 8, 1])
    >>> first = np.concatenate([np.arange(8), 16 + np.arange(8), [32]])
    >>> position = np.concatenate([first, first + np.repeat([8, 8, 1], [8, 8, 1])])
    >>> item = np.concatenate([np.arange(16), np.arange(16), [16, 17]])
    >>> study = Leftovers(owner, np.ones(17), position, starts, item, np.ones(34), (), 18)
    >>> one, all_ = strengths_and_agreements(study, np.ones(3), 7, np.random.default_rng(0))
    >>> round(float(one[0]), 3), bool((one[1:] < 16.0).all()), float(all_[0]), len(one), len(all_)
    (16.0, True, 32.0, 8, 8)
    """
    bits, own = drawn_bits(len(study.off), draws, random), study.squares(study.table(study.off))
    many = max(1, _ENTRIES // max(1, len(study.scale)))
    values, together, tables = [], [], []
    for draw in counted(range(draws + 1), _LOOKING):
        signed = study.off * sign_of(bits, draw)
        tables.append(study.redrawn(signed) if draw else study.table(signed))
        together.append(agreement(study, weight, tables[-1]))
        if len(tables) == many or draw == draws:
            values.append(_largest(_product(study, tables, own), study.annotators, len(tables)))
            tables = []
    return np.concatenate(values), np.array(together)


def agreement(study: Leftovers, weight: FloatArray, data: FloatArray) -> float:
    """Return how far annotators agree in all items, Σ_i (Σ_u w_u T_ui)² without its own squares.

    Examples
    --------
    >>> none, starts = np.zeros(0, dtype=np.int64), np.array([0, 2, 4])
    >>> item = np.array([0, 1, 0, 1])
    >>> study = Leftovers(none, np.zeros(0), none, starts, item, np.ones(4), (), 2)
    >>> agreement(study, np.ones(2), np.array([1.0, -1.0, 1.0, -1.0]))
    4.0
    """
    weighted = data * np.repeat(weight, np.diff(study.starts))
    whole = sums(study.item, weighted, study.n_items)
    return float(np.sum(np.square(whole)) - np.sum(np.square(weighted)))


def drawn_bits(size: int, draws: int, random: np.random.Generator) -> Bits:
    """Return a word of signs for each entry, a bit a draw, of which the lowest is plus.

    Examples
    --------
    >>> bits = drawn_bits(3, 1, np.random.default_rng(0))
    >>> len(bits), sign_of(bits, 0).tolist()
    (3, [1.0, 1.0, 1.0])
    """
    assert draws <= _MOST_DRAWS  # noqa: S101  # of this package's own choosing
    bits = random.integers(0, 1 << _WORD, size, dtype=np.uint64)
    return bits & np.uint64((1 << _WORD) - 2)


def sign_of(bits: Bits, draw: int) -> FloatArray:
    """Return the signs of one draw.

    Examples
    --------
    >>> sign_of(np.array([0, 2], dtype=np.uint64), 1).tolist()
    [1.0, -1.0]
    """
    minus: BoolArray = (bits >> np.uint64(draw)) & np.uint64(1) == 1
    return np.where(minus, -1.0, 1.0)


def _product(
    study: Leftovers, tables: list[FloatArray], own: FloatArray
) -> Callable[[Single], Single]:
    """Return the product with the matrix of each of some tables, which are blocks of one."""
    from scipy.sparse import csr_array

    number, m, n, cells = len(tables), study.annotators, study.n_items, len(study.item)
    each = np.arange(number)[:, None]
    items = (study.item + n * each).ravel()
    starts = np.append((study.starts[:-1] + cells * each).ravel(), number * cells)
    data = np.concatenate(tables, dtype=np.float32)
    whole, less = csr_array((data, items, starts), shape=(number * m, number * n)), np.float32(own)
    return lambda v: (whole @ (whole.T @ v.ravel())).reshape(number, m) - less * v


def _largest(product: Callable[[Single], Single], size: int, width: int) -> FloatArray:
    """Return the largest eigenvalue of each of several symmetric matrices, by Lanczos' method.

    Rounding makes vectors lose sight of each other. That shows an eigenvalue twice, never a larger
    one, so no vector is kept but the last two.
    """
    now = np.full((width, size), size**-0.5, dtype=np.float32)
    before = np.zeros_like(now)
    diagonal: list[FloatArray] = []
    beside: list[FloatArray] = [np.zeros(width)]
    found: FloatArray = np.zeros(width)
    for step in range(1, min(size, _MOST_STEPS) + 1):
        new = product(now) - beside[-1].astype(np.float32)[:, None] * before
        diagonal.append(_dots(new, now))
        new = new - diagonal[-1].astype(np.float32)[:, None] * now
        beside.append(np.sqrt(_dots(new, new)))
        before, now = now, (new / np.maximum(beside[-1], 1e-30)[:, None]).astype(np.float32)
        if step % _LOOK_EVERY == 0:
            last, found = found, _largest_so_far(diagonal, beside)
            if (found - last <= _TOLERANCE * found).all():
                return found
    return _largest_so_far(diagonal, beside)


def _dots(one: np.ndarray, other: np.ndarray) -> FloatArray:
    return np.asarray(np.einsum("du,du->d", one, other, dtype=np.float64))


def _largest_so_far(diagonal: list[FloatArray], beside: list[FloatArray]) -> FloatArray:
    """Return the largest eigenvalue of each tridiagonal matrix."""
    k, each = len(diagonal), np.arange(len(diagonal))
    matrices = np.zeros((len(beside[0]), k, k))
    matrices[:, each, each] = np.array(diagonal).T
    matrices[:, each[1:], each[:-1]] = np.array(beside[1:k]).reshape(k - 1, -1).T
    # Of the lower triangle.
    return np.asarray(np.linalg.eigvalsh(matrices)[:, -1], dtype=np.float64)
