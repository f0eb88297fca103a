"""Annotators who gave too few judgments to estimate their reliability."""

from __future__ import annotations

import numpy as np

from aggcal.advice.check.findings import Affects, Finding, listed
from aggcal.advice.verdicts import FEW
from aggcal.data.judgments import Judgments
from aggcal.errors import count, option, some
from aggcal.registry import BTL


def few_judgments(judgments: Judgments) -> list[Finding]:
    """Report annotators with fewer than `aggcal.advice.verdicts.FEW` judgments.

    Examples
    --------
    >>> import aggcal
    >>> [f.code for f in few_judgments(aggcal.read_judgments([("ann", "a", "b")]))]
    ['few-judgments']
    """
    given = judgments.judgments_per_annotator
    few = judgments.annotator_ids[given < FEW]
    least = np.flatnonzero(given < FEW)
    if not len(few):
        return []
    share = len(few) / judgments.n_annotators
    return [
        Finding(
            "note",
            "few-judgments",
            f"Fewer than {FEW} judgments say little about an annotator's reliability, so the prior "
            f"decides it ({some(few)}).",
            f"Ask {'this annotator' if len(few) == 1 else 'them'} for more, or use "
            f"{option('method', BTL.name)} "
            "if nearly all annotators are like this.",
            {"annotators": listed(few), "number": len(few), "fewer_than": FEW},
            title=f"{count(len(few), 'annotator')} of {judgments.n_annotators:,} ({share:.0%}) "
            f"gave fewer than {FEW} judgments",
            why=f"So few say little about a reliability; the prior decides it ({some(few)}).",
            affects=Affects.by_annotators(judgments, least.tolist()),
        )
    ]
