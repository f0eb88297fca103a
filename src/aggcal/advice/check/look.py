"""Take the strongest explanation into the model, and look again, until nothing is left.

An explanation is sure if draws of the model so far do not reach it (`explanations`). Effects are
taken in as variances; annotators who copy or follow an order of their own are set aside. A sign of
camps is put to the model that ``--bridge`` fits, so that the check and the remedy agree. Whoever is
left is named by the posterior of the kinds of annotators, given the scores of others, while the
expected share of wrong names stays within a budget.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal.advice.check.cells import ALONE, Cells
from aggcal.advice.check.explanations import EXPLANATIONS, Tested, gains, item_sums
from aggcal.advice.check.population import (
    GUESSING,
    HONEST,
    KIND,
    LAPSE,
    REVERSED,
    SLOPE,
    chances,
    log_likelihood,
    log_prior,
    normalised,
)
from aggcal.advice.check.replicate import Effects, Fit, Information, draw, fit, residuals, without
from aggcal.advice.check.sides import Sides, sides
from aggcal.aggregation.camps import FEWEST, ONE, Camps
from aggcal.aggregation.uncertainty import wilson_interval
from aggcal.data.judgments import Judgments

LOOKED, LOOKED_QUICKLY = 20_000, 5_000
"""Rows that are held against draws, about, in full and quickly: of more, annotators are drawn."""
_EACH, _FEWEST_DRAWN = 1_000, 20
"""Rows of each of them at most, and annotators at least."""
_OF_OTHERS, _MOST, _AT_ONCE = 100, 1_000_000, 50_000
"""Rows by which each of the other annotators is judged, of all of them, and at once."""
_DRAWS = 59
"""Studies that are drawn each time: more sharpen the tails and take longer."""
_SURE = {
    "repeated": 0.005,
    "questions": 0.005,
    "tastes": 0.005,
    "own-order": 0.002,
    "copies": 3e-4,
    "camps": 0.002,
}
"""Chance that an honest study has a statistic as large: lower for what is said of people."""
_COPIED_ACTS = 2e-5
"""The same of copies of rankings, screens or ratings, of which few make many answers: at 0.0005
somebody copied in 8 of 120 studies of ratings."""
_FAR = 15.0
"""Deviations beyond the draws from which a sign of camps comes before all other explanations: it
was 4 to 12 where tastes of one's own or repeated answers were the cause."""
_MOST_ROUNDS = 8
_EXCEPTIONS = 0.1
"""Share of the annotators up to which those with an order of their own are exceptions: if they are
more, all annotators have tastes of their own."""
_FEW_COUPLES = 0.05
"""Share of the couples up to which those who are alike are copies, and no camp or question."""
_COPIED = 0.6
"""Share of the answers that would otherwise differ that are alike where somebody copies: less may
be two friends."""
BUDGETS = {"reversed": 0.05, "guessing": 0.1, "erratic": 0.05}
"""Share of the names of a kind that is expected to be wrong, at most; of one name, its chance."""
_WEAKLY, _USUAL_GAP = 0.35, 1.4
"""Slope, less lapses, times the usual gap, up to which an annotator is as good as guessing: such
agree with the others in 56% of answers. Where items hardly differ, everybody seems to guess."""
_MOST_REVERSED = 0.15
"""Share of annotators who answer in reverse beyond which they may be a camp, as in `find_camps`."""
_CARELESS = 0.25
"""Share of answers given without looking from which somebody is called erratic."""
_LARGEST_OPPOSITE, _LARGEST_GUESS, _LARGEST_OTHER = 0.45, 0.6, 0.65
"""Agreement with the others up to which somebody may be called reversed, the upper end of its 95%
interval below which somebody may be called guessing, and again agreement, for another order."""
_FEWEST = 3
"""Annotators: of one alone, or of two, there are no others who could be right."""
_FOLDS, _SCORES, _WIDER = 6, 4, 1.15
"""Groups of annotators who are judged by the others' scores, draws of these, and what their errors
are multiplied by, because the fit takes annotators as known."""
_FEWEST_ACTS = 4
"""Acts, or questions, of an annotator below which nobody is accused: three may be an accident."""
_MANY, _FOLLOWS, _SURELY = 30, 0.3, 0.9999
"""Annotators from which one has little part in the scores, and slope and probability from which
one who is among them needs no second look."""
_PROVEN = 0.95
"""Probability of following the others from which an annotator may be called reliable."""


class Copy(NamedTuple):
    """Two annotators, how many questions they share, and how many answers to these are alike."""

    one: int
    other: int
    shared: float
    same: float
    expected: float


@dataclass(frozen=True, eq=False)
class Kinds:
    """Every annotator as judged by the others' scores."""

    probability: FloatArray
    """Of following the others, of guessing (or hardly following), and of being reversed."""
    careless: FloatArray
    """Of following the others, but giving many answers without looking."""
    agreement: FloatArray
    """Share of the answers that the others' scores confirm."""
    expected: FloatArray
    """The same, of a typical annotator."""


@dataclass
class Looked:
    """What was found by the cells of a study."""

    cells: Cells
    won: FloatArray
    fitted: Fit
    effects: Effects = field(default_factory=Effects)
    sides: Sides | None = None
    aside: list[int] = field(default_factory=list)
    """Annotators who were set aside."""
    copies: list[Copy] = field(default_factory=list)
    compared: int = 0
    """Couples who were compared."""
    own_order: list[int] = field(default_factory=list)
    camps: Camps | None = None
    """What `find_camps` said, where there was a sign of them."""
    sign: bool = False
    """Whether there was one."""

    @property
    def divided(self) -> bool:
        """Whether annotators differ by camps or along an axis."""
        return self.camps is not None and self.camps.kind != ONE


def look(
    cells: Cells,
    won: FloatArray,
    *,
    decide: Callable[[], Camps] | None = None,
    random: np.random.Generator | None = None,
) -> Looked:
    """Take explanations into the model until nothing is left.

    Parameters
    ----------
    cells, won
        The answers (`Cells.of`).
    decide
        Asks `find_camps`; None where that would take too long.
    random
        For the draws.
    """
    random = np.random.default_rng(0) if random is None else random
    found = Looked(cells, won, fit(cells, won))
    if cells.side.any():
        found.sides = sides(cells, found.fitted)
    for _ in range(_MOST_ROUNDS):
        if cells.annotators < _FEWEST or not _explained(found, decide, random):
            break
        found.fitted = fit(found.cells, found.won)
    if found.divided:
        # Held against a consensus that neither camp shares, friends look like copies.
        found.copies, found.own_order, found.compared = [], [], 0
    return found


def _explained(
    found: Looked, decide: Callable[[], Camps] | None, random: np.random.Generator
) -> bool:
    """Take one explanation into the model; return whether there was one."""
    cells = found.cells
    sure = _sure(found, random)
    copied = _copied(found, sure["copies"]) if "copies" in sure else []
    exceptional = 0 < len(copied) <= max(1, _FEW_COUPLES * found.compared)
    if not copied:
        sure.pop("copies", None)
    camps = sure.pop("camps", None)
    # What else may look like camps comes first, unless nothing else can be so far beyond chance.
    far = camps is not None and float(camps.beyond[0]) > _FAR and "repeated" not in sure
    if camps is not None and not exceptional and (far or not sure):
        found.sign = True
        found.camps = None if decide is None else decide()
        if found.divided:
            return False
    if not sure:
        return False
    first = max(sure, key=lambda name: float(sure[name].beyond.max()))
    if first == "questions" and copied and exceptional:
        first = "copies"  # what questions do would be seen in all couples
    most = max(1, int(_EXCEPTIONS * cells.annotators))
    if {"tastes", "own-order"} <= set(sure) and first in ("tastes", "own-order"):
        many = len(sure["own-order"].those(_SURE["own-order"])) > most
        first = "tastes" if many else "own-order"
    if adds := {row.name: row.adds for row in EXPLANATIONS}[first]:
        found.effects = replace(found.effects, **{adds: sure[first].spread})
        return True
    if first == "copies":
        found.copies += copied
        aside = sorted({each.other for each in copied})
    else:
        aside = sure[first].those(_SURE[first])[:most].tolist()
        found.own_order += aside
    found.aside += aside
    found.cells, found.won = without(cells, found.won, np.array(aside))
    return True


def _sure(found: Looked, random: np.random.Generator) -> dict[str, Tested]:
    """Return the explanations that draws of the model so far do not reach."""
    cells, effects = found.cells, found.effects
    drawn = draw(cells, found.fitted, effects, _DRAWS, random)
    left = residuals(cells, found.fitted, np.column_stack([found.won, drawn]))
    sure = {}
    for row in EXPLANATIONS:
        known = found.sign if row.name == "camps" else row.adds and getattr(effects, row.adds)
        statistic = None if known else row.of(cells, left)
        if statistic is None:
            continue
        tested = Tested.of(statistic)
        if row.name == "copies":
            found.compared = max(found.compared, len(tested.chance))
        if tested.chance.min() <= _level(row.name, cells):
            sure[row.name] = tested
    return sure


def _level(name: str, cells: Cells) -> float:
    """Return the chance from which an explanation is sure."""
    acts = name == "copies" and float(np.mean(cells.act != ALONE)) > 0.5  # noqa: PLR2004
    return _COPIED_ACTS if acts else _SURE[name]


def _copied(found: Looked, tested: Tested) -> list[Copy]:
    """Return the couples whose answers are alike by enough to matter, the surest first."""
    cells, size = found.cells, len(found.cells.low)
    p = np.einsum("cg,cg->c", found.fitted.chance, found.fitted.posterior[cells.who])
    copies = []
    for one, other in tested.who[tested.those(_level("copies", cells))].tolist():
        said = []
        for u in (one, other):
            mine = slice(int(cells.starts[u]), int(cells.starts[u + 1]))
            asked, number = cells.question[mine], cells.number[mine]
            columns = number, found.won[mine], number * p[mine]
            said.append([np.bincount(asked, column, size) for column in columns])
        number = np.minimum(said[0][0], said[1][0])
        shared = np.flatnonzero(number > 0.0)
        number = number[shared]
        ups, p_of = ([part[k][shared] / part[0][shared] for part in said] for k in (1, 2))
        apart = number * (p_of[0] - p_of[1])
        noise = number * (p_of[0] * (1.0 - p_of[0]) + p_of[1] * (1.0 - p_of[1]))
        # The mean absolute difference of two numbers of answers: exact of one each, else normal.
        single = p_of[0] * (1.0 - p_of[1]) + p_of[1] * (1.0 - p_of[0])
        usual = np.where(number <= 1.0, single, np.sqrt(2.0 / np.pi * noise + apart**2))
        total, differ = float(number.sum()), float(np.sum(number * np.abs(ups[0] - ups[1])))
        if differ <= (1.0 - _COPIED) * float(usual.sum()):
            copies.append(Copy(one, other, total, total - differ, total - float(usual.sum())))
    return copies


def kinds(
    cells: Cells, won: FloatArray, fitted: Fit, random: np.random.Generator, *, strangers: bool
) -> Kinds:
    """Judge every annotator by the scores of others: folds of annotators are left out in turn.

    ``strangers`` says that none of them has a part in the scores.
    """
    m = cells.annotators
    folds = 1 if strangers else min(m, _FOLDS)
    fold = random.permutation(m) % folds
    likelihood = log_likelihood(cells, fitted.chance, won)
    agreed, expected, given = np.zeros((3, m))
    # Whoever surely follows others among many does so whether oneself has a part in the scores.
    follow = fitted.posterior[:, (KIND == HONEST) & (SLOPE >= _FOLLOWS)].sum(axis=1)
    doubted = np.ones(m, dtype=bool) if m < _MANY else follow < _SURELY
    information, scores, precision = fitted.information, fitted.scores, fitted.score_sd**-2
    for k in range(folds):
        theirs, kept = without(cells, won, np.flatnonzero(fold != k))
        if not strangers:
            inside = np.where(fold[cells.who] != k, cells.weight, 0.0)
            information = Information.of(cells, inside * fitted.curve, precision)
            pull = cells.by_item @ (inside * fitted.pull) - precision * fitted.scores
            scores = fitted.scores + np.clip(information.solve(pull), -2.0, 2.0)
        own = (fold == k) & doubted
        asked, answered = without(theirs, kept, np.flatnonzero(~own))
        errors = _WIDER * information.errors(_SCORES, random)
        drawn = [
            log_likelihood(asked, chances(asked, scores + error, fitted.habit)[0], answered)
            for error in errors.T
        ]
        likelihood[own] = (logsumexp(np.stack(drawn), axis=0) - np.log(_SCORES))[own]
        gap = theirs.gap(scores)
        agrees = np.where(gap > 0.0, kept, theirs.number - kept)
        agreed += theirs.by_who @ agrees
        expected += theirs.by_who @ (theirs.number * expit(np.abs(gap)))
        given += theirs.by_who @ theirs.number
    prior = fitted.log_prior if strangers else log_prior(likelihood)
    posterior = normalised(likelihood + prior)
    usual = float(np.sqrt(np.mean(np.square(cells.gap(fitted.scores))) + 1e-12))
    weakly = np.abs(SLOPE) * (1.0 - LAPSE) * max(usual, _USUAL_GAP) <= _WEAKLY
    follows, turned = (KIND == HONEST) & ~weakly, (KIND == REVERSED) & ~weakly
    grouped = [posterior[:, part].sum(axis=1) for part in (follows, weakly, turned)]
    # Who goes by another order looks like one who guesses, until the answers exclude that.
    grouped[GUESSING] /= 1.0 + np.exp(np.clip(_other_order(cells, won, fitted), -50.0, 50.0))
    careless = posterior[:, follows & (LAPSE >= _CARELESS)].sum(axis=1)
    some = np.maximum(given, 1.0)
    return Kinds(np.stack(grouped, axis=1), careless, agreed / some, expected / some)


def _other_order(cells: Cells, won: FloatArray, fitted: Fit) -> FloatArray:
    """Return how much likelier each one's answers are by an unrelated order than by guessing."""
    p = expit(fitted.habit[cells.who] * cells.side)
    left = cells.evidence * (won - cells.number * p)
    known = cells.evidence * cells.number * p * (1.0 - p)
    keys, pull, info = item_sums(cells, left[:, None], known)
    gain = gains(pull, info, keys // cells.items, cells.annotators, (fitted.score_sd,))
    return np.asarray(gain[0, :, 0])


# ------------------------------------------------------------------------------- all annotators
@dataclass
class People:
    """What was found of the annotators of a study, by their numbers in it."""

    looked: Looked
    probability: FloatArray
    """Of following the others, guessing and being reversed; NaN for who was not judged."""
    careless: FloatArray
    agreement: FloatArray
    expected: FloatArray
    habit: FloatArray
    """The logit of choosing the left of two equal items."""
    decided: FloatArray
    acts: FloatArray
    """Acts, or questions, that each annotator answered."""
    named: dict[str, IntArray] = field(default_factory=dict)
    one_sided: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    common: float = 0.0
    common_se: float = np.inf
    side_preferred: bool = False
    copies: list[Copy] = field(default_factory=list)
    compared: int = 0
    camps: Camps | None = None
    sign: bool = False
    withheld: bool = False
    """Whether nobody was named, because of a sign of camps that was not looked into."""
    judged: bool = False
    """Whether annotators were judged by others' scores."""

    @property
    def divided(self) -> bool:
        """Whether annotators differ by camps or along an axis."""
        return self.looked.divided

    @property
    def proven(self) -> BoolArray:
        """Who surely follows the others."""
        return np.asarray(~(self.probability[:, HONEST] < _PROVEN))


def people_of(
    judgments: Judgments, decide: Callable[[], Camps] | None = None, seed: int = 0
) -> People:
    """Look over the annotators of a study.

    Of many rows, some annotators are drawn, whose answers are held against draws and give scores;
    the others are judged by these.

    Parameters
    ----------
    judgments
        The study.
    decide
        Asks `find_camps`; None where that would take too long: then nobody is named where there is
        a sign of camps, whose members look reversed or like guessing.
    seed
        For the draws.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=15, annotators=10, judgments=1500, reversed_share=0.1, seed=1)
    >>> found = people_of(aggcal.read_judgments(study.judgments))
    >>> found.named["reversed"].tolist() == np.flatnonzero(study.reliability < 0).tolist()
    True
    """
    random, m = np.random.default_rng(seed), judgments.n_annotators
    drawn = random.permutation(m)
    most = LOOKED if decide is not None else LOOKED_QUICKLY
    rows = None if len(judgments.count) <= most else _rows(judgments, drawn, _EACH, most)
    cells, won = Cells.of(judgments, rows)
    found = look(cells, won, decide=decide, random=random)
    decided = judgments.tallies.decided.astype(np.float64)
    careless, agreement, expected, habit = np.full((4, m), np.nan)
    probability, acts = np.full((m, 3), np.nan), np.zeros(m)
    people = People(found, probability, careless, agreement, expected, habit, decided, acts)
    people.sign, people.camps, people.compared = found.sign, found.camps, found.compared
    ids = cells.people
    people.copies = [each._replace(one=int(ids[each.one]), other=int(ids[each.other]))
                     for each in found.copies]  # fmt: skip
    if found.sides is not None:
        people.habit[ids] = found.sides.habit
        people.common, people.common_se = found.sides.common, found.sides.common_se
        people.one_sided, people.side_preferred = ids[found.sides.one_sided], found.sides.preferred
    people.judged = m >= _FEWEST and not found.divided
    if not people.judged:
        return people
    _take(people, found.cells, found.won, found.fitted, random)
    against = float(np.nanmean(people.probability[:, REVERSED]))
    if m >= FEWEST and not found.sign and against > _MOST_REVERSED:
        found.sign = people.sign = True
        found.camps = people.camps = None if decide is None else decide()
        if found.divided:
            people.judged, people.copies = False, []
            return people
    aside = np.array(found.aside, dtype=np.int64)
    if len(aside):
        theirs, kept = without(cells, won, np.setdiff1d(np.arange(len(ids)), aside))
        _take(people, theirs, kept, fit(theirs, kept, found.fitted), random, strangers=True)
    if rows is not None:
        known = _whole(found, judgments.n_items)
        for chunk in _chunks(judgments, drawn, ids):
            others, kept = Cells.of(judgments, chunk)
            fitted = fit(others, kept, known(others))
            if others.side.any():
                habits = sides(others, fitted, among=m)
                people.habit[others.people] = habits.habit
                one_sided = others.people[habits.one_sided]
                people.one_sided = np.concatenate([people.one_sided, one_sided])
            _take(people, others, kept, fitted, random, strangers=True)
    people.withheld = found.sign and (found.camps is None or bool(found.camps.not_looked))
    own_order = ids[np.array(found.own_order, dtype=np.int64)]
    people.named = {} if people.withheld else _named(people, ids[aside], own_order)
    return people


def _rows(judgments: Judgments, drawn: IntArray, each: int, most: int) -> IntArray:
    """Return rows of annotators in this order, so many of each and about so many in all."""
    starts = np.asarray(judgments.starts)
    sizes = np.minimum(np.diff(starts), each)[drawn]
    number = max(int(np.searchsorted(np.cumsum(sizes), most, "right")), _FEWEST_DRAWN)
    random, chosen = np.random.default_rng(0), []
    for u in np.sort(drawn[:number]).tolist():
        mine = np.arange(starts[u], starts[u + 1])
        chosen.append(
            mine if len(mine) <= each else np.sort(random.choice(mine, each, replace=False))
        )
    return np.concatenate(chosen)


def _chunks(judgments: Judgments, drawn: IntArray, seen: IntArray) -> list[IntArray]:
    """Return rows of the annotators who were not drawn, some annotators at a time."""
    others = drawn[~np.isin(drawn, seen)][: _MOST // _OF_OTHERS]
    size = _AT_ONCE // _OF_OTHERS
    parts = [np.sort(others[k : k + size]) for k in range(0, len(others), size)]
    return [_rows(judgments, part, _OF_OTHERS, _MOST) for part in parts]


def _whole(found: Looked, items: int) -> Callable[[Cells], Fit]:
    """Return what takes the fit to the items of other cells; those it has not seen are at 0."""
    scores, cells, old = np.zeros(items), found.cells, found.fitted
    scores[cells.things] = old.scores

    def known(others: Cells) -> Fit:
        at = np.searchsorted(cells.things, others.things).clip(max=cells.items - 1)
        there = cells.things[at] == others.things

        def errors(number: int, random: np.random.Generator) -> FloatArray:
            drawn = old.information.errors(number, random)[at]
            alone = old.score_sd * random.standard_normal(drawn.shape)
            return np.asarray(np.where(there[:, None], drawn, alone))

        information = replace(old.information, errors=errors)
        return replace(old, scores=scores[others.things], information=information)

    return known


def _take(
    people: People,
    cells: Cells,
    won: FloatArray,
    fitted: Fit,
    random: np.random.Generator,
    *,
    strangers: bool = False,
) -> None:
    """Judge these annotators, and note what is found."""
    if people.looked.effects.again:  # who repeats oneself has said it once
        entry = np.unique(cells.who * len(cells.low) + cells.question, return_inverse=True)[
            1
        ].ravel()
        again = np.bincount(entry, cells.number)[entry]
        cells = replace(cells, evidence=cells.evidence / np.maximum(again, 1.0))
    judged = kinds(cells, won, fitted, random, strangers=strangers)
    some = np.flatnonzero(np.diff(cells.starts))
    who = cells.people[some]
    people.probability[who] = judged.probability[some]
    people.careless[who] = judged.careless[some]
    people.agreement[who] = judged.agreement[some]
    people.expected[who] = judged.expected[some]
    unit = np.where(cells.act < 0, -1 - cells.question, cells.act)
    pairs = np.unique(np.stack([cells.who, unit]), axis=1)
    people.acts[who] = np.bincount(pairs[0], minlength=cells.annotators)[some]


def _named(people: People, aside: IntArray, own_order: IntArray) -> dict[str, IntArray]:
    """Name annotators, the surest first; nobody of whom something else is known."""
    explained = np.concatenate([aside, people.one_sided])
    enough = people.acts >= _FEWEST_ACTS
    decided = np.nan_to_num(people.decided)
    highest = wilson_interval(np.nan_to_num(people.agreement) * decided, decided)[1]
    named = {}
    for kind, probability, may in (
        ("reversed", people.probability[:, REVERSED], people.agreement <= _LARGEST_OPPOSITE),
        ("guessing", people.probability[:, GUESSING], highest < _LARGEST_GUESS),
        ("erratic", people.careless, enough),
    ):
        sure = np.where(enough & may, probability, 0.0)
        sure[explained] = 0.0
        order = np.argsort(-sure, kind="stable")
        named[kind] = order[: _most_named(1.0 - sure[order], BUDGETS[kind])]
    other = people.agreement[own_order] <= _LARGEST_OTHER
    named["own-order"] = own_order[other & enough[own_order]]
    return named


def _most_named(wrong: FloatArray, budget: float) -> int:
    """Return how many may be named, the surest first, given how likely each would be wrong.

    The expected share of wrong names stays within the budget.

    Examples
    --------
    >>> _most_named(np.array([0.02, 0.09, 0.5]), 0.1)
    2
    """
    share = np.cumsum(wrong) / np.arange(1, len(wrong) + 1)
    return int(np.sum(share <= budget))
