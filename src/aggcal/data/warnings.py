"""What the judgments themselves warn of, before anything is fitted."""

from __future__ import annotations

import numpy as np

from aggcal.data.alike import alike_warning, groups
from aggcal.data.base import AnyJudgments
from aggcal.data.graph import ComparisonGraph
from aggcal.errors import (
    AggcalWarning,
    DisconnectedWarning,
    DuplicateRowsWarning,
    OneAnnotatorWarning,
    PooledCriteriaWarning,
    SelfPairWarning,
    SeparationWarning,
    UnansweredWarning,
    count,
    some,
)


def data_warnings(judgments: AnyJudgments) -> list[AggcalWarning]:
    """List what a user should know about these judgments.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "a", "b"), ("bob", "b", "b"), ("bob", "b", "a")]
    >>> for warning in data_warnings(aggcal.read_judgments(rows)):
    ...     print(warning.what)
    1 self-pair was not fitted ('bob' compared 'b' with itself)
    1 duplicate row (every column equal) is counted separately
    """
    return [
        *_alike(judgments),
        *_rows(judgments),
        *_annotators(judgments),
        *_items(judgments.graph),
    ]


def _alike(judgments: AnyJudgments) -> list[AggcalWarning]:
    """Warn of ids that are likely one, which makes everything else that is said doubtful."""
    found: list[AggcalWarning] = []
    for kind, ids, counts in (
        ("item", judgments.item_ids, judgments.judgments_per_item),
        ("annotator", judgments.annotator_ids, judgments.judgments_per_annotator),
    ):
        if judgments.spelling is not None and judgments.spelling.normalize:
            continue
        alike = groups(ids)
        if alike and kind == "item":
            alike = _never_compared(alike, judgments)
        if alike:
            number = dict(zip(ids, counts.tolist(), strict=True))
            found.append(alike_warning(kind, alike, number))
    return found


def _never_compared(alike: list[list[str]], judgments: AnyJudgments) -> list[list[str]]:
    """Leave out groups of which two were compared: who did so saw two items."""
    whole = judgments.local
    if whole is None:
        return alike
    number = {label: k for k, group in enumerate(alike) for label in group}
    group = np.array([number.get(label, -1) for label in whole.item_ids.tolist()])
    left, right = group[whole.left], group[whole.right]
    compared = set(left[(left == right) & (left >= 0)].tolist())
    return [labels for k, labels in enumerate(alike) if k not in compared]


def _rows(judgments: AnyJudgments) -> list[AggcalWarning]:
    found: list[AggcalWarning] = []
    unfitted, counts = judgments.unfitted, judgments.unfitted.counts
    selves = counts.pop("self-pair", 0)
    if selves:
        mine = unfitted.reason == "self-pair"
        who, what = unfitted.annotator[mine], unfitted.left[mine]
        shown = [
            f"'{u}' compared '{i}' with itself" for u, i in zip(who[:3], what[:3], strict=True)
        ]
        more = f" and {len(who) - 3:,} more" if len(who) > 3 else ""  # noqa: PLR2004
        verb = "was" if selves == 1 else "were"
        found.append(
            SelfPairWarning(
                f"{count(selves, 'self-pair')} {verb} not fitted ({', '.join(shown)}{more})",
                "an item cannot be compared with itself: correct or remove these rows",
            )
        )
    if counts:
        aside = ", ".join(f"{n:,} {reason}" for reason, n in counts.items())
        lost = judgments.unjudged_ids
        only = f"; items {some(lost)} appear in no other row" if lost else ""
        mute = sorted(set(unfitted.annotator) - set(judgments.annotator_ids))
        silent = f"; annotators {some(mute)} gave no other answer" if mute else ""
        number = sum(counts.values())
        found.append(
            UnansweredWarning(
                f"{count(number, 'row')} without a usable answer {'is' if number == 1 else 'are'} "
                f"kept but not fitted ({aside}{only}{silent})",
                "nothing to do unless there are many",
            )
        )
    if judgments.n_duplicates:
        verb = "is" if judgments.n_duplicates == 1 else "are"
        found.append(
            DuplicateRowsWarning(
                f"{count(judgments.n_duplicates, 'duplicate row')} (every column equal) {verb} "
                "counted separately",
                "remove any that were recorded twice",
            )
        )
    if len(judgments.criteria) > 1:
        found.append(
            PooledCriteriaWarning(
                f"judgments of {len(judgments.criteria)} criteria were fitted as one "
                f"({some(judgments.criteria)})",
                "choose one with --criterion",
            )
        )
    return found


def _annotators(judgments: AnyJudgments) -> list[AggcalWarning]:
    if judgments.n_annotators > 1:
        return []
    return [
        OneAnnotatorWarning(
            f"there is one annotator only ({some(judgments.annotator_ids)})",
            "the consensus is that annotator's order: add others before you call it agreement",
        )
    ]


def _items(graph: ComparisonGraph) -> list[AggcalWarning]:
    found: list[AggcalWarning] = []
    sizes = graph.component_sizes
    if len(sizes) > 1:
        outside = list(graph.item_ids[graph.component > 0])
        found.append(
            DisconnectedWarning(
                f"the comparisons fall into {len(sizes):,} separate pieces (the largest has "
                f"{count(int(sizes[0]), 'item')}; outside it: {some(outside)})",
                "nothing relates items of different pieces, so ranks across them are a convention: "
                "ask for judgments between them",
            )
        )
    for items, what in ((graph.never_win, "never win"), (graph.never_lose, "never lose")):
        if items:
            verb = what if len(items) > 1 else what + "s"
            found.append(
                SeparationWarning(
                    f"{count(len(items), 'item')} {verb} ({some(items)})",
                    "the data do not say how far out they lie: "
                    "compare them with items near their own level",
                )
            )
    return found
