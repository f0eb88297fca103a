"""Annotators who answered faster than one can look."""

from __future__ import annotations

import numpy as np

from aggcal.advice.check.findings import Affects, Finding, annotators_named, listed, rounded
from aggcal.data.judgments import Judgments
from aggcal.errors import count

_SHARE = 0.25  # of the typical time: a higher one names the merely quick
_AT_ONCE = 0.5  # seconds in which nobody has read two items
_ENOUGH = 3  # times: of fewer there is no typical one


def typical_time(judgments: Judgments) -> tuple[float, float] | None:
    """Return the median time in seconds and the limit below which an annotator is too fast.

    None where there are no times, too few of them, or ones that nobody can take.

    Examples
    --------
    >>> import aggcal
    >>> typical_time(aggcal.read_judgments([("ann", "a", "b")])) is None
    True
    """
    seconds = judgments.seconds
    if seconds is None or np.isfinite(seconds).sum() < _ENOUGH:
        return None
    typical = float(np.nanmedian(seconds))
    return None if typical < _AT_ONCE else (typical, max(_SHARE * typical, _AT_ONCE))


def too_fast(judgments: Judgments) -> list[Finding]:
    """Report annotators who take less than a quarter of the usual time, or half a second.

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
    found = typical_time(judgments)
    if found is None:
        return [
            Finding(
                "note",
                "impossible-times",
                f"The median time of a judgment is {typical:.2g} seconds, which is too short to "
                "read two items. The times may be in another unit.",
                "Give the times in seconds.",
                {"usual_seconds": round(typical, 4)},
                title=f"The median time of a judgment is {typical:.2g} seconds",
                why="That is too short to read two items. The times may be in another unit.",
            )
        ]
    typical, limit = found
    fast = np.flatnonzero(np.nan_to_num(seconds, nan=np.inf) < limit)
    if not len(fast):
        return []
    fast = fast[np.argsort(seconds[fast], kind="stable")]
    ids = judgments.annotator_ids[fast]
    return [
        Finding(
            "note",
            "too-fast",
            f"'{ids[0]}' typically took {seconds[fast[0]]:.1f} seconds; the median annotator takes "
            f"{typical:.1f}.{annotators_named(ids)}",
            "Ask whether they looked at both items. Leave them out only if other findings name "
            "them too.",
            {
                "annotators": listed(ids),
                "number": len(fast),
                "seconds": rounded(seconds[fast]),
                "usual_seconds": round(typical, 4),
            },
            title=f"{count(len(fast), 'annotator')} of {judgments.n_annotators:,} typically "
            f"answered in under {limit:.1f} seconds",
            affects=Affects.by_annotators(judgments, fast.tolist()),
        )
    ]
