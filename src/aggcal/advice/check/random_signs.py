"""How strong a common pattern of annotators would be by chance: their leftovers with random signs.

A sign is drawn for all that an annotator has left over of one pair, so that it counts for one of
its two items and against the other, as in the study. What the annotator's own slope would explain
is taken off again, and each row of the table of annotators by items is made as long as it was: a
fit leaves nothing in that direction, and who has tastes of their own leaves more than others. Signs
of single entries of that table would spread its rows over directions which answers to few pairs, or
to items in several components, do not have; any such study would stand out.

The strength is the largest eigenvalue of T Tᵀ without its diagonal, T being the table. All draws of
signs are worked on at once, by Lanczos' method: reading the table takes longer than the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggcal._core.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal._core.kernels import at, library
from aggcal._core.kernels.threads import balanced, each_range, in_turn
from aggcal._core.progress import counted

_WORD = 64
_MOST_DRAWS = _WORD - 1
"""Draws at once: a bit of a word each, and one bit for the leftovers as they are."""
_TOGETHER = 4  # draws: as many as the kernel takes at a time
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
    bits, width = drawn_bits(len(study.off), draws, random)
    own, turns = study.squares(study.table(study.off)), counted(range(draws + 1), _LOOKING)
    if not _compiled():
        found, together = [], []
        for draw in turns:
            data = (
                study.redrawn(study.off * sign_of(bits, draw)) if draw else study.table(study.off)
            )
            found.append(_largest(_plain_product(study, data, own), study.annotators, 1)[0])
            together.append(agreement(study, weight, data))
        return np.array(found), np.array(together)
    drawn = _Drawn(study, bits, turns, width)
    less: Single = own.astype(np.float32)[:, None]
    values = _largest(
        lambda v: drawn.by_item(drawn.by_annotator(v)) - less * v, study.annotators, width
    )
    along = drawn.by_annotator(np.repeat(weight.astype(np.float32)[:, None], width, axis=1))
    whole = _dots(along, along) - float(np.sum(own * np.square(weight)))
    return values[: draws + 1], whole[: draws + 1]


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


def _compiled() -> bool:
    return hasattr(library(), "aggcal_signed_product")


def drawn_bits(size: int, draws: int, random: np.random.Generator) -> tuple[Bits, int]:
    """Return a word of signs for each entry, of which the lowest is plus, and how many to use.

    Examples
    --------
    >>> bits, number = drawn_bits(3, 1, np.random.default_rng(0))
    >>> len(bits), number
    (3, 4)
    """
    assert draws <= _MOST_DRAWS  # noqa: S101  # of this package's own choosing
    bits = random.integers(0, 1 << _WORD, size, dtype=np.uint64)
    bits &= np.uint64((1 << _WORD) - 2)
    return bits, -(-(draws + 1) // _TOGETHER) * _TOGETHER


def sign_of(bits: Bits, draw: int) -> FloatArray:
    """Return the signs of one draw.

    Examples
    --------
    >>> sign_of(np.array([0, 2], dtype=np.uint64), 1).tolist()
    [1.0, -1.0]
    """
    minus: BoolArray = (bits >> np.uint64(draw)) & np.uint64(1) == 1
    return np.where(minus, -1.0, 1.0)


class _Drawn:
    """The tables of all draws at once, for the kernel: what is taken off is subtracted."""

    def __init__(self, study: Leftovers, bits: Bits, draws: Iterable[int], width: int) -> None:
        m, both = study.annotators, np.concatenate([bits, bits])
        order = np.argsort(np.concatenate([study.owner, study.owner]), kind="stable")
        starts = np.searchsorted(study.owner, np.arange(m + 1))
        item, scale = study.item[study.position], study.scale[study.position]

        def table(x: FloatArray, signs: Bits) -> _Signed:
            data = scale * np.concatenate([x, -x])
            cells = 2 * starts, item[order], data[order], signs[order]
            return _Signed(cells, study.n_items, width)

        self.signed = table(study.off, both)
        none = np.zeros_like(both)
        self.taken = [table(each.pull, none) for each in study.taken]
        every: Single = np.ones((1, width), dtype=np.float32)
        nowhere = np.zeros(len(bits), dtype=np.int64)
        self.back = [
            _Signed((starts, nowhere, study.off * each.along, bits), 1, width).by_item(every)
            for each in study.taken
        ]
        for part in self.back:
            part[:, 0] = 0.0  # without signs nothing is left to take off
        own, longer = study.squares(study.table(study.off)), np.ones((m, width), dtype=np.float32)

        def lengthen(draw: int) -> None:
            if draw:
                left = study.squares(study.table(study.left(study.off * sign_of(bits, draw))))
                longer[:, draw] = _longer(own, left)

        for _ in in_turn(lengthen, draws):
            pass
        self.longer = longer

    def by_annotator(self, v: Single) -> Single:
        """Sum over annotators: from annotators by draws to items by draws."""
        given = self.longer * v
        found = self.signed.by_annotator(given)
        for table, part in zip(self.taken, self.back, strict=True):
            found = found - table.by_annotator(part * given)
        return found

    def by_item(self, v: Single) -> Single:
        """Sum over items: from items by draws to annotators by draws."""
        found = self.signed.by_item(v)
        for table, part in zip(self.taken, self.back, strict=True):
            found = found - part * table.by_item(v)
        return self.longer * found


class _Signed:
    """A sparse table with all draws of signs, by annotator and by item, for the kernel."""

    def __init__(
        self,
        cells: tuple[IntArray, IntArray, FloatArray, Bits],
        n_items: int,
        width: int,
    ) -> None:
        starts, item, data, bits = cells
        self.width = width
        column, value = item.astype(np.int32), data.astype(np.float32)
        starts = np.ascontiguousarray(starts, dtype=np.int64)
        number = np.bincount(column, minlength=n_items)
        across = np.concatenate([[0], np.cumsum(number)])
        row, moved, moved_bits = np.empty_like(column), np.empty_like(value), np.empty_like(bits)
        kernels = library()
        assert kernels is not None  # noqa: S101  # whoever calls has looked
        self.kernels, self.next = kernels, across[:-1].copy()
        kernels.aggcal_signed_transpose(
            len(starts) - 1,
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


def _plain_product(
    study: Leftovers, data: FloatArray, own: FloatArray
) -> Callable[[Single], FloatArray]:
    """Return the product with one draw, without a kernel."""
    from scipy.sparse import csr_array

    shape = study.annotators, study.n_items
    signed = csr_array((data, study.item, study.starts), shape=shape)
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
