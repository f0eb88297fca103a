"""The first screen: which items could be the best, how far to trust the study, what to read on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.text import in_words
from aggcal.advice.verdicts import GUESSING, ONE_SIDED, RELIABLE, REVERSED
from aggcal.errors import count, sentence
from aggcal.pages.document import Block, Chip, Group, Line, Link, Part, Strong, Text
from aggcal.pages.numbers import cut, percent
from aggcal.report import ground
from aggcal.report.run import Run, findings, joined

LITTLE, ENOUGH = 0.75, 0.90
"""Probabilities that two items taken at random are in the right order: below the first a study is
not ready, below the second to be used with care. Higher ones ask for more judgments than most
studies have; benchmarks/trust.py measures how often a sound study has the right leader."""
TOO_MANY_BAD = 1 / 3
"""Share of judgments by annotators named in problems from which a study is not ready: a larger one
lets a crowd of guessers through, a smaller one withholds what the fit still finds by itself."""

MOST_NAMED = 3
"""Leaders and contenders whose names still fit into a heading."""
_NAME = 40  # characters of each
_ORDERS = {
    "divided": "camps of annotators contradict each other, and this order is that of one camp",
    "different-tastes": "annotators prefer different orders, and this one is a compromise",
}
"""What the order is where annotators differ, by the code of the finding."""
_SLIGHT_LEAN = 0.15
"""How far from one half the share of left answers may be and still count as a lean: a larger one
lets judges through who hardly look, a smaller one condemns good judges for a habit."""
_FEWEST = 10  # items of which the least certain are listed


def about(run: Run) -> Line:
    """Return what was studied: the title, the question, how many judgments there are."""
    s = run.summary
    question = (f" · “{s['question']}”",) if s.get("question") else ()
    size = count(int(s["n_judgments"]), "rating" if "ratings" in s else "judgment")
    if s.get("title"):
        items, who = count(int(s["n_items"]), "item"), count(int(s["n_annotators"]), "annotator")
        size += f" of {items} by {who}"
    if s.get("criteria"):
        size += f" · criterion: {', '.join(s['criteria'])}"
    return (Strong(run.title), *question, f" · {size}")


def lead(run: Run) -> list[Block]:
    """Return how far to trust the study and why, in one sentence, and where to read on."""
    trusted, links = trust(run), list[Part]()
    for said, to in _asides(run, trusted):
        links += [" · ", Link(said[:1].upper() + said[1:], to)]
    more = [Text(tuple(links[1:]), "asides", only="page")] if links else []
    return [Group([Text((Chip(trusted.kind, trusted.words), f" {trusted.says}")), *more], "trust")]


# Which items could be the best --------------------------------------------------------------------


def headline(run: Run) -> Line:
    """Return the verdict: who is the best, or who else could be.

    Examples
    --------
    >>> items = {"item": np.array(["a", "b", "c"], dtype=object), "rank": np.array([1, 2, 3]),
    ...          "sure_low": np.array([1, 1, 3])}
    >>> headline(Run({}, items))
    (Strong(text='a'), ' leads; ', Strong(text='b'), ' may be ahead (95% confidence).')
    """
    if run.summary.get("converged") is False:
        return "No result: the fit did not converge."
    if (components := n_components(run)) > 1:
        apart = f"{in_words(components)} groups of items were never compared with each other"
        return f"No common order: {apart}."
    return _sure(run) if run.could_be_first else _unsure(run.leaders)


def _unsure(first: list[str]) -> Line:
    """Say who came first, where nothing is known of how certain that is."""
    if len(first) > MOST_NAMED:
        return f"No leader: {in_words(len(first))} items share first place."
    verb = "leads" if len(first) == 1 else "share first place"
    return (_names(first), f" {verb}; certainty was not computed.")


def _sure(run: Run) -> Line:
    """Say which items could be the best: by their names where they are few."""
    could = [run.names[k] for k in run.could_be_first]
    sure = f"({100.0 * float(run.claimed('first', 'level') or 0.95):g}% confidence)"
    if len(could) == 1:
        return (_names(could), f" is the best {sure}.")
    if len(could) == len(run.names):
        return f"No item stands out: the best could be any of the {in_words(len(could))}."
    leading = [name for name in could if name in run.leaders][: MOST_NAMED + 1]
    others = [name for name in could if name not in leading]
    verb = "leads" if len(leading) == 1 else "share first place"
    if len(leading) > 0 and others and len(could) <= MOST_NAMED:
        return (_names(leading), f" {verb}; ", _names(others), f" may be ahead {sure}.")
    best = f"The best is one of {in_words(len(could))} {sure}"
    if 0 < len(leading) <= MOST_NAMED:
        return (f"{best}; ", _names(leading), f" {verb}.")
    return f"{best}."


def _names(names: list[str]) -> Strong:
    return Strong(joined([cut(f"Item {k}" if k.isdigit() else k, _NAME) for k in names]))


def n_components(run: Run) -> int:
    """Return how many connected components there are, as far as it is known."""
    counted = ((run.summary.get("check") or {}).get("counts") or {}).get("components")
    return int(run.claimed("certified_pairs", "components") or counted or 1)


# How far to trust the study -----------------------------------------------------------------------


@dataclass(frozen=True)
class Trust:
    """How far to trust a study: in words and with a sign, and why."""

    words: str
    kind: str
    reasons: tuple[str, ...]

    @property
    def says(self) -> str:
        """Why, in one sentence."""
        return sentence("; ".join(self.reasons))


def trust(run: Run) -> Trust:
    """Return how far to trust a study, and why.

    Camps are no reason to wait where a common ground is shown for them.

    Examples
    --------
    >>> items = {"item": np.array(["a", "b"], dtype=object), "rank_low": np.array([1, 1])}
    >>> trust(Run({"converged": False, "n_annotators": 3}, items)).words
    'Not ready'
    >>> check = {"findings": [], "precision": {"right_order": 0.93}}
    >>> trust(Run({"converged": True, "n_annotators": 3, "check": check}, items)).says
    'No problem was found in the data.'
    """
    differ = ground.common_ground(run).order
    share = _share_of_bad(run)
    if not_ready := tuple(_not_ready(run, share, bridged=bool(differ))):
        return Trust("Not ready", "bad", not_ready)
    if with_care := (*filter(None, [differ]), *_with_care(run, share)):
        return Trust("Use with care", "care", with_care)
    return Trust("Sound", "good", ("no problem was found in the data",))


def _not_ready(run: Run, share: float, *, bridged: bool) -> Iterator[str]:
    summary = run.summary
    if summary.get("converged") is False:
        yield "the fit did not converge: do not use these numbers"
    if n_components(run) > 1:
        yield "some items were never compared with the others, directly or through further items"
    if int(summary.get("n_annotators", 0)) < 2:  # noqa: PLR2004
        yield "there is only one annotator, so nothing shows whether others agree"
    ordered = right_order(summary)
    if summary.get("converged") is not False and ordered is not None and ordered < LITTLE:
        yield f"only {_ordered(run, ordered)}"
    if not bridged:
        yield from (_ORDERS[each["code"]] for each in _problems(summary) if each["code"] in _ORDERS)
    if share > TOO_MANY_BAD:
        yield f"annotators with problems gave {percent(share)} of the judgments"


def _with_care(run: Run, share: float) -> Iterator[str]:
    summary = run.summary
    problems, verdicts = _problems(summary), summary.get("verdicts") or {}
    if problems:
        topics = joined([str(each["topic"]) for each in problems])
        said = f"{count(len(problems), 'problem')} in the data ({topics})"
        if share > 0.0:
            said += f", by annotators who gave {percent(share)} of the judgments"
        yield said
    if sum(verdicts.values()) and not verdicts.get(RELIABLE) and not run.equal:
        yield "no annotator is shown to do better than guessing"
    if not run.checked:
        yield "the data were not checked"
    if "rank_low" not in run.items:
        yield "certainty was not computed"
    ordered = right_order(summary)
    if ordered is not None and LITTLE <= ordered < ENOUGH:
        yield _ordered(run, ordered)


def _problems(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the problems that the check found."""
    found = (summary.get("check") or {}).get("findings", ())
    return [each for each in found if each["severity"] == "problem"]


def right_order(summary: Mapping[str, Any]) -> float | None:
    """Return the probability that two items taken at random are in the right order, if known."""
    known = ((summary.get("check") or {}).get("precision") or {}).get("right_order")
    return None if known is None else float(known)


def _ordered(run: Run, known: float) -> str:
    """Say which share of the pairs is in the right order, never rounded up."""
    which = " of one component" if n_components(run) > 1 else ""
    return f"{int(100.0 * known)}% of pairs{which} are expected to be in the right order"


def _share_of_bad(run: Run) -> float:
    """Return the share of judgments by annotators whom some problem names.

    Of those who follow a side only the ones who do so often: a good judge with a slight lean is
    named in the data check, and still judges well.
    """
    people = run.annotators
    if "annotator" not in people:
        return 0.0
    named: set[str] = set()
    for each in _problems(run.summary):
        who = (each.get("details") or {}).get("annotators")
        if isinstance(who, list) and each["code"] != "position-bias":
            named |= set(map(str, who))
    given = np.asarray(people["n_judgments"], dtype=np.float64)
    verdicts = np.asarray(people.get("verdict", np.full(len(given), "")), dtype=object)
    left = np.asarray(people.get("left_share", np.full(len(given), np.nan)), dtype=np.float64)
    bad = np.array([str(who) in named for who in people["annotator"]], dtype=bool)
    bad |= (verdicts == REVERSED) | (verdicts == GUESSING)
    bad |= (verdicts == ONE_SIDED) & ~(np.abs(left - 0.5) < _SLIGHT_LEAN)
    return float(given[bad].sum() / max(given.sum(), 1.0))


# Where to read on ---------------------------------------------------------------------------------


def _asides(run: Run, trusted: Trust) -> Iterator[tuple[str, str]]:
    """Yield what else there is to know, each with the part of the page that says more."""
    summary = run.summary
    if findings(summary) and trusted.kind != "good":
        yield "what to do", "quality"
    if run.decided.get("says"):
        number = run.words("uncertain").count("True")
        yield (count(number, "doubtful mark") if number else "decisions"), "decisions"
    elif len(run.names) >= _FEWEST and run.number(f"{run.score}_low") is not None:
        yield "least certain scores", "doubtful"
    tiers = run.claimed("tiers", "tiers")
    if tiers is not None and tiers > 1:
        yield count(tiers, "clear tier"), "method"
    elif run.claimed("certified_pairs", "certified") == 0:
        yield "no two items can be told apart", "method"
    yield from _other_orders(run)
    verdicts = Counter(run.verdicts)
    for word, one, many in _ACCUSED:
        if verdicts[word]:
            yield count(verdicts[word], one, many), "annotators"
    if run.has_matrix:
        yield "who beat whom", "matrix"
    if (summary.get("suggestions") or {}).get("pairs"):
        yield "what to ask next", "next"


_ACCUSED = (
    (REVERSED, "annotator seems to have reversed the question",
     "annotators seem to have reversed the question"),
    (GUESSING, "annotator guesses", "annotators guess"),
    (ONE_SIDED, "annotator follows one side", "annotators follow one side"),
)  # fmt: skip


def _other_orders(run: Run) -> Iterator[tuple[str, str]]:
    if held := ground.held_names(run):
        yield f"with {held} held equal", "held"
    if short := ground.common_ground(run).short:
        yield short, "common"
    if run.categories:
        yield "the order of each category", "by-view"
