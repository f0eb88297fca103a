"""What the page tells, worked out from the columns of the result: tables and facts, no HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.sorting import in_order
from aggcal._core.tables import Columns, as_text
from aggcal._core.unmasked import distinct, median
from aggcal.advice.verdicts import (
    FEW,
    GUESSING,
    ONE_SIDED,
    PERHAPS_GUESSING,
    RELIABLE,
    REVERSED,
    TOO_FEW,
    UNCLEAR,
)
from aggcal.aggregation.uncertainty.shares import share_interval
from aggcal.pages.numbers import cut, decimals_for, decimals_of, number_text, signed
from aggcal.registry import METHODS
from aggcal.report import decisions, terms
from aggcal.report.annotators import KINDS
from aggcal.report.listing import SHORTEST_CUT, Column, Listing, Marks, Numbers, names

Result = TypeVar("Result")

EQUAL_ANNOTATORS = frozenset(name for name, known in METHODS.own.items() if not known.reliabilities)
"""Methods that take every annotator to be equally reliable."""

VERDICT_WORDS = {
    REVERSED: "reversed",
    GUESSING: "guessing",
    ONE_SIDED: "one-sided",
    PERHAPS_GUESSING: "perhaps guessing",
    TOO_FEW: "too few to tell",
    UNCLEAR: "unclear",
    RELIABLE: "reliable",
}
"""The verdicts on annotators, for people."""
VERDICT_MEANS = {
    REVERSED: "the answers are the opposite of what the others say",
    GUESSING: "the answers are indistinguishable from random ones",
    ONE_SIDED: "the answers follow one side of the screen",
    PERHAPS_GUESSING: "the answers are indistinguishable from random ones, but those of a careless "
    "annotator may look the same",
    TOO_FEW: f"fewer than {FEW} judgments each",
    UNCLEAR: "the data do not settle how reliable the answers are",
    RELIABLE: "the answers agree with the consensus more than by chance",
}
"""What each verdict says of those who have it."""

HINTS = {
    "rank": "rank in the consensus, 1 = highest",
    "sure_low": "best rank that is left, for all items together, whatever the true scores",
    "sure_high": "worst rank that is left, for all items together, whatever the true scores",
    "calibrated": "calibrated score, in the model's unit",
    "model": "score that the model gave",
    "change": "calibrated minus model",
    "consensus": "consensus score; no unit, 0 = average",
    "consensus_se": "standard error of the consensus score",
    "block": "items with the same number share one calibrated score",
    "n_judgments": "comparisons that the item was in",
    "win_rate": "share of its comparisons that the item won; a tie counts one half",
    "component": "connected component; items of different components were never compared, not even "
    "through others",
    "rank_uncontrolled": "rank in the order with nothing held equal",
    "common_ground": "score midway between the ends of the axis of disagreement, or the camps",
    "axis": "place on the axis of disagreement: end A puts items below 0 higher, end B those above",
    "verdict": "verdict of the data check; without one, of the reliability's interval",
    "reliability": "how strongly the answers follow the consensus",
    "agreement": "share of judgments that match the consensus order; a tie counts one half",
    "left_share": "how often the left item was chosen, of the decided judgments",
}
"""What each column means, for people."""

LONG = 4 * SHORTEST_CUT
"""Where names are cut in the short tables."""

_MOST_MOVED, _LARGEST_BLOCKS, _LEAST_JUDGED = 10, 5, 5  # rows: the table has all of them


WORDS = ("item", "score_source", "decided_by", *decisions.WORDS)
"""Columns of the items that are no numbers."""


def numbers(column: np.ndarray) -> FloatArray:
    """Return a column as floats; NaN for what is not there.

    Examples
    --------
    >>> numbers(np.array([1, None], dtype=object))
    array([ 1., nan])
    """
    return np.asarray(column, dtype=np.float64)


def item_listing(
    items: Columns,
    texts: Mapping[str, str] | None = None,
    digits: int | None = None,
    decided: Mapping[str, Any] | None = None,
) -> Listing:
    """Return the table of the result: rank, item, score, then where the score comes from.

    ``digits`` are those of the calibrated scores, where somebody said how many; ``decided`` what
    the summary says of decisions.

    Examples
    --------
    >>> item_listing({"item": np.array(["a"], dtype=object), "consensus": np.ones(1)}).n_rows
    1
    """
    found = {name: numbers(column) for name, column in items.items() if name not in WORDS}
    ends = (found.get("calibrated_low"), found.get("calibrated_high"))
    both = [found[name] for name in ("model", "calibrated") if name in found]
    fine = decimals_of(np.concatenate(both), *ends) if both else None
    rough = decimals_of(found["consensus"], found.get("consensus_low"), found.get("consensus_high"))
    if "win_rate" in found:
        found["win_rate"] = 100.0 * found["win_rate"]
    if "calibrated" in found and "model" in found:
        found["change"] = found["calibrated"] - found["model"]
    shown: list[Column | None] = [
        _column("rank", found, ("rank_low", "rank_high"), decimals=0),
        names("item", items["item"], texts),
        _column(
            "calibrated",
            found,
            ("calibrated_low", "calibrated_high"),
            decimals=fine if digits is None else digits,
        ),
        _column("model", found, decimals=fine),
        _column("change", found, decimals=fine if digits is None else digits, signed=True),
        decisions.scaled_column(items),
        _column("consensus", found, ("consensus_low", "consensus_high"), decimals=rough),
        _column("consensus_se", found, decimals=rough, title="± error"),
        _column("block", _shared(found), decimals=0),
        _column("n_judgments", found, decimals=0, title="judgments"),
        _column("win_rate", found, decimals=0, title="won", unit="%"),
        _column("sure_low", found, decimals=0, title="sure rank: best"),
        _column("sure_high", found, decimals=0, title="sure rank: worst"),
        _column("component", found, decimals=0),
        _column("rank_uncontrolled", found, decimals=0, title="rank as judged"),
        _column("common_ground", found, decimals=rough, title="common ground"),
        _column("axis", found, decimals=rough, signed=True, title="place on the axis"),
        *decisions.decided_columns(items, decided or {}),
    ]
    columns = [column for column in shown if column is not None]
    return Listing("items", "items.csv", columns)


def _shared(found: Mapping[str, FloatArray]) -> Mapping[str, FloatArray]:
    """Return the columns without blocks where each item has one of its own."""
    block = found.get("block")
    if block is None or len(distinct(block[np.isfinite(block)])) < np.isfinite(block).sum():
        return found
    return {name: column for name, column in found.items() if name != "block"}


def _column(
    name: str,
    found: Mapping[str, FloatArray],
    ends: tuple[str, str] = ("", ""),
    *,
    decimals: int | None,
    title: str = "",
    signed: bool = False,
    unit: str = "",
) -> Numbers | None:
    """Return a column of the items' table; None if nothing is known of it."""
    if name not in found or not np.isfinite(found[name]).any():
        return None
    return Numbers(
        name,
        title or name,
        found[name],
        found.get(ends[0]),
        found.get(ends[1]),
        hint=HINTS[name],
        decimals=decimals,
        signed=signed,
        unit=unit,
    )


def annotator_listing(summary: Mapping[str, Any], annotators: Columns) -> Listing:
    """Return the table of the annotators: the worst verdict first, then the most judgments.

    Examples
    --------
    >>> table = {"annotator": np.array(["u"], dtype=object), "reliability": np.array([-1.0]),
    ...          "n_judgments": np.array([4]), "agreement": np.array([0.25])}
    >>> [cell["text"] for cell in annotator_listing({"method": "hra-g"}, table).rows[0]]
    ['u', 'unclear', '', '−1.00', '25%', '4']
    """
    verdicts, given = marks(summary, annotators), numbers(annotators["n_judgments"])
    place = {word: k for k, word in enumerate(KINDS)}
    called = each_once(verdicts, lambda verdict: VERDICT_WORDS.get(verdict, verdict))
    worst = np.array(each_once(called, lambda word: place.get(word, len(place))), dtype=np.float64)
    order = np.lexsort((-given, worst))
    table = {name: column[order] for name, column in annotators.items()}
    words = [called[k] for k in order.tolist()]
    reasons = as_text(table.get("reason", np.full(len(order), "", dtype=object))).tolist()
    columns: list[Column] = [
        names("annotator", table["annotator"]),
        Marks("verdict", "verdict", words, HINTS["verdict"]),
        Marks("reason", "reason", each_once(reasons, lambda reason: cut(reason, LONG))),
    ]
    if summary["method"] not in EQUAL_ANNOTATORS:
        low, high = table.get("reliability_low"), table.get("reliability_high")
        value, hint = numbers(table["reliability"]), HINTS["reliability"]
        columns.append(
            Numbers("reliability", "reliability", value, low, high, hint=hint, decimals=2)
        )
    given, agree = numbers(table["n_judgments"]), numbers(table["agreement"])
    low, high = share_interval(np.nan_to_num(agree) * given, given)
    columns += [_share("agreement", agree, low, high)]
    further = terms.annotator_columns(summary, table)
    # Verdicts count answers, so the counted share stands beside a preference that was fitted.
    if "left_share" in table and np.isfinite(numbers(table["left_share"])).any():
        left = (numbers(table[f"left_share{end}"]) for end in ("", "_low", "_high"))
        columns += [_share("left_share", *left)]
    columns += [*further, Numbers("n_judgments", "judgments", given, decimals=0)]
    return Listing("annotators", "annotators.csv", columns)


def _share(key: str, value: FloatArray, low: FloatArray, high: FloatArray) -> Numbers:
    """Return a column of shares, in percent."""
    title, hint = "left" if key == "left_share" else key, HINTS[key]
    return Numbers(
        key, title, 100.0 * value, 100.0 * low, 100.0 * high, hint=hint, decimals=0, unit="%"
    )


def marks(summary: Mapping[str, Any], annotators: Columns) -> list[str]:
    """Return the verdict on each annotator; by the interval alone where a file has none.

    Examples
    --------
    >>> marks({}, {"reliability": np.array([1.0, 0.1, -1.0]),
    ...            "reliability_low": np.array([0.5, -0.2, -1.5]),
    ...            "reliability_high": np.array([1.5, 0.4, -0.5])})
    ['reliable', 'unclear', 'reversed']
    """
    if "verdict" in annotators:
        return list(as_text(annotators["verdict"]))
    border = summary.get("random_reliability") or 0.0
    if "reliability_low" not in annotators or "reliability_high" not in annotators:
        return [UNCLEAR for _ in annotators["reliability"]]
    low, high = numbers(annotators["reliability_low"]), numbers(annotators["reliability_high"])
    return [
        REVERSED if h < border else RELIABLE if a > border else UNCLEAR
        for a, h in zip(low, high, strict=True)
    ]


def each_once(texts: Sequence[str], work: Callable[[str], Result]) -> list[Result]:
    """Return what comes of each text, of which there are few but often: each is worked out once.

    Examples
    --------
    >>> each_once(["b", "a", "b"], str.upper)
    ['B', 'A', 'B']
    """
    known = {text: work(text) for text in set(texts)}
    return [known[text] for text in texts]


def changes(items: Columns, texts: Mapping[str, str] | None = None) -> dict[str, Any] | None:
    """Return what calibration did: how many rose and fell, the largest changes and blocks.

    Examples
    --------
    >>> found = changes({"item": np.array(["a", "b"], dtype=object), "rank": np.array([1, 2]),
    ...                  "model": np.array([1.0, 3.0]), "calibrated": np.array([2.0, 2.0]),
    ...                  "block": np.array([1, 1])})
    >>> found["up"], found["down"], found["moved"][0]["why"]
    (1, 1, 'the annotators rank it 1, the model 2 of 2')
    """
    if "calibrated" not in items or "model" not in items:
        return None
    model, calibrated = numbers(items["model"]), numbers(items["calibrated"])
    done = np.flatnonzero(np.isfinite(model) & np.isfinite(calibrated))
    if not done.size:
        return None
    shift = (calibrated - model)[done]
    tiny = 1e-9 * max(1e-300, float(np.abs(model[done]).max()))
    decimals = decimals_for(np.concatenate([model[done], calibrated[done]]))
    # Both ranks count the items that have a score, or they could not be compared.
    own_rank = np.empty(done.size, dtype=np.int64)
    own_rank[in_order(-model[done])[0]] = np.arange(1, done.size + 1)
    block = numbers(items["block"])[done]
    among = "" if done.size == len(model) else " with a score"
    moved = []
    for k in in_order(-np.abs(shift))[0][:_MOST_MOVED]:
        if abs(shift[k]) <= tiny:
            break
        mates = int((block == block[k]).sum())
        why = f"the annotators rank it {k + 1:,}, the model {own_rank[k]:,} of {done.size:,}{among}"
        if mates > 2:  # noqa: PLR2004  # itself and one more are what the ranks say already
            why += f"; it shares its score with {mates - 1:,} neighbours in block {block[k]:.0f}"
        name = str(items["item"][done[k]])
        moved.append(
            {
                "item": cut(name, LONG),
                "says": cut((texts or {}).get(name, ""), LONG),
                "model": number_text(float(model[done[k]]), decimals),
                "calibrated": number_text(float(calibrated[done[k]]), decimals),
                "change": signed(float(shift[k]), decimals),
                "why": why,
            }
        )
    return {
        "up": int((shift > tiny).sum()),
        "down": int((shift < -tiny).sum()),
        "same": int((np.abs(shift) <= tiny).sum()),
        "moved": moved,
        "blocks": _blocks(items, done, block, decimals),
    }


def _blocks(
    items: Columns, done: np.ndarray, block: FloatArray, decimals: int | None
) -> list[dict[str, Any]]:
    """Return the largest blocks: where they are in the order and which value they share."""
    labels, first, size = np.unique(block, return_index=True, return_counts=True)
    rank = numbers(items["rank"])[done]
    found = []
    for k in np.argsort(-size, kind="stable")[:_LARGEST_BLOCKS]:
        if np.isnan(labels[k]) or size[k] == 1:
            continue
        inside = rank[block == labels[k]]
        found.append(
            {
                "block": f"{labels[k]:.0f}",
                "size": f"{size[k]:,}",
                "ranks": f"{inside.min():,.0f} to {inside.max():,.0f}",
                "value": number_text(float(items["calibrated"][done[first[k]]]), decimals),
            }
        )
    return found


def certainty(items: Columns) -> dict[str, Any] | None:
    """Return how wide the likely ranks are; None if they are not known.

    Examples
    --------
    >>> certainty({"rank_low": np.array([1, 1, 3]), "rank_high": np.array([2, 2, 3])})
    {'median': 2, 'exact': 1, 'n': 3, 'top': 2}
    """
    if "rank_low" not in items:
        return None
    low, high = numbers(items["rank_low"]), numbers(items["rank_high"])
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return None
    wide = (high - low + 1)[known]
    return {
        "median": int(median(wide)),
        "exact": int((wide == 1).sum()),
        "n": int(known.sum()),
        "top": int((low[known] == 1).sum()),
    }


def coverage(items: Columns) -> dict[str, Any] | None:
    """Return how many judgments the items had, and which had fewest.

    Examples
    --------
    >>> coverage({"item": np.array(["a", "b"], dtype=object), "n_judgments": np.array([5, 2])})
    {'least': 2, 'median': 3.5, 'most': 5, 'fewest': [('b', 2), ('a', 5)]}
    """
    if "n_judgments" not in items or not len(items["item"]):
        return None
    n = numbers(items["n_judgments"])
    fewest = np.argsort(n, kind="stable")[:_LEAST_JUDGED]
    return {
        "least": int(n.min()),
        "median": median(n),
        "most": int(n.max()),
        "fewest": [(cut(str(items["item"][k]), LONG), int(n[k])) for k in fewest],
    }
