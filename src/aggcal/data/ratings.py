"""Ratings as they were given: who rated which item how, on the scale of the file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, frozen
from aggcal._core.text import brief


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings, one a row, sorted by annotator; higher is better.

    They are kept beside the pairs that they imply: each annotator's ratings compared with each
    other.

    Examples
    --------
    >>> import aggcal
    >>> reviews = {"annotator": ["ann", "ann", "bob", "bob"], "item": ["p", "q", "p", "q"],
    ...            "rating": [3, 5, 2, 5]}
    >>> aggcal.read_judgments(reviews).ratings.value
    array([3., 5., 2., 5.])
    """

    annotator: CodeArray
    item: CodeArray
    value: FloatArray
    weight: FloatArray
    lowest_best: bool = False
    """Whether the file's lowest number is the best: values are then their negatives."""
    labels: tuple[str, ...] = ()
    """What ratings are called that are no numbers, the best first: the k-th has the value -k."""

    __repr__ = brief

    def __post_init__(self) -> None:
        for name in ("annotator", "item", "value", "weight"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    @classmethod
    def of(
        cls,
        annotator: CodeArray,
        item: CodeArray,
        value: FloatArray,
        weight: FloatArray,
        *,
        lowest_best: bool = False,
        labels: tuple[str, ...] = (),
    ) -> Ratings:
        """Sort ratings by annotator, item and value."""
        order = np.lexsort((weight, value, item, annotator))
        who, what = annotator[order].astype(np.int32), item[order].astype(np.int32)
        return cls(who, what, value[order], weight[order], lowest_best, labels)

    def __len__(self) -> int:
        return len(self.value)

    def swapped(self) -> Ratings:
        """Return the same with the other end as the best."""
        columns = self.annotator, self.item, -self.value, self.weight
        return Ratings.of(*columns, lowest_best=not self.lowest_best, labels=self.labels[::-1])

    def per_annotator(self, annotators: int) -> IntArray:
        """Return how many each annotator gave."""
        return frozen(np.bincount(self.annotator, minlength=annotators))

    def per_item(self, items: int) -> IntArray:
        """Return how many each item has."""
        return frozen(np.bincount(self.item, minlength=items))

    def of_annotators(self, chosen: IntArray, items: BoolArray) -> Ratings:
        """Return those of some annotators, each as often as they stand, about items of a mask.

        Both are numbered anew: annotators as they stand, items among those that are kept.
        """
        number = np.cumsum(items) - 1
        starts = np.searchsorted(self.annotator, [chosen, chosen + 1])
        rows = [np.arange(*ends) for ends in starts.T]
        row = np.concatenate([np.zeros(0, np.int64), *rows])
        who = np.repeat(np.arange(len(chosen)), [len(each) for each in rows])
        kept = items[self.item[row]]
        row, who = row[kept], who[kept]
        value, weight = self.value[row], self.weight[row]
        item = number[self.item[row]]
        turned, labels = self.lowest_best, self.labels
        return Ratings.of(who, item, value, weight, lowest_best=turned, labels=labels)
