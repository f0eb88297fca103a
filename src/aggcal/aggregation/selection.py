"""Choose a method by cross-validation: the simplest that predicts held-out judgments well.

`compared` lets each `Candidate` (a method with its terms) predict each of the `Folds` from the
others. `measured` says how good its predictions are: every measure is an estimate with the
influence of each row on it, from which `estimate` makes a clustered standard error. `Auto` is the
method that compares the others and fits the chosen one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from math import nan, sqrt
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, stdtrit

from aggcal import registry
from aggcal._core.arrays import BoolArray, CodeArray, FloatArray, IntArray, sums
from aggcal._core.progress import listening, report
from aggcal.aggregation import Adapted
from aggcal.aggregation.consensus import Aggregator, Consensus
from aggcal.aggregation.newton import Progress
from aggcal.aggregation.terms import DEFAULT, PLAIN, Terms, graded, has_ties
from aggcal.data.judgments import Judgments
from aggcal.data.warnings import unsaid
from aggcal.errors import (
    AggcalError,
    OptionError,
    TooLittleDataError,
    count,
    did_you_mean,
    ended,
    option,
)
from aggcal.registry import BTL, DEFAULT_METHOD, EQUAL, METHODS, MethodInfo
from aggcal.registry.limits import FEWEST_SAMPLED

FOLDS = 5
"""Folds by default: more leave each fit nearer to the whole, and take longer."""
SAMPLE = 200_000
"""Judgments on which methods are compared at most: more take longer and hardly move the standard
errors, which rest on annotators and contexts."""
HoldOut: TypeAlias = Literal["auto", "context", "screen", "question", "pair", "row"]
HOLD_OUT: tuple[HoldOut, ...] = get_args(HoldOut)
"""What may be asked to be held out together."""
MEASURES = ("log_loss", "decided_log_loss", "accuracy", "calibration")
"""What is measured of each method."""
LEVEL = 0.95
"""Level of the intervals."""
# Log-loss a judgment, in nats, that counts as none: two links that hardly differ can be told apart
# by their tiny standard error, though nobody would notice. Larger, simpler methods win more often.
_NEGLIGIBLE = 0.001
# Clusters below which a standard error is said to be rough: it is off by a quarter or more.
_ROUGH = 10
# Share of the judgments that a context or screen may hold: one with more leaves too few to fit.
_LARGEST = 0.5
# Whole annotators are sampled if so many are left; of fewer, questions are.
_FEWEST_ANNOTATORS = 30
# Passes that move groups until nobody is in one fold alone: each can undo a little of those before.
_ROUNDS = 4
# Probabilities below it count as it: a method that excludes an answer which then comes is charged
# 28 nats, not infinity.
_LEAST = 1e-12
# Probabilities of left and right that differ by less are equal: rounding must not earn a hit.
_EQUAL = 1e-9
_CLOSE = 1e-12  # how near the slope is looked for
# A slope beyond it means that the answers nearly all follow the predictions: no finite one.
_STEEPEST = 20.0

# ---------------------------------------------------------------------------- candidates

_PLAIN, _QUESTION = "plain", "question"  # no terms; and what is held out where nothing larger is


class _Term(NamedTuple):
    """How a term is fitted and asked for, and why it cannot be compared where it cannot."""

    setting: Any
    option: str
    lacking: str


_TERMS = {
    "ties": _Term("davidson", "--ties ", "no judgment is a tie"),
    "position": _Term("on", "--position ", "the sides on which items were shown are not known"),
    "context": _Term("fit", "--context COLUMN:", "no context was read (see {context})"),
    "categories": _Term(setting=True, option="", lacking="no categories were read (see {by})"),
}
"""The terms that are compared, those preferred first."""


@dataclass(frozen=True)
class Candidate:
    """A method with its terms.

    ``level`` says how elaborate it is: 0 with scores alone, 1 with something for each annotator,
    and 1 more for each term. ``unused`` is an option that names what the judgments have and this
    does not use.
    """

    label: str
    level: int
    method: str | Aggregator
    terms: Terms | None = None
    unused: str = ""

    @property
    def options(self) -> dict[str, Any]:
        """What to give to `aggregate` for it."""
        return {"method": self.method} | ({} if self.terms is None else {"terms": self.terms})

    @property
    def words(self) -> str:
        """What to write on the command line for it; nothing for a method that has no name."""
        if not isinstance(self.method, str):
            return ""
        words, terms = f"--method {self.method}", self.terms or DEFAULT
        for name, term in _TERMS.items():
            if term.option and getattr(terms, name) != getattr(DEFAULT, name):
                words += f" {term.option}{getattr(terms, name)}"
        return f"{words} (without {self.unused})" if self.unused else words

    def make(self, seed: int) -> Any:
        """Make the aggregator."""
        if not isinstance(self.method, str):
            return self.method
        own = {} if self.terms is None else {"terms": self.terms}
        return METHODS.find(self.method).make(prior="default", seed=seed, **own)

    def for_all(self, judgments: Judgments) -> Candidate:
        """Return the same for a fit of everything, in whose errors a context counts in any case."""
        if self.terms is None:
            return self
        terms = self.terms
        if judgments.context is not None and terms.context == "off":
            terms = replace(terms, context="errors")
        unused = "--by" if judgments.categories and not terms.categories else ""
        return replace(self, terms=terms, unused=unused)


def candidates_of(
    judgments: Judgments, methods: Sequence[str | Aggregator] | None = None
) -> list[Candidate]:
    """Return what is compared, the simplest first; plain Bradley-Terry is always among it.

    Parameters
    ----------
    judgments
        In memory.
    methods
        Names, such as ``hra-g`` or ``hra-g:ties+position``, or objects with a ``fit``; None for
        every method that needs no features, with each term that the judgments have the data for.
    """
    terms = available(judgments)
    result: dict[str, Candidate] = {}
    for method in (BTL.name, *(all_names(judgments) if methods is None else methods)):
        if isinstance(method, str):
            candidate = _by_name(method, terms)
        else:
            label = getattr(method, "name", "") or type(method).__name__
            candidate = Candidate(label, 1, method)
        result.setdefault(candidate.label, candidate)
    return sorted(result.values(), key=lambda candidate: candidate.level)


def available(judgments: Judgments) -> tuple[str, ...]:
    """Return the terms that some judgments have the data for.

    Examples
    --------
    >>> import aggcal
    >>> available(aggcal.read_judgments([("ann", "a", "b", "tie"), ("ann", "b", "c", "left")]))
    ('ties', 'position')
    """
    context = judgments.context
    has_data = {
        "ties": has_ties(judgments) or graded(judgments),
        "position": bool(judgments.sided),
        "context": context is not None and len(np.unique(context[context >= 0])) > 1,
        "categories": bool(judgments.categories),
    }
    return tuple(name for name in _TERMS if has_data[name])


def all_names(judgments: Judgments) -> Iterator[str]:
    """Go through every method that needs no features, with the terms that have data."""
    terms = available(judgments)
    ties = [name for name in terms if name == "ties"]
    choices = [[], ties, *([*ties, name] for name in terms if name not in ties)]
    methods = [info for info in METHODS.values() if not info.from_features]
    for info in sorted(methods, key=lambda info: info.name != BTL.name):
        if terms and "terms" in info.takes:
            yield from (f"{info.name}:{'+'.join(names) or _PLAIN}" for names in choices)
        yield info.name


def _by_name(name: str, terms: tuple[str, ...]) -> Candidate:
    """Return the candidate of a name, where judgments have the data for these terms."""
    info, names = named(name)
    each = info.name not in EQUAL
    if names is None or not (names or each):  # methods for annotators alike are plain by default
        default = len(terms) if "terms" in info.takes else 0
        return Candidate(info.name, 1 + default if each else 0, info.name)
    for term in names:
        if term not in terms:
            lacking = _TERMS[term].lacking.format(context=option("context"), by=option("by"))
            raise OptionError(f"{name} cannot be compared: {lacking}; leave it out.")
    chosen = replace(PLAIN, **{term: _TERMS[term].setting for term in names})
    label = f"{info.name}:{'+'.join(names) or _PLAIN}"
    return Candidate(label, len(names) + each, info.name, chosen)


def named(method: str) -> tuple[MethodInfo, tuple[str, ...] | None]:
    """Return the method and the terms that a name stands for; None for the default terms.

    Examples
    --------
    >>> info, terms = named("hra-g:position+ties")
    >>> info.name, terms
    ('hra-g', ('ties', 'position'))
    """
    name, colon, rest = method.partition(":")
    info = METHODS.find(name)
    if info.from_features:
        raise OptionError(f"{name} needs features of the items, so it cannot be compared here.")
    if info.name not in METHODS:
        raise OptionError(f"'{name}' chooses among the methods; name the methods to compare.")
    if not colon:
        return info, None
    if "terms" not in info.takes:
        raise OptionError(f"{name} has no terms to choose; write {name} alone.")
    words = [word.strip() for word in rest.split("+")]
    if words == [_PLAIN]:
        return info, ()
    for word in words:
        if word not in _TERMS:
            near = did_you_mean(word, (*_TERMS, _PLAIN))
            choices = f"{', '.join(_TERMS)}, joined by +, or {_PLAIN}"
            raise OptionError(f"term '{word}' of '{method}' is unknown{near}; choose {choices}.")
    return info, tuple(term for term in _TERMS if term in words)


def check_methods(methods: Sequence[str | Aggregator] | None) -> None:
    """Refuse methods that are none, before anything is read.

    Examples
    --------
    >>> check_methods(["btl", "hra-g:tie"])
    Traceback (most recent call last):
    aggcal.errors.OptionError: term 'tie' of 'hra-g:tie' is unknown (did you mean 'ties'?); ...
    """
    if isinstance(methods, str) or (methods is not None and not len(methods)):
        raise OptionError("methods is not a list of names; give one, such as ['btl', 'hra-g'].")
    for method in methods or ():
        if isinstance(method, str):
            named(method)
        elif isinstance(method, type) or not isinstance(method, Aggregator):
            raise OptionError(f"method {method!r} has no fit(judgments); name one of the methods.")


# ---------------------------------------------------------------------------- folds


@dataclass(frozen=True, eq=False)
class Folds:
    """Judgments in folds of whole groups, so that what belongs together stays together.

    Answers about one context share its accidents: whoever has seen some of them predicts the others
    better than those of a new context. So whole contexts are held out where they are known, else
    whole screens or rankings, else all answers of an annotator to one pair. ``held_out`` says what
    a group is (``prompt``, ``screen``, ``question``), and ``n_whole`` how many judgments there were
    before a sample was drawn.
    """

    judgments: Judgments
    fold: IntArray
    group: IntArray
    held_out: str
    number: int
    n_groups: int
    n_whole: int
    notes: tuple[str, ...] = ()

    def parts(self, k: int) -> tuple[Judgments, Judgments]:
        """Return what is fitted and what is held out in a fold."""
        out = self.fold == k
        return self.judgments.of_rows(~out), self.judgments.of_rows(out)


def folds_of(
    judgments: Judgments,
    number: int,
    seed: int,
    most: int | None = None,
    hold_out: str = HOLD_OUT[0],
) -> Folds:
    """Part judgments into folds of whole groups.

    Parameters
    ----------
    judgments
        In memory.
    number
        How many folds.
    seed
        Seed for all random numbers.
    most
        Judgments from which on a sample is drawn.
    hold_out
        What stays together: ``context``, ``screen``, ``question`` (all answers of an annotator to
        a pair), ``pair`` (those of all annotators), ``row`` (nothing), or ``auto`` for the first of
        context, screen and question that is known.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=5, annotators=4, judgments=100, seed=1)
    >>> folds = folds_of(aggcal.read_judgments(study.judgments), 5, 0)
    >>> folds.held_out, len(np.unique(folds.fold))
    ('question', 5)
    """
    total = judgments.n_judgments
    if total < FEWEST_SAMPLED:
        raise TooLittleDataError(
            f"{judgments.source}: {count(total, 'judgment')} cannot tell methods "
            f"apart; at least {FEWEST_SAMPLED} are needed."
        )
    random = np.random.default_rng(seed)
    rows, name, group, notes = _groups(judgments, number, hold_out)
    if most is not None and total > most:
        kept, what = _sample(rows, name, group, most, random)
        rows, group = rows.of_rows(kept), group[kept]
        notes += (f"Compared on a sample of {rows.n_judgments:,} of {total:,} judgments ({what}).",)
    group = _numbered(group)
    n = int(group.max()) + 1
    if n < number:
        raise TooLittleDataError(
            f"{judgments.source}: {count(n, name)} cannot be parted into {number} folds; collect "
            f"more judgments or give fewer {option('folds')}."
        )
    fold = _assigned(rows, group, n, number, random)[group]
    return Folds(rows, fold, group, name, number, n, total, notes)


def _groups(
    judgments: Judgments, number: int, hold_out: str
) -> tuple[Judgments, str, IntArray, tuple[str, ...]]:
    """Return rows, what is held out together, its number in each row, and what to say of it."""
    kind, rows, fault = hold_out, judgments, ""
    if kind == HOLD_OUT[0]:
        kind = "screen" if judgments.screen is not None else _QUESTION
        kind = "context" if judgments.context is not None else kind
    if kind in {_QUESTION, "pair"}:
        return rows, kind, _questions(rows, by_annotator=kind == _QUESTION), ()
    if kind == "row":
        # Equal judgments that were merged would be held out together.
        bare = replace(judgments, screen=None, screen_weight=None)
        split = bare.of_rows(np.repeat(np.arange(len(bare.count)), bare.count))
        ones = np.ones_like(split.count)
        rows = replace(split, weight=split.weight / split.count, count=ones)
        return rows, kind, np.arange(len(rows.left)), ()
    name = judgments.context_name if kind == "context" else kind
    if kind == "screen":
        rows = replace(judgments, context=None, context_ids=None).with_context_of_screens()
    if rows.context is None:
        fault = f"The judgments have no {kind}s."
    else:
        group, none = rows.context.astype(np.int64), rows.context < 0
        fault = _unfit(name, rows.context, rows.weight, number)
        if not fault:
            if none.any():  # of no context: by question
                group[none] = int(group.max()) + 1 + _questions(rows)[none]
            if kind == "screen":
                rows = replace(rows, context=None, context_ids=None)
            return rows, name, group, ()
    if hold_out == kind:
        raise TooLittleDataError(
            f"{judgments.source}: {fault} Choose {option('hold-out', _QUESTION)}."
        )
    return judgments, _QUESTION, _questions(judgments), () if rows.context is None else (fault,)


def _unfit(name: str, context: CodeArray, weight: FloatArray, number: int) -> str:
    """Say why whole contexts or screens cannot be held out; nothing if they can."""
    codes, index = np.unique(context[context >= 0], return_inverse=True)
    share = float(sums(index, weight[context >= 0], len(codes)).max(initial=0.0) / weight.sum())
    if len(codes) < number:
        fault = f"there {'is' if len(codes) == 1 else 'are'} only {len(codes)} for {number} folds"
    elif share > _LARGEST:
        fault = f"one has {share:.0%} of the judgments"
    else:
        return ""
    return f"Whole {name}s cannot be held out: {fault}."


def _numbered(codes: IntArray) -> IntArray:
    return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.int64)


def _questions(judgments: Judgments, *, by_annotator: bool = True) -> IntArray:
    """Return the number of each row's pair, whichever side the items were on, by annotator."""
    both = np.sort(np.stack([judgments.left, judgments.right]).astype(np.int64), axis=0)
    pair = _numbered(both[0] * judgments.n_items + both[1])
    if not by_annotator:
        return pair
    return _numbered(judgments.annotator.astype(np.int64) * (int(pair.max()) + 1) + pair)


def _sample(
    judgments: Judgments, name: str, group: IntArray, most: int, random: np.random.Generator
) -> tuple[IntArray, str]:
    """Return the rows of a sample of contexts, else of annotators, else of questions."""
    enough = judgments.n_annotators * most >= _FEWEST_ANNOTATORS * judgments.n_judgments
    by_annotator = enough and name in ("question", "row")
    codes = _numbered(judgments.annotator.astype(np.int64) if by_annotator else group)
    sizes = sums(codes, judgments.count, int(codes.max()) + 1)
    order = random.permutation(len(sizes))
    chosen = np.zeros(len(sizes), dtype=bool)
    chosen[order[np.cumsum(sizes[order]) <= most]] = True
    what = count(int(chosen.sum()), "annotator" if by_annotator else name)
    return np.flatnonzero(chosen[codes]), what


def _assigned(
    judgments: Judgments, group: IntArray, n: int, number: int, random: np.random.Generator
) -> IntArray:
    """Return the fold of each group: folds alike in weight, with everybody in more than one.

    An annotator or item all of whose groups are in one fold would be unknown when that is held out.
    """
    weight = sums(group, judgments.weight, n)
    shuffled = random.permutation(n)
    fold, loads = np.empty(n, dtype=np.int64), np.zeros(number)
    for u in shuffled[np.argsort(-weight[shuffled], kind="stable")].tolist():
        fold[u] = loads.argmin()
        loads[fold[u]] += weight[u]
    # Groups of annotators and items that are in one fold alone are moved, where they have another.
    codes = (judgments.left, judgments.right, judgments.annotator + np.int64(judgments.n_items))
    pairs = np.stack([np.concatenate(codes), np.tile(group, 3)], axis=1)
    member, of = np.unique(pairs, axis=0).T
    starts = np.searchsorted(member, np.arange(judgments.n_items + judgments.n_annotators + 1))
    for _ in range(_ROUNDS):
        low, high = (f.reduceat(fold[of], starts[:-1]) for f in (np.minimum, np.maximum))
        for who in np.flatnonzero((low == high) & (np.diff(starts) > 1)).tolist():
            own = of[starts[who] : starts[who + 1]]
            moved = own[int(weight[own].argmin())]
            fold[moved] = (fold[moved] + 1) % number
    return fold


# ---------------------------------------------------------------------------- measures


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error and interval.

    ``clusters`` is the number of annotators or held-out groups that the standard error rests on.
    """

    value: float
    se: float
    low: float
    high: float
    clusters: int


@dataclass(frozen=True, eq=False)
class Influence:
    """An estimate by itself: its value, and how each row moved it (0 for a row it leaves out)."""

    value: float
    rows: FloatArray
    used: BoolArray

    def minus(self, other: Influence) -> Influence:
        """Return the difference from the same measure of another method: it is paired."""
        return Influence(self.value - other.value, self.rows - other.rows, self.used | other.used)


def estimate(influence: Influence, clusters: tuple[IntArray, ...]) -> Estimate:
    """Return an estimate with the largest of its clustered standard errors.

    Answers of one annotator, and those held out together, depend on each other: influences are
    summed within each cluster before they are squared.

    Examples
    --------
    >>> rows = np.array([0.1, -0.1, 0.1, -0.1])
    >>> influence = Influence(1.0, rows, np.ones(4, dtype=bool))
    >>> alone, pairs = np.arange(4), np.array([0, 1, 0, 1])
    >>> round(estimate(influence, (alone,)).se, 3)
    0.231
    >>> round(estimate(influence, (alone, pairs)).se, 3)
    0.4
    """
    se, n = nan, 0
    for cluster in clusters:
        codes = _numbered(cluster[influence.used])
        number = int(codes.max(initial=-1)) + 1
        if number > 1:  # of one, nothing tells how they vary
            total = sums(codes, influence.rows[influence.used], number)
            own = sqrt(number / (number - 1) * float(total @ total))
            se, n = (se, n) if own <= se else (own, number)
    value, reach = influence.value, float(stdtrit(n - 1, 0.5 + 0.5 * LEVEL)) * se
    return Estimate(value, se, value - reach, value + reach, n)


def measured(judgments: Judgments, predicted: FloatArray) -> dict[str, Influence]:
    """Measure predictions of left, right and tie for each row of some judgments.

    Parameters
    ----------
    judgments
        What was answered.
    predicted
        Rows by (left, right, tie).

    Examples
    --------
    >>> import aggcal
    >>> rows = aggcal.read_judgments([("ann", "a", "b", "left"), ("bob", "a", "b", "right")])
    >>> measures = measured(rows, np.array([[0.8, 0.2, 0.0], [0.8, 0.2, 0.0]]))
    >>> round(measures["log_loss"].value, 3), measures["accuracy"].value
    (0.916, 0.5)
    """
    weight = np.asarray(judgments.weight, dtype=np.float64)
    answer = np.asarray(judgments.outcome, dtype=np.float64)
    decided = answer != 0.5  # noqa: PLR2004  # a tie
    left, right, tie = np.clip(predicted, _LEAST, None).T
    ahead, behind = left / (left + right), right / (left + right)
    decided_loss = -(answer * np.log(ahead) + (1.0 - answer) * np.log(behind))
    loss = np.where(decided, decided_loss - np.log(left + right), -np.log(tie))
    if decided.all():
        # Nobody has answered with a tie: how far a method thinks it possible is not looked at.
        loss = decided_loss
    sure = np.where(ahead > behind, answer, 1.0 - answer)
    hit = np.where(np.abs(ahead - behind) < _EQUAL, 0.5, sure)
    return {
        "log_loss": _mean(loss, weight, np.ones(len(weight), dtype=bool)),
        "decided_log_loss": _mean(decided_loss, weight, decided),
        "accuracy": _mean(hit, weight, decided),
        "calibration": _slope(np.log(ahead / behind), answer, weight, decided),
    }


def _mean(values: FloatArray, weight: FloatArray, used: BoolArray) -> Influence:
    share = np.where(used, weight, 0.0)
    total = float(share.sum())
    if total <= 0.0:
        return Influence(nan, np.zeros(len(weight)), used)
    mean = float(share @ values) / total
    return Influence(mean, share * (values - mean) / total, used)


def _slope(logit: FloatArray, answer: FloatArray, weight: FloatArray, used: BoolArray) -> Influence:
    """Return the slope of the answers in the logit that was predicted for them.

    A logistic regression without an intercept, so that it does not matter which item was called
    left. 1 is calibrated; below it, predictions are too extreme, above it, too timid.
    """
    share = np.where(used, weight, 0.0)

    def scores(slope: float) -> FloatArray:
        return np.asarray(share * logit * (answer - expit(slope * logit)))

    if not scores(-_STEEPEST).sum() > 0.0 > scores(_STEEPEST).sum():
        return Influence(nan, np.zeros(len(weight)), used)
    slope = float(brentq(lambda slope: scores(slope).sum(), -_STEEPEST, _STEEPEST, xtol=_CLOSE))
    p = expit(slope * logit)
    information = float(share @ (logit * logit * p * (1.0 - p)))
    return Influence(slope, scores(slope) / information, used)


# ---------------------------------------------------------------------------- comparison


@dataclass(frozen=True)
class Measured:
    """A method, what was measured of it, and how far that is from the reference.

    ``place`` is that among the candidates, the simplest first; ``behind`` says how much larger its
    log-loss is than that of the best.
    """

    candidate: Candidate
    place: int
    values: dict[str, Estimate]
    differences: dict[str, Estimate]
    behind: Estimate

    @property
    def label(self) -> str:
        """What it is called."""
        return self.candidate.label

    @property
    def near(self) -> bool:
        """Whether it is within one standard error of the best, or nearly as good as it."""
        return self.behind.value <= _NEGLIGIBLE or self.behind.value <= self.behind.se

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        result = {"level": self.candidate.level, "options": self.candidate.words}
        for name in MEASURES:
            difference = asdict(self.differences[name])
            result[name] = {**asdict(self.values[name]), "difference": difference}
        return result | {"behind_best": asdict(self.behind), "within_one_se": self.near}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods and terms by how well they predict judgments that were held out.

    ``measured`` has the methods, the lowest log-loss first; ``left_out`` those that could not be
    compared, and why; ``judgments`` what was compared, whole.
    """

    source: str
    measured: tuple[Measured, ...]
    reference: str
    held_out: str
    folds: int
    seed: int
    n_judgments: int
    n_whole: int
    n_units: int
    n_annotators: int
    left_out: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    judgments: Judgments | None = field(default=None, repr=False)
    backend: str | None = None

    @property
    def best(self) -> Measured:
        """The method with the lowest log-loss."""
        return self.measured[0]

    @cached_property
    def choice(self) -> Measured:
        """The simplest method within one standard error of the best."""
        return min((one for one in self.measured if one.near), key=lambda one: one.place)

    @property
    def chosen(self) -> str:
        """Name of the chosen method, with its terms."""
        return self.choice.label

    @property
    def options(self) -> dict[str, Any]:
        """What to give to `aggregate` for the chosen method."""
        return self.choice.candidate.options

    @cached_property
    def why(self) -> str:
        """Say in one sentence what was chosen, and why."""
        one, best, behind = self.choice, self.best, self.choice.behind
        how = f"{self.folds} folds of whole {self.held_out}s, seed {self.seed}"
        if self.n_judgments < self.n_whole:
            how += f", a sample of {self.n_judgments:,} of {self.n_whole:,} judgments"
        loss = one.values["log_loss"].value
        if one is not best:
            return (
                f"{one.label} was chosen as the simplest method within one standard error of the "
                f"best, {best.label}: its held-out log-loss is {loss:.4f}, larger by "
                f"{behind.value:.4f} (standard error {behind.se:.4f}; {how})."
            )
        simpler = any(other.place < one.place for other in self.measured)
        rest = "no simpler method is within one standard error" if simpler else "it is the simplest"
        return (
            f"{one.label} was chosen because its held-out log-loss, {loss:.4f}, is the lowest and "
            f"{rest} ({how})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        return {
            "chosen": self.chosen,
            "why": self.why,
            "best": self.best.label,
            "reference": self.reference,
            "folds": self.folds,
            "seed": self.seed,
            "held_out": self.held_out,
            "n_held_out": self.n_units,
            "n_annotators": self.n_annotators,
            "n_judgments": self.n_judgments,
            "n_judgments_given": self.n_whole,
            "methods": {one.label: one.to_dict() for one in self.measured},
            "left_out": dict(self.left_out),
            "notes": list(self.notes),
        }


def compared(
    judgments: Judgments,
    methods: Sequence[str | Aggregator] | None = None,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    sample: int | None = SAMPLE,
    hold_out: str = HOLD_OUT[0],
) -> Comparison:
    """Compare methods on judgments in memory (see `aggcal.compare_methods`).

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=6, annotators=5, judgments=200, seed=2)
    >>> compared(aggcal.read_judgments(study.judgments), ["tcv"]).chosen
    'btl'
    """
    judgments = judgments.as_pairs()  # of ratings those that they imply
    candidates = candidates_of(judgments, methods)
    parted = folds_of(judgments, folds, seed, sample, hold_out)
    predicted, left_out, notes = _predictions(candidates, parted, seed)
    if BTL.name in left_out:
        raise TooLittleDataError(f"{judgments.source}: {left_out[BTL.name]}")
    rows = parted.judgments
    clusters = parted.group, rows.annotator.astype(np.int64)
    influences = {label: measured(rows, chances) for label, chances in predicted.items()}
    reference = influences[BTL.name]
    best = min(influences.values(), key=lambda own: own["log_loss"].value)["log_loss"]
    results = [
        Measured(
            each.for_all(judgments),
            place,
            {name: estimate(own[name], clusters) for name in MEASURES},
            {name: estimate(own[name].minus(reference[name]), clusters) for name in MEASURES},
            estimate(own["log_loss"].minus(best), clusters),
        )
        for place, each in enumerate(candidates)
        if (own := influences.get(each.label))
    ]
    results.sort(key=lambda one: (one.values["log_loss"].value, one.place))
    n_clusters = results[0].values["log_loss"].clusters
    if n_clusters < _ROUGH:
        what = parted.held_out if n_clusters == parted.n_groups else "annotator"
        notes.append(f"Standard errors are rough: they rest on {count(n_clusters, what)}.")
    return Comparison(
        source=judgments.source,
        measured=tuple(results),
        reference=BTL.name,
        held_out=parted.held_out,
        folds=folds,
        seed=seed,
        n_judgments=rows.n_judgments,
        n_whole=parted.n_whole,
        n_units=parted.n_groups,
        n_annotators=rows.n_annotators,
        left_out=left_out,
        notes=(*parted.notes, *notes),
    )


def _predictions(
    candidates: list[Candidate], folds: Folds, seed: int
) -> tuple[dict[str, FloatArray], dict[str, str], list[str]]:
    """Let every candidate predict every fold from the others; also say which could not."""
    predicted: dict[str, FloatArray] = {}
    left_out: dict[str, str] = {}
    notes: list[str] = []
    parts = [folds.parts(k) for k in range(folds.number)]
    total = len(candidates) * folds.number
    for j, each in enumerate(candidates):
        chances, not_converged = np.empty((len(folds.fold), 3)), 0
        for k, (train, test) in enumerate(parts):
            report("comparing methods", j * folds.number + k, total)
            try:
                with listening(lambda *_: None), unsaid():  # single fits report nothing
                    fit = each.make(seed).fit(train)
                    chances[folds.fold == k] = _outcomes(fit, test)
            except Exception as error:
                refused = isinstance(error, AggcalError)
                if not refused and each.method in METHODS.own:
                    raise
                # A method of somebody else's: what is wrong with it must not cost the others.
                fault = f"it failed ({type(error).__name__}: {error})."
                left_out[each.label] = ended(str(error)) if refused else fault
                break
            not_converged += fit.convergence is not None and not fit.convergence.converged
        else:
            predicted[each.label] = chances
        if not_converged:
            of = count(folds.number, "fold")
            notes.append(f"{each.label} did not converge in {not_converged} of {of}.")
    return predicted, left_out, notes


def _outcomes(fit: Consensus, test: Judgments) -> FloatArray:
    """Return the probabilities of left, right and tie that a fit gives to each row."""
    if fit.quantifier is None:
        raise OptionError("it gives no probabilities of judgments.")
    return fit.outcome_probabilities(test)


@dataclass(frozen=True)
class Auto:
    """Compares the methods on held-out judgments and fits the simplest that predicts well.

    Parameters
    ----------
    seed
        Seed for all random numbers.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=4, annotators=3, judgments=30, seed=1)
    >>> print(Auto().fit(aggcal.read_judgments(study.judgments)).selection["why"])
    hra-g was used because methods could not be compared (judgments: 30 judgments cannot tell
    methods apart; at least 50 are needed).
    """

    seed: int = 0
    name: str = field(default=registry.AUTO.name, init=False, repr=False)

    def fit(self, judgments: Judgments, /, *, on_iteration: Progress | None = None) -> Consensus:
        """Choose, and fit all judgments by what was chosen."""
        chosen = Candidate(DEFAULT_METHOD, 1, DEFAULT_METHOD)
        record: dict[str, Any] = {"chosen": DEFAULT_METHOD, "notes": []}
        try:
            comparison = compared(judgments, seed=self.seed)
        except TooLittleDataError as error:
            why = f"methods could not be compared ({str(error).rstrip('.')})"
            record["why"] = f"{DEFAULT_METHOD} was used because {why}."
        else:
            chosen, record = comparison.choice.candidate, comparison.to_dict()
            if judgments.categories and not (chosen.terms or DEFAULT).categories:
                record["notes"].append(
                    f"Categories, given with {option('by')}, do not improve predictions, so items "
                    f"have one score for all; {option('method', DEFAULT_METHOD)} gives scores by "
                    "category."
                )
        fit = Adapted(chosen.make(self.seed)).fit(judgments, on_iteration=on_iteration)
        return replace(fit, selection=record)
