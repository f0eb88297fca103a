"""Whether the table of scores fits the judgments: the same items, the same direction."""

from __future__ import annotations

import numpy as np

from aggcal.calibrators.matching import direction_warnings, unmatched_warnings
from aggcal.check.findings import Finding, listed
from aggcal.consensus import Consensus
from aggcal.errors import some
from aggcal.judgments import Judgments
from aggcal.scores import Scores
from aggcal.tables import aligned


def unmatched(judgments: Judgments, scores: Scores) -> list[Finding]:
    """Tell of items that are in only one of the two tables.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b")])
    >>> [f.code for f in unmatched(judgments, aggcal.read_scores([("x", 1.0)]))]
    ['no-common-item']
    """
    judged, scored = set(judgments.item_ids), set(scores.item_ids)
    if not judged & scored:
        return [
            Finding(
                "problem",
                "no-common-item",
                f"no item is in both tables (judged: {some(judgments.item_ids)}; scored: "
                f"{some(scores.item_ids)})",
                "use the same ids in both",
                {"judged": listed(judgments.item_ids), "scored": listed(scores.item_ids)},
            )
        ]
    unscored, unjudged = sorted(judged - scored), sorted(scored - judged)
    details = {"without_score": listed(unscored), "without_judgment": listed(unjudged)}
    return [
        Finding("problem", warning.code, warning.what, warning.remedy, details)
        for warning in unmatched_warnings(unscored, unjudged)
    ]


def opposite(consensus: Consensus, scores: Scores) -> list[Finding]:
    """Tell of scores that fall where the consensus rises.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", a, b) for a in "abcdef" for b in "abcdef" if a < b]
    >>> consensus = aggcal.aggregate(rows, warn=False)
    >>> worse = aggcal.read_scores([(item, k) for k, item in enumerate("abcdef")])
    >>> [f.code for f in opposite(consensus, worse)]
    ['direction']
    """
    model = aligned(scores.values, scores.item_ids, consensus.item_ids)
    both = np.isfinite(model)
    said = direction_warnings(consensus.scores[both], model[both])
    return [Finding.of_warning(warning) for warning in said]
