"""Annotators who answered faster than one can look."""

from __future__ import annotations

import numpy as np

from aggcal.advice.check.findings import Finding, listed, rounded
from aggcal.data.judgments import Judgments
from aggcal.errors import count, some

_SHARE = 0.25  # of the typical time: a higher one names the merely quick
_AT_ONCE = 0.5  # seconds in which nobody has read two items
_ENOUGH = 3  # times: of fewer there is no typical one


def too_fast(judgments: Judgments) -> list[Finding]:
    """Tell of annotators who take less than a quarter of the usual time, or half a second.

    Examples
    --------
    >>> import aggcal
    >>> from dataclasses import replace
    >>> judgments = aggcal.read_judgments([(u, "a", "b") for u in ("ann", "bob", "eve")])
    >>> timed = replace(judgments, seconds=np.array([8.0, 9.0, 1.0]))
    >>> too_fast(timed)[0].details["annotators"]
    ['eve']
    """
    seconds = judgments.seconds
    if seconds is None or np.isfinite(seconds).sum() < _ENOUGH:
        return []
    typical = float(np.nanmedian(seconds))
    if typical < _AT_ONCE:
        return [
            Finding(
                "note",
                "impossible-times",
                f"the usual time of a judgment is {typical:.2g} seconds, which nobody can do",
                "the times may be in another unit: give them in seconds",
                {"usual_seconds": round(typical, 4)},
            )
        ]
    limit = max(_SHARE * typical, _AT_ONCE)
    fast = np.flatnonzero(np.nan_to_num(seconds, nan=np.inf) < limit)
    if not len(fast):
        return []
    fast = fast[np.argsort(seconds[fast], kind="stable")]
    ids = judgments.annotator_ids[fast]
    return [
        Finding(
            "note",
            "too-fast",
            f"{count(len(fast), 'annotator')} of {judgments.n_annotators:,} typically answered "
            f"in under {limit:.1f} seconds, where {typical:.1f} seconds are usual "
            f"({some(ids)}; the fastest took {seconds[fast[0]]:.1f} seconds)",
            "ask whether they looked at both items; if other findings name them too, delete their "
            "rows",
            {
                "annotators": listed(ids),
                "number": len(fast),
                "seconds": rounded(seconds[fast]),
                "usual_seconds": round(typical, 4),
            },
        )
    ]
