"""Leave annotators out of judgments, and say so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from aggcal.data.base import Unfitted
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError, TooLittleDataError, count, did_you_mean, some


def without(judgments: Judgments, annotators: Iterable[str]) -> Judgments:
    """Return the judgments of everybody else; notes say who was left out.

    Parameters
    ----------
    judgments
        All judgments.
    annotators
        Ids of those to leave out; one that gave no judgment is refused.

    Examples
    --------
    >>> import aggcal
    >>> both = aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a"), ("bob", "a", "b")])
    >>> without(both, ["bob"]).notes
    ("without 'bob' (2 judgments)",)
    >>> without(both, ["bop"])
    Traceback (most recent call last):
    aggcal.errors.OptionError: annotator 'bop' gave no judgment (did you mean 'bob'?); give ids ...
    """
    named = list(dict.fromkeys(map(str, annotators)))
    if not named:
        return judgments
    known = {name: k for k, name in enumerate(judgments.annotator_ids.tolist())}
    for name in named:
        if name not in known:
            near = did_you_mean(name, known)
            raise OptionError(
                f"annotator '{name}' gave no judgment{near}; give ids as they are in "
                f"{judgments.source}."
            )
    gone = np.isin(judgments.annotator, [known[name] for name in named])
    if gone.all():
        raise TooLittleDataError(
            f"without {some(named)} there is no judgment left; leave out fewer annotators."
        )
    lost = int(judgments.count[gone].sum())
    note = f"without {some(named)} ({count(lost, 'judgment')})"
    left = judgments.of_rows(~gone)
    items = judgments.n_items - left.n_items
    if items:
        note += f": {count(items, 'item')} that nobody else compared left out too"
    unfitted = _rest(judgments.unfitted, named)
    return replace(left, unfitted=unfitted, notes=(*judgments.notes, note))


def _rest(unfitted: Unfitted, named: list[str]) -> Unfitted:
    """Return the rows of the others that could not be fitted."""
    kept = ~np.isin(unfitted.annotator.astype(str), named)
    return Unfitted(
        unfitted.annotator[kept],
        unfitted.left[kept],
        unfitted.right[kept],
        unfitted.reason[kept],
        unfitted.count[kept],
        unfitted.location[kept],
        unfitted.detail[kept],
    )
