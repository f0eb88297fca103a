"""Large studies are checked on a sample: all answers of some annotators, drawn at random."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import starts_of
from aggcal.data.judgments import Judgments
from aggcal.errors import count

MANY = 5_000_000
"""Rows from which a quick check looks at a sample: checking more takes longer than the fit."""
SAMPLED = 1_000_000
"""Rows of the sample: more find rarer faults and take longer."""
_FEWEST = 20
"""Annotators of a sample: fewer say too little about the others, however much they judged."""
_MISSED = 0.05
"""Chance that a fault of the rarest kind is not in the sample: part of what is said, no choice."""


@dataclass(frozen=True)
class Sample:
    """The judgments of the annotators who were drawn, and how many there are in all."""

    judgments: Judgments
    annotators: int
    rows: int

    @property
    def rarest(self) -> float:
        """The share of annotators with a fault of whom the sample has one with chance 95%.

        Examples
        --------
        >>> import aggcal
        >>> study = aggcal.simulate(items=9, annotators=30, judgments=900, seed=1)
        >>> few = aggcal.read_judgments(study.judgments)
        >>> round(Sample(few, 3_000, 90_000).rarest, 3)
        0.095
        """
        return float(1.0 - _MISSED ** (1.0 / self.judgments.n_annotators))

    @property
    def looked_at(self) -> frozenset[str]:
        """The annotators who were drawn."""
        return frozenset(map(str, self.judgments.annotator_ids))

    def __str__(self) -> str:
        """Say what was looked at and what that can find."""
        looked = f"{self.judgments.n_annotators:,} of {count(self.annotators, 'annotator')}"
        return (
            f"all annotators (to save time, {looked} were drawn at random and checked with all "
            f"their {len(self.judgments.count):,} of {self.rows:,} rows; what {self.rarest:.2%} of "
            "annotators do is among them with a chance of 95%)"
        )


def sample(judgments: Judgments, seed: int, most: int | None = None) -> Sample:
    """Draw annotators until their rows are about as many as a check takes time for.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=20, annotators=60, judgments=6000, seed=1)
    >>> many = aggcal.read_judgments(study.judgments)
    >>> found = sample(many, 0, most=2_500)
    >>> 20 <= found.judgments.n_annotators < 60, len(found.judgments.count) <= 2_500
    (True, True)
    """
    m = judgments.n_annotators
    drawn = np.random.default_rng(seed).permutation(m)
    # Rows are sorted by annotator: nobody but those who are drawn need be looked at.
    starts = starts_of(judgments.annotator, m)
    sizes = np.diff(starts)
    fits = int(np.searchsorted(np.cumsum(sizes[drawn]), SAMPLED if most is None else most, "right"))
    who = np.sort(drawn[: max(fits, _FEWEST)])
    ends = np.cumsum(sizes[who])
    rows = np.arange(ends[-1]) + np.repeat(starts[who] - (ends - sizes[who]), sizes[who])
    return Sample(judgments.of_rows(rows), m, len(judgments.count))
