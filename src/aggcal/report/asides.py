"""What the first screen says beside the verdict, each with the place that says more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aggcal.advice.verdicts import GUESSING, ONE_SIDED, REVERSED
from aggcal.errors import count

if TYPE_CHECKING:
    from aggcal.report.report import Report


def asides(report: Report) -> list[tuple[str, str]]:
    """Return sentences without their full stop, each with the part of the page that it leads to.

    Examples
    --------
    >>> import numpy as np
    >>> from aggcal.report.report import Report
    >>> items = {"item": np.array(["a"], dtype=object), "consensus": np.zeros(1)}
    >>> asides(Report({"method": "own", "warnings": [], "n_items": 1, "n_annotators": 1}, items))
    []
    """
    found = []
    claims = report.summary.get("guarantees") or {}
    told = ((claims.get("certified_pairs") or {}).get("values") or {}).get("certified")
    if report.tiers is not None and report.tiers > 1:
        found.append((count(report.tiers, "clear tier"), "#method"))
    elif told == 0:
        found.append(("no two items can be told apart", "#method"))
    if report.control.known:
        found.append((f"with {report.control.names} held equal", "#held"))
    if report.ground.found:
        found.append((report.ground.short, "#common"))
    found += _doubtful(report)
    for word, one, many in (
        (REVERSED, "annotator answers in reverse", "annotators answer in reverse"),
        (GUESSING, "annotator guesses", "annotators guess"),
        (ONE_SIDED, "annotator follows one side", "annotators follow one side"),
    ):
        if report.verdicts.get(word):
            found.append((count(report.verdicts[word], one, many), "#annotators"))
    return [*found, *([("what to ask next", "#next")] if report.suggestions else [])]


def _doubtful(report: Report) -> list[tuple[str, str]]:
    """Say which scores to look at again: those near a boundary, else the least certain ones."""
    if report.decided.known.get("grades"):
        number, n = len(report.decided.doubtful), report.rows.n
        said = f"{number:,} of {count(n, 'mark')} {'is' if number == 1 else 'are'} doubtful"
        return [(said if number else "no mark is doubtful", "#doubtful" if number else "#results")]
    return [("least certain scores", "#doubtful")] if report.widest else []
