"""What the first screen says: which items could be the best, and how far to trust the study."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aggcal._core.records import dataclass
from aggcal._core.tables import Columns
from aggcal._core.text import in_words
from aggcal.advice.verdicts import GUESSING, ONE_SIDED, RELIABLE, REVERSED
from aggcal.errors import count
from aggcal.pages.numbers import percent

SOUND, CARE, NOT_READY = "sound", "care", "not-ready"
STATES = {SOUND: "Sound", CARE: "Use with care", NOT_READY: "Not ready"}
"""What the chip says."""

LITTLE, ENOUGH = 0.75, 0.90
"""Probabilities that two items taken at random are in the right order: below the first a study is
not ready, below the second to be used with care. Higher ones ask for more judgments than most
studies have; benchmarks/trust.py measures how often a sound study has the right leader."""
TOO_MANY_BAD = 1 / 3
"""Share of judgments by annotators named in problems from which a study is not ready: a larger one
lets a crowd of guessers through, a smaller one withholds what the fit still finds by itself."""

DIVIDED = "divided"
"""The finding that annotators form camps: the fit follows one, not always the larger."""
DIFFERENT_TASTES = "different-tastes"
"""The finding that they differ otherwise, or that it is open whether they form camps."""

_ORDERS = {
    DIVIDED: "Camps of annotators contradict each other; this order is that of one camp.",
    DIFFERENT_TASTES: "Annotators prefer different orders; this order is a compromise.",
}
_POSITION = "position-bias"
_SLIGHT = 0.15
"""How far from one half the share of left answers may be and still count as a lean: a larger one
lets judges through who hardly look, a smaller one condemns good judges for a habit."""
_MOST_NAMED = 3  # leaders whose names still fit into a heading


@dataclass(frozen=True)
class Trust:
    """How far to trust a study: ``sound``, ``care`` or ``not-ready``, and why, in sentences."""

    state: str
    reasons: tuple[str, ...]

    @property
    def words(self) -> str:
        """What the chip says."""
        return STATES[self.state]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"state": self.state, "reasons": list(self.reasons)}


def leaders(items: Columns) -> list[str]:
    """Return the items in first place: several if their scores are tied.

    Examples
    --------
    >>> leaders({"item": np.array(["a", "b"], dtype=object), "rank": np.array([1, 2])})
    ['a']
    """
    if "rank" not in items:
        return [str(item) for item in items["item"][:1]]
    rank = np.asarray(items["rank"], dtype=np.float64)
    return [str(item) for item in items["item"][rank == 1]]


def could_be_first(items: Columns, known: Sequence[int] | None = None) -> list[int]:
    """Return the rows of the items that could be the best; none where that is not known.

    Parameters
    ----------
    items
        As in ``items.csv``.
    known
        As in ``comparisons.json``; without it, the items whose sure ranks begin at 1.

    Examples
    --------
    >>> items = {"item": np.array(["a", "b", "c"], dtype=object), "rank": np.array([1, 2, 3]),
    ...          "sure_low": np.array([1, 1, 3])}
    >>> could_be_first(items), could_be_first(items, [0])
    ([0, 1], [0])
    """
    if "sure_low" not in items:
        return []
    low = np.asarray(items["sure_low"], dtype=np.float64)
    rows = np.flatnonzero(low == 1).tolist() if known is None else known
    return sorted(int(k) for k in rows if k < len(low))


def headline(
    summary: Mapping[str, Any], items: Columns, could: Sequence[int] | None = None
) -> tuple[str, str]:
    """Return the verdict: who is the best, or how many could be, and the rest of the sentence.

    Parameters
    ----------
    summary, items
        As in ``summary.json`` and ``items.csv``.
    could
        The rows of the items that could be the best; by default those of `could_be_first`.

    Examples
    --------
    >>> items = {"item": np.array(["a", "b", "c"], dtype=object), "rank": np.array([1, 2, 3]),
    ...          "sure_low": np.array([1, 1, 3])}
    >>> headline({}, items)
    ('a and b', 'could each be the best (95% confidence).')
    """
    if summary.get("converged") is False:
        return "", "No result: the fit did not converge."
    parts = n_components(summary)
    if parts > 1:
        apart = f"{in_words(parts)} groups of items were never compared with each other"
        return "", f"No common order: {apart}."
    could = could_be_first(items) if could is None else could
    return _best(summary, items, could) if could else _leads(leaders(items))


def _leads(first: Sequence[str]) -> tuple[str, str]:
    """Return what to say where nothing is known of how certain that is."""
    if len(first) > _MOST_NAMED:
        return "", f"No leader: {in_words(len(first))} items are tied for first place."
    verb = "leads" if len(first) == 1 else "are tied for first place"
    return _joined([_called(item) for item in first]), f"{verb}; certainty was not computed."


def _best(summary: Mapping[str, Any], items: Columns, could: Sequence[int]) -> tuple[str, str]:
    """Return what to say of those that could be the best: no one is named beside others."""
    claim = ((summary.get("guarantees") or {}).get("first") or {}).get("values") or {}
    sure = f"({100.0 * float(claim.get('level') or 0.95):g}% confidence)"
    names = [_called(str(items["item"][k])) for k in could]
    if len(names) == 1:
        return names[0], f"is the best {sure}."
    if len(names) == len(items["item"]):
        return "", f"No item stands out: any of the {in_words(len(names))} could be the best."
    if len(names) > _MOST_NAMED:
        return "", f"Any of {in_words(len(names))} items could be the best {sure}."
    return _joined(names), f"could each be the best {sure}."


def n_components(summary: Mapping[str, Any]) -> int:
    """Return how many connected components there are, as far as it is known."""
    values = ((summary.get("guarantees") or {}).get("certified_pairs") or {}).get("values") or {}
    counted = ((summary.get("check") or {}).get("counts") or {}).get("components")
    return int(values.get("components") or counted or 1)


def right_order(summary: Mapping[str, Any]) -> float | None:
    """Return the probability that two items taken at random are in the right order, if known."""
    known = ((summary.get("check") or {}).get("precision") or {}).get("right_order")
    return None if known is None else float(known)


def trust(
    summary: Mapping[str, Any],
    annotators: Columns,
    *,
    intervals: bool,
    leader_known: bool = True,
    differ: str = "",
) -> Trust:
    """Return how far to trust a study, and why.

    Parameters
    ----------
    summary
        As in ``summary.json``.
    annotators
        The columns of ``annotators.csv``.
    intervals
        Whether there are rank intervals.
    leader_known
        Whether there are items at all to speak of.
    differ
        What is said of annotators who differ, where a common ground is shown for them: camps are
        then no reason to wait.

    Examples
    --------
    >>> trust({"converged": False, "n_annotators": 3}, {}, intervals=True).words
    'Not ready'
    >>> check = {"findings": [], "precision": {"right_order": 0.93}}
    >>> trust({"converged": True, "n_annotators": 3, "check": check}, {}, intervals=True)
    Trust(state='sound', reasons=('No problem was found in the data.',))
    """
    problems = [
        each
        for each in (summary.get("check") or {}).get("findings", ())
        if each["severity"] == "problem"
    ]
    share = _named_share(problems, annotators)
    apart = [each for each in problems if not differ or each["code"] not in _ORDERS]
    bad = _not_ready(summary, apart, share)
    careful = [differ] if differ else []
    careful += _careful(summary, problems, share, intervals=intervals)
    if bad:
        return Trust(NOT_READY, (*bad, *careful))
    if careful or not leader_known:
        return Trust(CARE, tuple(careful))
    return Trust(SOUND, ("No problem was found in the data.",))


def _not_ready(
    summary: Mapping[str, Any], problems: list[Mapping[str, Any]], share: float
) -> list[str]:
    found = []
    if summary.get("converged") is False:
        found.append("The fit did not converge: do not use these numbers.")
    if n_components(summary) > 1:
        found.append(
            "Some items were never compared with the others, directly or through further items."
        )
    if int(summary.get("n_annotators", 0)) < 2:  # noqa: PLR2004
        found.append("There is only one annotator, so nothing shows whether others agree.")
    known = None if summary.get("converged") is False else right_order(summary)
    if known is not None and known < LITTLE:
        found.append(f"{_ordered(summary, known, LITTLE)}; at least {percent(LITTLE)} is needed.")
    found += [_ORDERS[each["code"]] for each in problems if each["code"] in _ORDERS]
    if share > TOO_MANY_BAD:
        found.append(f"Annotators with problems gave {percent(share)} of the judgments.")
    return found


def _careful(
    summary: Mapping[str, Any],
    problems: list[Mapping[str, Any]],
    share: float,
    *,
    intervals: bool,
) -> list[str]:
    found = []
    if problems:
        topics = [str(each.get("topic") or each["code"].replace("-", " ")) for each in problems]
        said = f"{count(len(problems), 'problem')} in the data: {_joined(topics)}."
        if 0.0 < share <= TOO_MANY_BAD:
            said += f" The annotators concerned gave {percent(share)} of the judgments."
        found.append(said)
    verdicts = summary.get("verdicts") or {}
    if sum(verdicts.values()) and not verdicts.get(RELIABLE):
        found.append("No annotator can be told from one who guesses.")
    codes = {each["code"] for each in (summary.get("check") or {}).get("findings", ())}
    if "perhaps-divided" in codes:
        found.append("There may be opposing groups of annotators: run a full check.")
    if "check" not in summary:
        found.append("The data were not checked.")
    if not intervals:
        found.append("Certainty was not computed.")
    known = right_order(summary)
    if known is not None and LITTLE <= known < ENOUGH:
        found.append(f"{_ordered(summary, known, ENOUGH)}; the target is {percent(ENOUGH)}.")
    return found


def _ordered(summary: Mapping[str, Any], known: float, target: float) -> str:
    """Say how probable the right order is; what rounds to the target and misses it says so."""
    said = percent(known)
    near = "just under " if said == percent(target) else ""
    which = " of one component" if n_components(summary) > 1 else ""
    return f"Two random items{which} are in the right order with probability {near}{said}"


def _named_share(problems: list[Mapping[str, Any]], annotators: Columns) -> float:
    """Return the share of judgments by annotators whom some problem names.

    Of those who follow a side only the ones who do so often: a good judge with a slight lean is
    named in the data check, and still judges well.
    """
    if "annotator" not in annotators:
        return 0.0
    given = np.asarray(annotators["n_judgments"], dtype=np.float64)
    named: set[str] = set()
    for each in problems:
        some = (each.get("details") or {}).get("annotators")
        if isinstance(some, list) and each.get("code") != _POSITION:
            named |= {str(one) for one in some}
    verdicts = annotators.get("verdict", np.full(len(given), "", dtype=object))
    known = annotators.get("left_share", np.full(len(given), np.nan))
    lean = np.abs(np.asarray(known, dtype=np.float64) - 0.5)
    bad = (verdicts == REVERSED) | (verdicts == GUESSING)
    bad |= (verdicts == ONE_SIDED) & ~(lean < _SLIGHT)
    if named:
        bad |= np.array([str(who) in named for who in annotators["annotator"]], dtype=bool)
    return float(given[bad].sum() / max(given.sum(), 1.0))


def _called(item: str) -> str:
    """Return what to call an item in a sentence: a number alone would be taken for one."""
    return f"Item {item}" if item.isdigit() else item


def _joined(words: list[str]) -> str:
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
