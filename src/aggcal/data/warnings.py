"""What the judgments themselves warn of, before anything is fitted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import numpy as np

from aggcal.data.alike import alike_warning, groups
from aggcal.data.base import LONE, NO_RATING, UNNAMED, AnyJudgments
from aggcal.data.graph import ComparisonGraph
from aggcal.data.weights import heavy
from aggcal.errors import (
    AggcalWarning,
    DisconnectedWarning,
    DuplicateRowsWarning,
    OneAnnotatorWarning,
    PooledCriteriaWarning,
    SelfPairWarning,
    SeparationWarning,
    UnansweredWarning,
    WeightsWarning,
    count,
    option,
    some,
)

_UNSAID = ContextVar("unsaid", default=False)


@contextmanager
def unsaid() -> Iterator[None]:
    """Let fits of parts of a study not look for what is wrong with them: nobody would read it.

    Examples
    --------
    >>> import aggcal
    >>> with unsaid():
    ...     data_warnings(aggcal.read_judgments([("ann", "a", "b")]))
    []
    """
    before = _UNSAID.set(True)
    try:
        yield
    finally:
        _UNSAID.reset(before)


def data_warnings(judgments: AnyJudgments) -> list[AggcalWarning]:
    """List what a user should know about these judgments.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "b", "b"), ("bob", "b", "a")]
    >>> for warning in data_warnings(aggcal.read_judgments(rows)):
    ...     print(warning.what)
    1 row compares an item with itself. It was not fitted: 'bob' compared 'b' with itself.
    """
    if _UNSAID.get():
        return []
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
    counts = judgments.unfitted.counts
    if selves := counts.pop("self-pair", 0):
        found.append(_self_pairs(judgments, selves))
    if counts:
        found += _unanswered(judgments)
    if judgments.recorded_twice:
        found.append(
            DuplicateRowsWarning(
                count(judgments.n_duplicates, "duplicate row"),
                "A row that equals another in every column is counted as a judgment of its own.",
                "Remove any that were recorded twice.",
                judgments=judgments.n_duplicates,
            )
        )
    if len(judgments.criteria) > 1:
        found.append(
            PooledCriteriaWarning(
                f"Judgments by {len(judgments.criteria)} criteria were fitted together",
                f"The order mixes what they measure: {some(judgments.criteria)}.",
                f"Choose one with {option('criterion')}.",
                judgments=judgments.n_judgments,
            )
        )
    return found


def weight_warnings(judgments: AnyJudgments) -> list[AggcalWarning]:
    """Warn of weights that may not be numbers of answers; where an engine has the rows, not.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b", "left", 3), ("bob", "a", "c", "right", 1)]
    >>> weight_warnings(aggcal.read_judgments(rows))[0].title
    'Weights may not be numbers of answers'
    """
    found = None if judgments.local is None else heavy(judgments.local)
    if found is None:
        return []
    rows, answers = count(judgments.n_judgments, "answer"), f"{found.counted:,.0f}"
    return [
        WeightsWarning(
            "Weights may not be numbers of answers",
            f"Weights are taken for numbers of answers, so that {rows} count as {answers}. These "
            "weights do not look like numbers of answers; then scores lie too far apart, and "
            "intervals may be somewhat narrow.",
            f"If they say how much an answer matters, divide all of them by {found.divisor:.3g}; "
            "if they are numbers of answers, there is nothing to do.",
            judgments=judgments.n_judgments,
        )
    ]


def _self_pairs(judgments: AnyJudgments, number: int) -> SelfPairWarning:
    unfitted = judgments.unfitted
    mine = unfitted.reason == "self-pair"
    who, what = unfitted.annotator[mine], unfitted.left[mine]
    shown = [f"'{u}' compared '{i}' with itself" for u, i in zip(who[:3], what[:3], strict=True)]
    more = f" and {len(who) - 3:,} more" if len(who) > 3 else ""  # noqa: PLR2004
    return SelfPairWarning(
        f"{count(number, 'row compares', 'rows compare')} an item with itself",
        f"{'It was' if number == 1 else 'They were'} not fitted: {', '.join(shown)}{more}.",
        "Correct or remove these rows.",
        items=np.unique(what),
        annotators=np.unique(who),
        judgments=number,
    )


def _unanswered(judgments: AnyJudgments) -> list[AggcalWarning]:
    """Say which rows are not fitted; a lone rating is an answer, a blank one may be no question."""
    unfitted = judgments.unfitted
    mine = unfitted.reason != "self-pair"
    lone, blank = unfitted.detail == LONE, unfitted.detail == NO_RATING
    found: list[AggcalWarning] = []
    for rows in (mine & ~lone & ~blank, mine & lone, mine & blank):
        number = int(unfitted.count[rows].sum())
        if not number:
            continue
        shown = {*unfitted.left[rows], *unfitted.right[rows]}
        lost = [item for item in judgments.unjudged_ids if item in shown]
        mute = sorted(set(unfitted.annotator[rows]) - set(judgments.annotator_ids))
        only = f" Items that appear in no other row: {some(lost)}." if lost else ""
        remedy = "Nothing to do unless there are many."
        if (rows & lone).any():
            holds = count(
                number, "ranking or set of ratings holds", "rankings or sets of ratings hold"
            )
            title = f"{holds} fewer than two items"
            said = f"Nothing in {'it' if number == 1 else 'them'} can be compared, so "
            said += f"{'it is' if number == 1 else 'they are'} not fitted."
            silent = f" Annotators with nothing else: {some(mute)}." if mute else ""
            remedy = "Have these annotators judge further items."
        elif (rows & blank).any():
            title = count(number, "rating is missing", "ratings are missing")
            said = "Only the ratings that were given are fitted."
            silent = f" Annotators who gave none: {some(mute)}." if mute else ""
            remedy = "Nothing to do if not everybody was to rate every item."
        else:
            why = unfitted.reason
            each = {one: int(unfitted.count[rows & (why == one)].sum()) for one in {*why[rows]}}
            aside = ", ".join(f"{n:,} {reason}" for reason, n in sorted(each.items()))
            title = f"{count(number, 'row has', 'rows have')} no usable answer"
            said = f"{'It is' if number == 1 else 'They are'} kept but not fitted ({aside})."
            silent = f" Annotators who gave no other answer: {some(mute)}." if mute else ""
        found.append(
            UnansweredWarning(
                title,
                said + only + silent,
                remedy,
                items=lost,
                annotators=mute,
                judgments=number,
            )
        )
    return found


def _annotators(judgments: AnyJudgments) -> list[AggcalWarning]:
    if judgments.n_annotators > 1:
        return []
    if list(judgments.annotator_ids) == [UNNAMED]:
        return [
            OneAnnotatorWarning(
                "No annotators are named",
                "Nothing shows whether people agree.",
                "Add a column with the annotator of each judgment if there is one.",
                judgments=judgments.n_judgments,
            )
        ]
    return [
        OneAnnotatorWarning(
            "There is only one annotator",
            f"The consensus is the opinion of {some(judgments.annotator_ids)}.",
            "Add other annotators before you call it agreement.",
            annotators=judgments.annotator_ids,
            judgments=judgments.n_judgments,
        )
    ]


def _items(graph: ComparisonGraph) -> list[AggcalWarning]:
    found: list[AggcalWarning] = []
    sizes = graph.component_sizes
    if len(sizes) > 1:
        outside = list(graph.item_ids[graph.component > 0])
        found.append(
            DisconnectedWarning(
                f"The comparisons form {len(sizes):,} connected components",
                "No comparison links them, so ranks across components are arbitrary. The "
                f"largest has {count(int(sizes[0]), 'item')}; outside it: {some(outside)}.",
                "Ask for judgments between the components.",
                items=outside,
            )
        )
    if lost := graph.never_win:
        found.append(_separation(lost, "lost", "deficit", "low-ranked"))
    if won := graph.never_lose:
        found.append(_separation(won, "won", "lead", "top"))
    return found


def _separation(items: list[str], did: str, gap: str, level: str) -> SeparationWarning:
    """Warn of items that won or lost every comparison."""
    one = len(items) == 1
    return SeparationWarning(
        f"{some(items) if one else count(len(items), 'item')} {did} every comparison",
        f"{'Its' if one else 'Their'} {gap if one else gap + 's'} cannot be estimated"
        f"{'' if one else f': {some(items)}'}.",
        f"Compare {'it' if one else 'them'} with other {level} items.",
        items=items,
    )
