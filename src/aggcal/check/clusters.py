"""Answers that hang together: to one question asked again, or given on one screen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtr

from aggcal.arrays import BoolArray, FloatArray, IntArray, sums
from aggcal.check.answers import TIE, Answers
from aggcal.check.population import effective


@dataclass(frozen=True, eq=False)
class Clusters:
    """Groups of an annotator's decided answers that may depend on each other.

    They are the rankings or screens where the data name them, else the answers to one pair.
    ``row`` and ``cluster`` have one entry for each bundle of answers: the row of the judgments,
    and the group it belongs to; ``number`` how many independent answers it counts for.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "a"), ("ann", "a", "c")]
    >>> clusters = Clusters.of(Answers.of(aggcal.read_judgments(rows)))
    >>> clusters.count, clusters.repeated
    (array([2.]), array([ True]))
    """

    row: IntArray
    cluster: IntArray
    number: FloatArray
    owner: IntArray
    """The annotator of each group."""
    repeated: BoolArray
    """Whether an annotator has a group of more than one answer."""

    @classmethod
    def of(cls, answers: Answers) -> Clusters:
        """Group the answers of a study."""
        judgments = answers.judgments
        row: IntArray = np.arange(len(judgments.count))
        given, number = judgments.count, effective(judgments)
        code, screen = answers.grouped.of_row, judgments.screen
        if screen is not None and len(screen) == judgments.n_judgments:
            row, code = np.repeat(row, given), screen
            number = (number / given)[row]
            given = np.ones(len(row), dtype=np.int64)
        kept = judgments.outcome[row] != TIE
        row, number, given = row[kept], number[kept], given[kept]
        _, first, cluster = np.unique(code[kept], return_index=True, return_inverse=True)
        owner = judgments.annotator[row[first]].astype(np.int64)
        several = sums(cluster.ravel(), given, len(owner)) > 1.0
        repeated = sums(owner, several.astype(np.float64), judgments.n_annotators) > 0.0
        return cls(row, cluster.ravel(), number, owner, repeated)

    @property
    def n_annotators(self) -> int:
        """Of the study."""
        return len(self.repeated)

    @cached_property
    def count(self) -> FloatArray:
        """How many groups each annotator has."""
        return sums(self.owner, np.ones(len(self.owner)), self.n_annotators)

    def variance(self, residuals: FloatArray) -> FloatArray:
        """Return the variance of each annotator's sum of residuals, one residual a row.

        Residuals of one group may depend on each other in any way.
        """
        total = np.bincount(
            self.cluster, self.number * residuals[self.row], minlength=len(self.owner)
        )
        square = sums(self.owner, np.square(total), self.n_annotators)
        lost: FloatArray = self.count / np.maximum(self.count - 1.0, 1.0)
        return square * lost

    def inflation(self, residuals: FloatArray) -> FloatArray:
        """Return by how much dependence inflates that variance: 1 or more."""
        square = self.number * np.square(residuals[self.row])
        alone = sums(self.owner[self.cluster], square, self.n_annotators)
        grown: FloatArray = self.variance(residuals) / np.maximum(alone, 1e-300)
        return np.where(self.repeated, np.maximum(grown, 1.0), 1.0)

    def tail(self, total: FloatArray, residuals: FloatArray) -> FloatArray:
        """Return the chance of a sum as low as each annotator's, whose mean is 0.

        By the t distribution, with one degree of freedom less than there are groups: whoever gave
        all their answers on two or three screens can hardly be judged by them. For annotators
        without repeated groups nothing has to be estimated, and the answer is 0.
        """
        error = np.sqrt(np.maximum(self.variance(residuals), 1e-300))
        found: FloatArray = stdtr(np.maximum(self.count - 1.0, 1e-3), total / error)
        found = np.where(self.count > 1.0, found, 1.0)
        return np.where(self.repeated, found, 0.0)
