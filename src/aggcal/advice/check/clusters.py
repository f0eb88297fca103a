"""Answers that hang together: to one question asked again, or given on one screen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtr

from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, sums
from aggcal.advice.check.annotator_mixture import effective
from aggcal.advice.check.pair_answers import TIE, Answers

_OF_THE_STUDY = 30.0
"""Groups that the whole study counts as when one annotator's answers are asked how much they hang
together: a higher number trusts that annotators are alike in this.
"""
_FEWEST = 4
"""Screens, rankings or questions below which nobody is accused: two or three may be an accident."""


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
    owner: CodeArray
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
        row, number, given, code = row[kept], number[kept], given[kept], code[kept]
        if code.min(initial=0) < 0 or code.max(initial=0) > len(judgments.count):
            code = np.unique(code, return_inverse=True)[1].ravel()
        # Codes are few enough to be counted: where each one occurs first need not be sorted out.
        whose = np.full(int(code.max(initial=-1)) + 1, -1, dtype=np.int32)
        whose[code[::-1]] = judgments.annotator[row[::-1]]
        occurs = whose >= 0
        cluster, owner = (np.cumsum(occurs) - 1)[code], whose[occurs]
        several = sums(cluster, given, len(owner)) > 1.0
        repeated = sums(owner, several.astype(np.float64), judgments.n_annotators) > 0.0
        return cls(row, cluster, number, owner, repeated)

    @property
    def n_annotators(self) -> int:
        """Of the study."""
        return len(self.repeated)

    @cached_property
    def count(self) -> FloatArray:
        """How many groups each annotator has."""
        return sums(self.owner, np.ones(len(self.owner)), self.n_annotators)

    def inflation(self, residuals: FloatArray) -> FloatArray:
        """Return by how much dependence inflates the variance of sums of residuals: 1 or more.

        Residuals (one a row) of one group may depend on each other in any way. One annotator's
        groups tell little of it, and those of the whole study more: the two are averaged, the study
        counting as `_OF_THE_STUDY` groups.
        """
        m = self.n_annotators
        each = self.number * residuals[self.row]
        total = np.bincount(self.cluster, each, minlength=len(self.owner))
        grouped = sums(self.owner, np.square(total), m)
        alone = sums(self.owner[self.cluster], each * residuals[self.row], m)
        common = float(grouped.sum()) / max(float(alone.sum()), 1e-300)
        own = grouped / np.maximum(alone, 1e-300)
        mixed = (_OF_THE_STUDY * common + self.count * own) / (_OF_THE_STUDY + self.count)
        return np.where(self.repeated, np.maximum(mixed, 1.0), 1.0)

    @property
    def degrees_of_freedom(self) -> FloatArray:
        """Degrees of freedom of that; infinite where every answer stands on its own."""
        return np.where(self.repeated, self.count - 1.0 + _OF_THE_STUDY, np.inf)

    def tail(self, z: FloatArray, inflation: FloatArray) -> FloatArray:
        """Return the chance of a sum as low as each annotator's, by its standard score.

        The score is that of independent answers; ``inflation`` is what the method of that name
        found, and its t distribution is used. Who gave all their answers in fewer than `_FEWEST`
        groups is never judged by them: the chance is 1.
        """
        found: FloatArray = stdtr(self.degrees_of_freedom, z / np.sqrt(inflation))
        return np.where(self.count < _FEWEST, 1.0, found)
