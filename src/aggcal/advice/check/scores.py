"""Whether the table of scores fits the judgments: same items, same direction, another source."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import aligned
from aggcal.advice.check.findings import Affects, Finding, listed
from aggcal.aggregation.consensus import Consensus
from aggcal.calibration.draws import Knowledge, agreement
from aggcal.calibration.says import alike_warnings, direction_warnings, unmatched_warnings
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.errors import some

_FEWEST_TO_COMPARE = 3  # items: of two every correlation is 1 or -1


def unmatched(judgments: Judgments, scores: Scores) -> list[Finding]:
    """Report items that are in only one of the two tables.

    Examples
    --------
    >>> import aggcal
    >>> judgments = aggcal.read_judgments([("ann", "a", "b")])
    >>> [f.code for f in unmatched(judgments, aggcal.read_scores([("x", 1.0)]))]
    ['no-common-item']
    """
    judged, scored = set(judgments.item_ids), set(scores.item_ids)
    alike = [
        Finding.of_warning(warning)
        for warning in alike_warnings(judgments.item_ids, scores.item_ids)
    ]
    if not judged & scored:
        return [
            *alike,
            Finding(
                "problem",
                "no-common-item",
                f"The judged items ({some(judgments.item_ids)}) and the scored items "
                f"({some(scores.item_ids)}) have no id in common.",
                "Use the same ids in both tables.",
                {"judged": listed(judgments.item_ids), "scored": listed(scores.item_ids)},
                title="No item is in both tables",
                affects=Affects(items=len(judged | scored)),
            ),
        ]
    unscored, unjudged = sorted(judged - scored), sorted(scored - judged)
    details = {"without_score": listed(unscored), "without_judgment": listed(unjudged)}
    return alike + [
        replace(finding, details=details)
        for finding in map(Finding.of_warning, unmatched_warnings(unscored, unjudged))
    ]


def opposite(consensus: Consensus, model: FloatArray) -> list[Finding]:
    """Report scores that fall where the consensus rises, or that are all the same.

    ``model`` has the score of each item of the consensus, NaN where there is none.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", a, b) for a in "abcdef" for b in "abcdef" if a < b]
    >>> consensus = aggcal.aggregate(rows, warn=False)
    >>> [f.code for f in opposite(consensus, np.arange(6.0))]
    ['direction']
    """
    both = np.isfinite(model)
    number = int(both.sum())
    if number > 1 and np.ptp(model[both]) == 0.0:
        score = float(model[both][0])
        return [
            Finding(
                "problem",
                "constant-scores",
                f"The model gives all {number:,} judged items the score {score:g}. "
                "Calibration leaves such scores as they are, whatever the annotators say.",
                "Check that the right column was read as the score.",
                {"score": score},
                title="The model gives every item the same score",
                affects=Affects(items=number),
            )
        ]
    said = direction_warnings(consensus.scores[both], model[both])
    return [Finding.of_warning(warning) for warning in said]


def same_source(consensus: Consensus, scores: Scores, seed: int = 0) -> list[Finding]:
    """Report scores that agree with the consensus more than its uncertainty allows.

    Scores made without these judgments agree at best with what the annotators would settle on in
    the end, from which the consensus differs by chance; scores made from them share its errors. The
    exact consensus is drawn 1,000 times. The note is given where the scores have a third fewer
    pairs the other way round than any of these draws.

    Examples
    --------
    >>> import aggcal
    >>> from aggcal.simulation import simulate
    >>> study = simulate(items=30, annotators=10, judgments=200, seed=1)
    >>> consensus = aggcal.aggregate(study.judgments, warn=False)
    >>> made = aggcal.Scores(consensus.item_ids, np.exp(consensus.scores))
    >>> [f.code for f in same_source(consensus, made)]
    ['model-from-judgments']
    >>> same_source(consensus, aggcal.read_scores(study.scores))
    []
    """
    known = consensus.uncertainty
    model = aligned(scores.values, scores.item_ids, consensus.item_ids)
    both = np.flatnonzero(np.isfinite(model))
    if known is None or len(both) < _FEWEST_TO_COMPARE:
        return []
    covariance = known.covariance if len(both) == len(known.scores) else known.covariance.of(both)
    near = agreement(
        Knowledge(
            known.scores[both],
            covariance,
            model[both],
            degrees_of_freedom=known.degrees_of_freedom,
        ),
        seed,
    )
    if not near.plain:
        return []
    return [
        Finding(
            "note",
            "model-from-judgments",
            "The model's scores agree with the consensus more closely than independent scores "
            "could, given its uncertainty. They may have been made from these judgments; "
            "calibration assumes independent errors.",
            "Calibrate scores that were made without these judgments.",
            {"pairs": near.pairs, "reversed": near.against, "expected_at_least": near.least},
            title="The model's scores may have been made from these judgments",
            affects=Affects(items=len(both)),
        )
    ]
