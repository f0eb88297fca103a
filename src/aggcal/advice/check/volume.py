"""Annotators who gave too few judgments to be told apart."""

from __future__ import annotations

from aggcal.advice.check.findings import Finding, listed
from aggcal.advice.verdicts import FEW
from aggcal.data.judgments import Judgments
from aggcal.errors import count, some


def few_judgments(judgments: Judgments) -> list[Finding]:
    """Tell of annotators with fewer than `aggcal.advice.verdicts.FEW` judgments.

    Examples
    --------
    >>> import aggcal
    >>> [f.code for f in few_judgments(aggcal.read_judgments([("ann", "a", "b")]))]
    ['few-judgments']
    """
    given = judgments.judgments_per_annotator
    few = judgments.annotator_ids[given < FEW]
    if not len(few):
        return []
    share = len(few) / judgments.n_annotators
    return [
        Finding(
            "note",
            "few-judgments",
            f"{count(len(few), 'annotator')} of {judgments.n_annotators:,} ({share:.0%}) gave "
            f"fewer than {FEW} judgments ({some(few)})",
            "too few to tell how reliable they are, so the fit takes them for average: ask them "
            "for more, or use --method btl if nearly all are like this",
            {"annotators": listed(few), "number": len(few), "fewer_than": FEW},
        )
    ]
