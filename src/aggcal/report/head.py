"""The first screen: which items could be the best, how far to trust the study, what to read on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggcal._core.tables import Columns
from aggcal._core.text import in_words
from aggcal.advice.verdicts import GUESSING, ONE_SIDED, RELIABLE, REVERSED
from aggcal.errors import count
from aggcal.pages.document import Block, Chip, Group, Line, Link, Pairs, Part, Strong, Term, Text
from aggcal.pages.numbers import SHORT_NAME, cut, percent
from aggcal.report import held_equal
from aggcal.report.common_ground import CommonGround, common_ground
from aggcal.report.parts import sizes_said
from aggcal.report.quality import findings, n_problems
from aggcal.report.results import has_matrix
from aggcal.report.run import Run
from aggcal.report.terms import joined

LITTLE, ENOUGH = 0.75, 0.90
"""Probabilities that two items taken at random are in the right order: below the first a study is
not ready, below the second to be used with care. Higher ones ask for more judgments than most
studies have; benchmarks/trust.py measures how often a sound study has the right leader."""
MOST_NAMED = 3
"""Leaders whose names still fit into a heading."""
TOO_MANY_BAD = 1 / 3
"""Share of judgments by annotators named in problems from which a study is not ready: a larger one
lets a crowd of guessers through, a smaller one withholds what the fit still finds by itself."""

_ORDERS = {
    "divided": "Camps of annotators contradict each other; this order is that of one camp.",
    "different-tastes": "Annotators prefer different orders; this order is a compromise.",
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
    """Return how far to trust the study and why, where to read on, and the main facts."""
    trusted, links = trust(run), list[Part]()
    for said, to in _asides(run, trusted):
        links += [" · ", Link(said[:1].upper() + said[1:], to)]
    more = [Text(tuple(links[1:]), only="page")] if links else []
    chip = Text(Chip(trusted.kind, trusted.words))
    return [
        Group([chip, Group([Text(" ".join(trusted.reasons)), *more])], "trust"),
        Pairs(facts(run), "facts"),
    ]


# Which items could be the best --------------------------------------------------------------------


def headline(run: Run) -> Line:
    """Return the verdict: who is the best, or how many could be.

    Examples
    --------
    >>> items = {"item": np.array(["a", "b", "c"], dtype=object), "rank": np.array([1, 2, 3]),
    ...          "sure_low": np.array([1, 1, 3])}
    >>> headline(Run({}, items))
    (Strong(text='a and b'), ' could each be the best (95% confidence).')
    """
    if run.summary.get("converged") is False:
        return "No result: the fit did not converge."
    if (components := n_components(run)) > 1:
        apart = f"{in_words(components)} groups of items were never compared with each other"
        return f"No common order: {apart}."
    names, said = _best(run) if run.could_be_first else _first(run)
    names = [f"Item {each}" if each.isdigit() else each for each in names]
    return (Strong(cut(joined(names), SHORT_NAME)), f" {said}") if names else said


def _best(run: Run) -> tuple[list[str], str]:
    """Return those that could be the best and what to say of them; too many are not named."""
    sure = f"({100.0 * float(_claimed(run, 'first', 'level') or 0.95):g}% confidence)"
    names = [run.names[k] for k in run.could_be_first]
    if len(names) == 1:
        return names, f"is the best {sure}."
    if len(names) == len(run.names):
        return [], f"No item stands out: any of the {in_words(len(names))} could be the best."
    if len(names) > MOST_NAMED:
        return [], f"Any of {in_words(len(names))} items could be the best {sure}."
    return names, f"could each be the best {sure}."


def _first(run: Run) -> tuple[list[str], str]:
    """Return the items in first place, where nothing is known of how certain that is."""
    names = leaders(run)
    if len(names) > MOST_NAMED:
        return [], f"No leader: {in_words(len(names))} items are tied for first place."
    verb = "leads" if len(names) == 1 else "are tied for first place"
    return names, f"{verb}; certainty was not computed."


def leaders(run: Run) -> list[str]:
    """Return the items in first place: several if their scores are tied."""
    if "rank" not in run.items:
        return run.names[:1]
    rank = np.asarray(run.items["rank"], dtype=np.float64)
    return [run.names[k] for k in np.flatnonzero(rank == 1)]


def n_components(run: Run) -> int:
    """Return how many connected components there are, as far as it is known."""
    counted = ((run.summary.get("check") or {}).get("counts") or {}).get("components")
    return int(_claimed(run, "certified_pairs", "components") or counted or 1)


# How far to trust the study -----------------------------------------------------------------------


@dataclass(frozen=True)
class Trust:
    """How far to trust a study: in words and with a sign, and why, in sentences."""

    words: str
    kind: str
    reasons: tuple[str, ...]


def trust(run: Run) -> Trust:
    """Return how far to trust a study, and why.

    Camps are no reason to wait where a common ground is shown for them.

    Examples
    --------
    >>> items = {"item": np.array(["a", "b"], dtype=object), "rank_low": np.array([1, 1])}
    >>> trust(Run({"converged": False, "n_annotators": 3}, items)).words
    'Not ready'
    >>> check = {"findings": [], "precision": {"right_order": 0.93}}
    >>> trust(Run({"converged": True, "n_annotators": 3, "check": check}, items))
    Trust(words='Sound', kind='good', reasons=('No problem was found in the data.',))
    """
    ground = common_ground(run)
    differ = [ground.words["order"]] if isinstance(ground, CommonGround) else []
    share = _share_of_bad(run)
    not_ready = list(_not_ready(run, share, bridged=bool(differ)))
    with_care = [*differ, *_with_care(run, share)]
    if not_ready:
        return Trust("Not ready", "bad", (*not_ready, *with_care))
    if with_care:
        return Trust("Use with care", "care", tuple(with_care))
    return Trust("Sound", "good", ("No problem was found in the data.",))


def _not_ready(run: Run, share: float, *, bridged: bool) -> Iterator[str]:
    summary = run.summary
    if summary.get("converged") is False:
        yield "The fit did not converge: do not use these numbers."
    if n_components(run) > 1:
        yield "Some items were never compared with the others, directly or through further items."
    if int(summary.get("n_annotators", 0)) < 2:  # noqa: PLR2004
        yield "There is only one annotator, so nothing shows whether others agree."
    ordered = right_order(summary)
    if summary.get("converged") is not False and ordered is not None and ordered < LITTLE:
        yield f"{_ordered(run, ordered, LITTLE)}; at least {percent(LITTLE)} is needed."
    if not bridged:
        yield from (_ORDERS[each["code"]] for each in _problems(summary) if each["code"] in _ORDERS)
    if share > TOO_MANY_BAD:
        yield f"Annotators with problems gave {percent(share)} of the judgments."


def _with_care(run: Run, share: float) -> Iterator[str]:
    summary = run.summary
    problems, verdicts = _problems(summary), summary.get("verdicts") or {}
    if problems:
        topics = joined([str(each["topic"]) for each in problems])
        said = f"{count(len(problems), 'problem')} in the data: {topics}."
        if 0.0 < share <= TOO_MANY_BAD:
            said += f" The annotators concerned gave {percent(share)} of the judgments."
        yield said
    if sum(verdicts.values()) and not verdicts.get(RELIABLE) and not run.equal:
        yield "No annotator can be told from one who guesses."
    if not run.checked:
        yield "The data were not checked."
    elif any(each["code"] == "perhaps-divided" for each in findings(summary)):
        yield "There may be opposing groups of annotators: run a full check."
    if "rank_low" not in run.items:
        yield "Certainty was not computed."
    ordered = right_order(summary)
    if ordered is not None and LITTLE <= ordered < ENOUGH:
        yield f"{_ordered(run, ordered, ENOUGH)}; the target is {percent(ENOUGH)}."


def _problems(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the problems that the check found."""
    found = (summary.get("check") or {}).get("findings", ())
    return [each for each in found if each["severity"] == "problem"]


def right_order(summary: Mapping[str, Any]) -> float | None:
    """Return the probability that two items taken at random are in the right order, if known."""
    known = ((summary.get("check") or {}).get("precision") or {}).get("right_order")
    return None if known is None else float(known)


def _ordered(run: Run, known: float, target: float) -> str:
    """Say how probable the right order is; what rounds to the target and misses it says so."""
    said = percent(known)
    near = "just under " if said == percent(target) else ""
    which = " of one component" if n_components(run) > 1 else ""
    return f"Two random items{which} are in the right order with probability {near}{said}"


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


# Facts, and where to read on ----------------------------------------------------------------------


def facts(run: Run) -> list[tuple[Line, Line]]:
    """Return the facts of the first screen: labels and values."""
    found, ordered = list[tuple[Line, Line]](), right_order(run.summary)
    if run.parts:
        found.append(("Components", sizes_said(run.parts)))
    elif wide := _typical_ranks(run.items):
        found.append((Term("likely ranks", "Typical likely ranks"), wide))
    if ordered is not None and not run.parts:
        found.append(("Two random items", f"right order with probability {percent(ordered)}"))
    if moved := _calibration(run):
        found.append((Term("calibrated score", "Calibration"), moved))
    keys = ("certified", "pairs", "share")
    certified, pairs, share = (_claimed(run, "certified_pairs", key) for key in keys)
    if certified is not None:
        said = f"{certified:,} of {pairs:,} ({percent(float(share))})"
        found.append((Term("certified pair", "Pairs told apart"), said))
    return found


def _typical_ranks(items: Columns) -> str:
    """Say how many ranks are likely for an item; nothing if it is not known."""
    if "rank_low" not in items:
        return ""
    low, high = (np.asarray(items[key], dtype=np.float64) for key in ("rank_low", "rank_high"))
    wide = (high - low + 1)[np.isfinite(high - low)]
    return f"{int(np.median(wide)):,} of {len(wide):,} ranks (median)" if len(wide) else ""


def _calibration(run: Run) -> str:
    """Say how far calibration moved the scores, and how many up and down; nothing without any."""
    model, calibrated = run.number("model"), run.number("calibrated")
    if model is None or calibrated is None:
        return ""
    shift = calibrated - model
    tiny = 1e-9 * max(1e-300, float(np.nanmax(np.abs(model))))
    up, down = int((shift > tiny).sum()), int((shift < -tiny).sum())
    return f"RMS change {run.summary['shift_rms']:,.3g}; {up:,} up, {down:,} down"


def _asides(run: Run, trusted: Trust) -> Iterator[tuple[str, str]]:
    """Yield what else there is to know, each with the part of the page that says more."""
    if n_problems(run.summary) or (findings(run.summary) and trusted.kind != "good"):
        yield "what to do", "quality"
    tiers = _claimed(run, "tiers", "tiers")
    if tiers is not None and tiers > 1:
        yield count(tiers, "clear tier"), "method"
    elif _claimed(run, "certified_pairs", "certified") == 0:
        yield "no two items can be told apart", "method"
    if held := held_equal.names(run):
        yield f"with {held} held equal", "held"
    if isinstance(ground := common_ground(run), CommonGround):
        yield ground.short, "common"
    yield from _least_certain(run)
    verdicts = Counter(run.verdicts)
    for word, one, many in (
        (REVERSED, "annotator answers in reverse", "annotators answer in reverse"),
        (GUESSING, "annotator guesses", "annotators guess"),
        (ONE_SIDED, "annotator follows one side", "annotators follow one side"),
    ):
        if verdicts[word]:
            yield count(verdicts[word], one, many), "annotators"
    yield from _views(run)
    if (run.summary.get("suggestions") or {}).get("pairs"):
        yield "what to ask next", "next"


def _views(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the further views of the results, which are below their table."""
    if has_matrix(run):
        yield "who beat whom", "matrix"
    if run.categories:
        yield "the order of each category", "by-view"


def _least_certain(run: Run) -> Iterator[tuple[str, str]]:
    """Yield which scores to look at again: those near a boundary, else the least certain ones."""
    if run.decided.get("grades"):
        number = run.words("uncertain").count("True")
        verb = "is" if number == 1 else "are"
        said = f"{number:,} of {count(len(run.names), 'mark')} {verb} doubtful"
        yield (said, "doubtful") if number else ("no mark is doubtful", "results")
    elif len(run.names) >= _FEWEST and run.number(f"{run.score}_low") is not None:
        yield "least certain scores", "doubtful"


def _claimed(run: Run, claim: str, value: str) -> Any:
    """Return a number that a claim is about; None where it is not claimed."""
    known = (run.summary.get("guarantees") or {}).get(claim) or {}
    return (known.get("values") or {}).get(value)
