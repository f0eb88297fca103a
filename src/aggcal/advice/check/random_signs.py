"""How strong a common pattern of annotators would be by chance: the same table with random signs.

The strength is the largest eigenvalue of T Tᵀ without its diagonal, T being annotators by items.
What annotators have left over adds up to nothing, and so does its product with the scores: a fit
has taken both away. Signs at random would bring them back, and spread over all directions what the
rows of the table have in two fewer; of few items and thousands of annotators, any study would stand
out. So both are taken away again, and each row is made as long as it was.

All draws of signs are worked on at once, by Lanczos' method: reading the table takes longer than
the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import balanced, each_range
from aggcal._core.progress import counted

_WORD = 64
_MOST_DRAWS = _WORD - 1
"""Draws at once: a bit of a word each, and one bit for the table as it is."""
_TOGETHER = 4  # draws: as many as the kernel takes at a time
_TOLERANCE = 1e-3
"""Share by which an eigenvalue may still have grown between two looks. Those of random signs differ
by some thousandths; less takes longer."""
_LOOK_EVERY = 8  # steps: more go on for longer than needed, fewer look more often than needed
_MOST_STEPS = 24
"""Steps at most. By chance the table as it is gets as far in them as those with random signs do, so
that they compare; a pattern that stands out is found by then."""

_PARALLEL = 1e-6
"""Length, of 1, below which nothing is left of a direction or a row but rounding."""

Bits = npt.NDArray[np.uint64]
Single = npt.NDArray[np.float32]


class Table(NamedTuple):
    """A sparse table of annotators by items: the entries of row u are those from starts[u] on."""

    starts: IntArray
    item: IntArray
    data: FloatArray
    n_items: int

    @property
    def annotators(self) -> int:
        """How many rows it has."""
        return len(self.starts) - 1


class Directions(NamedTuple):
    """Two directions in which rows have nothing.

    Entries are like those of the table; in each row they are of unit length and at right angles, or
    0.
    """

    one: FloatArray
    other: FloatArray

    @classmethod
    def of(cls, starts: IntArray, one: FloatArray, other: FloatArray) -> Directions:
        """Make them from any two.

        Examples
        --------
        >>> found = Directions.of(np.array([0, 2]), np.array([3.0, 4.0]), np.array([5.0, 0.0]))
        >>> found.one, found.other
        (array([0.6, 0.8]), array([ 0.8, -0.6]))
        """
        owner, m = np.repeat(np.arange(len(starts) - 1), np.diff(starts)), len(starts) - 1

        def unit(x: FloatArray, least: float) -> FloatArray:
            length = np.sqrt(sums(owner, np.square(x), m))
            return x * np.where(length > least, 1.0 / np.maximum(length, 1e-300), 0.0)[owner]

        one, other = unit(one, 0.0), unit(other, 0.0)
        other = other - sums(owner, one * other, m)[owner] * one
        return cls(one, unit(other, _PARALLEL))


def strengths(
    table: Table, without: Directions, draws: int, random: np.random.Generator
) -> FloatArray:
    """Return the largest eigenvalue of the table as it is, then those with random signs.

    Parameters
    ----------
    table
        What is left over, annotators by items.
    without
        What is taken away again once signs are drawn.
    draws
        How often they are.
    random
        Of the signs.

    Examples
    --------
    Two annotators who deviate alike in eight items, one who deviates in others:

    >>> starts, item = np.array([0, 8, 16, 17]), np.array([*range(8), *range(8), 8])
    >>> table = Table(starts, item, np.ones(17), 9)
    >>> nothing = Directions(np.zeros(17), np.zeros(17))
    >>> found = strengths(table, nothing, 7, np.random.default_rng(0))
    >>> round(float(found[0]), 3), bool((found[1:] < 8.0).all()), len(found)
    (8.0, True, 8)
    """
    bits, width = _drawn(len(table.data), draws, random)
    own = _row_squares(table)
    if not _compiled():
        return np.concatenate(
            [
                _largest(
                    _plain_product(table._replace(data=redrawn(table, without, bits, d)), own),
                    table.annotators,
                    1,
                )
                for d in counted(range(draws + 1), "looking for camps")
            ]
        )
    signed, plus = _Signed(table, bits, width), np.zeros_like(bits)
    every: Single = np.ones((table.n_items, width), dtype=np.float32)
    away = [_Signed(table._replace(data=each), plus, width) for each in without]
    back = [_along(table._replace(data=table.data * each), bits, every) for each in without]
    left = own[:, None] - np.square(back[0]) - np.square(back[1])
    longer: Single = _longer(own[:, None], left).astype(np.float32)
    less: Single = own.astype(np.float32)[:, None]

    def product(v: Single) -> Single:
        given = longer * v
        items = signed.by_annotator(given)
        for part, by in zip(away, back, strict=True):
            items = items - part.by_annotator(by * given)
        found = signed.by_item(items)
        for part, by in zip(away, back, strict=True):
            found = found - by * part.by_item(items)
        return longer * found - less * v

    return _largest(product, table.annotators, width)[: draws + 1]


def _along(table: Table, bits: Bits, every: Single) -> Single:
    """Return what signs bring back of a direction, annotators by draws; nothing without signs."""
    found = _Signed(table, bits, every.shape[1]).by_item(every)
    found[:, 0] = 0.0
    return found


def _longer(own: FloatArray, left: FloatArray) -> FloatArray:
    """Return the factor that makes rows as long as they were; 0 where nothing of one is left."""
    real = left > _PARALLEL * own
    return np.where(real, np.sqrt(own / np.where(real, left, 1.0)), 0.0)


def redrawn(table: Table, without: Directions, bits: Bits, draw: int) -> FloatArray:
    """Return the entries of the table with one draw of signs, and what it brings back taken away.

    Examples
    --------
    Three numbers that add up to nothing do so with other signs, too:

    >>> table = Table(np.array([0, 3]), np.arange(3), np.array([1.0, 1.0, -2.0]), 3)
    >>> flat = Directions.of(table.starts, np.ones(3), np.zeros(3))
    >>> found = redrawn(table, flat, np.array([2, 0, 0], dtype=np.uint64), 1)
    >>> bool(np.isclose(found.sum(), 0.0)), float(np.square(found).sum().round(6))
    (True, 6.0)
    """
    if not draw:
        return table.data
    owner, m = np.repeat(np.arange(table.annotators), np.diff(table.starts)), table.annotators
    found = table.data * _sign(bits, draw)
    for each in without:
        found = found - sums(owner, found * each, m)[owner] * each
    own, left = (sums(owner, np.square(x), m) for x in (table.data, found))
    return np.asarray(_longer(own, left)[owner] * found)


def weighted_agreements(
    table: Table, weight: FloatArray, draws: int, random: np.random.Generator
) -> FloatArray:
    """Return how far annotators agree in all items, Σ_i (Σ_u w_u T_ui)² without its own squares.

    First of the table as it is, then with random signs.

    Examples
    --------
    >>> table = Table(np.array([0, 1, 2]), np.zeros(2, dtype=np.int64), np.ones(2), 1)
    >>> found = weighted_agreements(table, np.ones(2), 3, np.random.default_rng(0))
    >>> float(found[0]), bool((np.abs(found[1:]) == 2.0).all())
    (2.0, True)
    """
    bits, width = _drawn(len(table.data), draws, random)
    own = float(np.sum(_row_squares(table) * np.square(weight)))
    if not _compiled():
        weighted = table.data * np.repeat(weight, np.diff(table.starts))
        drawn = (weighted * _sign(bits, d) for d in range(draws + 1))
        return np.array(
            [float(np.sum(np.square(sums(table.item, x, table.n_items)))) - own for x in drawn]
        )
    signed = _Signed(table, bits, width)
    along = signed.by_annotator(np.repeat(weight.astype(np.float32)[:, None], width, axis=1))
    return _dots(along, along)[: draws + 1] - own


def _compiled() -> bool:
    return hasattr(library(), "aggcal_signed_product")


def _drawn(size: int, draws: int, random: np.random.Generator) -> tuple[Bits, int]:
    """Return a word of signs for each entry, of which the lowest is plus, and how many to use."""
    assert draws <= _MOST_DRAWS  # noqa: S101  # of this package's own choosing
    bits = random.integers(0, 1 << _WORD, size, dtype=np.uint64)
    bits &= np.uint64((1 << _WORD) - 2)
    return bits, -(-(draws + 1) // _TOGETHER) * _TOGETHER


def _sign(bits: Bits, draw: int) -> FloatArray:
    minus: BoolArray = (bits >> np.uint64(draw)) & np.uint64(1) == 1
    return np.where(minus, -1.0, 1.0)


def _row_squares(table: Table) -> FloatArray:
    owner = np.repeat(np.arange(table.annotators), np.diff(table.starts))
    return sums(owner, np.square(table.data), table.annotators)


class _Signed:
    """The table with all draws of signs, by annotator and by item, for the kernel."""

    def __init__(self, table: Table, bits: Bits, width: int) -> None:
        self.width = width
        column, value = table.item.astype(np.int32), table.data.astype(np.float32)
        starts = np.ascontiguousarray(table.starts, dtype=np.int64)
        number = np.bincount(column, minlength=table.n_items)
        across = np.concatenate([[0], np.cumsum(number)])
        row, moved, moved_bits = np.empty_like(column), np.empty_like(value), np.empty_like(bits)
        kernels = library()
        assert kernels is not None  # noqa: S101  # whoever calls has looked
        self.kernels, self.next = kernels, across[:-1].copy()
        kernels.aggcal_signed_transpose(
            table.annotators,
            *at(starts, column, value, bits, self.next, row, moved, moved_bits),
        )
        self.rows = starts, column, value, bits
        self.columns = across, row, moved, moved_bits

    def by_annotator(self, v: Single) -> Single:
        """Sum over annotators: from annotators by draws to items by draws."""
        return self._product(self.columns, v)

    def by_item(self, v: Single) -> Single:
        """Sum over items: from items by draws to annotators by draws."""
        return self._product(self.rows, v)

    def _product(self, part: tuple[IntArray, np.ndarray, Single, Bits], v: Single) -> Single:
        given = np.ascontiguousarray(v)
        out = np.empty((len(part[0]) - 1, self.width), dtype=np.float32)

        def work(begin: int, end: int) -> None:
            self.kernels.aggcal_signed_product(begin, end, self.width, *at(*part, given, out))

        each_range(work, balanced(part[0]))
        return out


def _plain_product(table: Table, own: FloatArray) -> Callable[[Single], FloatArray]:
    """Return the product with one draw, without a kernel."""
    from scipy.sparse import csr_array

    shape = table.annotators, table.n_items
    signed = csr_array((table.data, table.item, table.starts), shape=shape)
    across = signed.T.tocsr()
    return lambda v: signed @ (across @ v) - own[:, None] * v


def _largest(product: Callable[[Single], np.ndarray], size: int, width: int) -> FloatArray:
    """Return the largest eigenvalue of each of several symmetric matrices, by Lanczos' method.

    Rounding makes vectors lose sight of each other. That shows an eigenvalue twice, never a larger
    one, so no vector is kept but the last two.
    """
    now = np.full((size, width), size**-0.5, dtype=np.float32)
    before = np.zeros_like(now)
    diagonal: list[FloatArray] = []
    beside: list[FloatArray] = [np.zeros(width)]
    found: FloatArray = np.zeros(width)
    for step in range(1, min(size, _MOST_STEPS) + 1):
        new = product(now) - beside[-1].astype(np.float32) * before
        diagonal.append(_dots(new, now))
        new = new - diagonal[-1].astype(np.float32) * now
        beside.append(np.sqrt(_dots(new, new)))
        before, now = now, (new / np.maximum(beside[-1], 1e-30)).astype(np.float32)
        if step % _LOOK_EVERY == 0:
            last, found = found, _largest_so_far(diagonal, beside)
            if (found - last <= _TOLERANCE * found).all():
                return found
    return _largest_so_far(diagonal, beside)


def _dots(one: np.ndarray, other: np.ndarray) -> FloatArray:
    return np.asarray(np.einsum("ud,ud->d", one, other, dtype=np.float64))


def _largest_so_far(diagonal: list[FloatArray], beside: list[FloatArray]) -> FloatArray:
    """Return the largest eigenvalue of each tridiagonal matrix."""
    k, each = len(diagonal), np.arange(len(diagonal))
    matrices = np.zeros((len(beside[0]), k, k))
    matrices[:, each, each] = np.array(diagonal).T
    matrices[:, each[1:], each[:-1]] = np.array(beside[1:k]).reshape(k - 1, -1).T
    # Of the lower triangle.
    return np.asarray(np.linalg.eigvalsh(matrices)[:, -1], dtype=np.float64)
