"""Whether annotators agree, stand along one axis, or form camps: told by held-out annotators.

Each candidate is fitted without some annotators and asked how probable all answers of those are.
Only what annotators have in common helps there: tastes of one's own are no camp, however strong.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, sums
from aggcal._core.text import brief
from aggcal.aggregation.general.fit import GeneralFit
from aggcal.aggregation.general.mixture import Mixture, Seen, Shape, Values
from aggcal.aggregation.general.mixture_fit import MixtureFit, fit_mixture
from aggcal.aggregation.general.problem import Problem
from aggcal.errors import count
from aggcal.models.general.annotators import POSITION, READINESS, RELIABILITY
from aggcal.models.general.design import SCORES
from aggcal.models.general.thinning import Thinning

ONE, AXIS, TWO, THREE = "one order", "an axis", "two camps", "three camps"
_NUMBER = {TWO: 2, THREE: 3}
FEWEST = 6
"""Annotators from which on camps are looked for: of fewer, a camp would be one or two people."""
_FOLDS = 8
"""Groups of annotators that are held out in turn: more take longer, fewer leave camps too small."""
_BY_LOT = 2
"""Starts by lot, beside the one that the residuals suggest."""
_APART, _LEAST = 0.7, 0.3
"""Spread of what camps and an axis add, to begin with, and that of an axis at least, relative to
that of the scores: at 0 nothing pulls them away from it."""
MOST_ITEMS = 600
"""Items up to which camps are looked for: every step solves for the scores of all camps at once."""
_CLEARLY = 2.0
"""Standard errors by which a richer model must predict held-out annotators better."""
_WORTH = 2.0
"""Nats by which it must do so in all: less is not worth a claim about people."""
_SIGN = 1.0
"""Log evidence of all answers below which nothing is held out: there is no sign of a difference."""
_SAMPLE, _ENOUGH = 40_000, 40
"""Rows that tell of what kind the differences are: of more, some annotators are looked at; but no
fewer than so many, as it is annotators that are counted."""


@dataclass(frozen=True, eq=False)
class Decision:
    """Of what kind the differences between annotators are."""

    kind: str
    """`ONE`, `AXIS`, `TWO` or `THREE`."""
    gains: dict[str, tuple[float, float]]
    """How much better each predicts held-out annotators than one order: nats, standard error."""
    over_axis: tuple[float, float] | None = None
    """The same of the better number of camps over the axis."""
    not_looked: str = ""
    """Why camps were not looked for; nothing where they were."""

    __repr__ = brief


def seen_by(problem: Problem, fit: GeneralFit) -> Seen:
    """Return the answers of a fit, all but scores and reliabilities taken as it found them."""
    layout, known, state = problem.layout, fit.known, fit.state
    x = state.unknowns[: layout.design.size].copy()
    x[layout.design.blocks[SCORES].where] = 0.0
    rows = layout.rows
    means = {name: known.mean(known.of(name)) for name in known.names if name != RELIABILITY}
    lean = rows.per_row(means[POSITION]) if POSITION in means else np.zeros(len(rows))
    ready = np.full(len(rows), -np.inf)
    if READINESS in means:
        offset = layout.readiness(state.unknowns)
        ready = rows.per_row(means[READINESS]) + (0.0 if offset is None else offset)
    return Seen(
        rows, layout.design.gaps(x), lean, ready, problem.integration.outcomes, state.grades
    )


def fit_one(seen: Seen, scores: FloatArray, sd: float) -> MixtureFit:
    """Fit one order for all."""
    start = Values(scores[None], np.ones(1), sd, 1.0)
    return fit_mixture(seen, Shape.one(), start)


def _directions(seen: Seen, one: MixtureFit, number: int) -> FloatArray:
    """Return what the residuals of annotators have in common: annotators by directions."""
    looked = Mixture(seen, one.shape).evaluate(one.values)
    chances, rows, n = looked.chances(looked.classes), seen.rows, seen.rows.n_items
    force = np.zeros(len(rows))
    for share, gamma, found in zip(chances, looked.nodes, looked.terms, strict=True):
        force -= share[rows.owner] * np.sign(gamma)[rows.owner] * found.pull
    m = rows.n_annotators
    left, right = rows.owner * n + rows.left, rows.owner * n + rows.right
    table = sums(left, force, m * n) - sums(right, force, m * n)
    table = table.reshape(m, n) / np.sqrt(np.maximum(rows.given, 1e-9))[:, None]
    return np.asarray(np.linalg.svd(table, full_matrices=False)[0][:, :number])


def _groups(points: FloatArray, number: int, random: np.random.Generator) -> FloatArray:
    """Divide points into groups about means: probabilities, points by groups."""
    if number == 2:  # noqa: PLR2004
        return np.stack([points[:, 0] > 0, points[:, 0] <= 0], axis=1).astype(np.float64)
    best: tuple[float, FloatArray] | None = None
    for _ in range(5):
        centres = points[random.choice(len(points), number, replace=False)]
        for _ in range(20):
            far = ((points[:, None] - centres) ** 2).sum(axis=2)
            own = far.argmin(axis=1)
            for k in range(number):
                if (own == k).any():
                    centres[k] = points[own == k].mean(axis=0)
        value = float(far.min(axis=1).sum())
        if best is None or value < best[0]:
            best = value, np.eye(number)[own]
    assert best is not None  # noqa: S101  # several were tried
    return best[1]


def fit_camps(seen: Seen, one: MixtureFit, number: int, *, seed: int = 0) -> MixtureFit:
    """Fit so many camps: the most probable of several starts.

    Parameters
    ----------
    seen, one
        The answers, and their fit by one order.
    number
        How many camps.
    seed
        For the starts by lot.
    """
    random, m = np.random.default_rng(seed), seen.rows.n_annotators
    points = _directions(seen, one, number - 1)
    starts = [_groups(points, number, random)]
    starts += [np.eye(number)[random.permutation(m) % number] for _ in range(_BY_LOT)]
    return _best_of(seen, one, starts)


def merged(seen: Seen, one: MixtureFit, two: MixtureFit, three: MixtureFit) -> MixtureFit:
    """Return two camps, looked for once more where three are more probable.

    All starts may have missed them, which three then find: they would be claimed instead of two.
    """
    if three.evidence <= two.evidence:
        return two
    alone = [three.classes[:, k] for k in range(three.classes.shape[1])]
    starts = [np.stack([each, 1.0 - each], axis=1) for each in alone]
    found = _best_of(seen, one, starts)
    return max(two, found, key=lambda each: each.evidence)


def _best_of(seen: Seen, one: MixtureFit, starts: list[FloatArray]) -> MixtureFit:
    """Fit camps from each start, probabilities of annotators by camps; take the most probable."""
    number = starts[0].shape[1]
    shape, sd = Shape.camps(number), one.values.common_sd
    parts = np.zeros((number + 1, seen.rows.n_items))
    parts[0] = one.values.parts[0]
    begin = Values(parts, np.full(number, 1.0 / number), sd, _APART * sd, one.values.tau)
    found = [fit_mixture(seen, shape, begin, classes) for classes in starts]
    return max(found, key=lambda each: each.evidence)


def fit_line(seen: Seen, one: MixtureFit, two: MixtureFit) -> MixtureFit:
    """Fit an axis, from one order and from two camps at its ends."""
    shape, sd = Shape.axis(), one.values.common_sd
    a, b = two.scores
    parts = np.stack([0.5 * (a + b), 0.5 * (a - b)])
    size = float(np.sqrt(np.mean(parts[1] ** 2)))
    parts[1] *= max(1.0, _LEAST * sd / max(size, 1e-9))
    assert shape.shares is not None  # noqa: S101  # those of an axis are known
    return fit_mixture(seen, shape, Values(parts, shape.shares, sd, _APART * sd, one.values.tau))


def decide(seen: Seen, scores: FloatArray, sd: float, *, seed: int = 0) -> Decision:
    """Say of what kind the differences between annotators are.

    Parameters
    ----------
    seen
        The answers.
    scores, sd
        Of a fit of one order, and their spread.
    seed
        For who is held out when, and for starts.
    """
    m, rows = seen.rows.n_annotators, len(seen.rows)
    if reason := _too_small_or_large(m, seen.rows.n_items):
        return Decision(ONE, {}, not_looked=reason)
    step = min(rows // _SAMPLE, m // _ENOUGH)
    if rows > 2 * _SAMPLE and step > 1:
        seen = seen.of(Thinning(annotators=step).drawn(0, m))
        m = seen.rows.n_annotators
    one = fit_one(seen, scores, sd)
    two, three = (fit_camps(seen, one, number, seed=seed) for number in (2, 3))
    two = merged(seen, one, two, three)
    whole = {ONE: one, AXIS: fit_line(seen, one, two), TWO: two, THREE: three}
    rise = {name: each.evidence - one.evidence for name, each in whole.items()}
    if max(rise.values()) < _SIGN:
        return Decision(ONE, {})
    fold = np.random.default_rng(seed).permutation(m) % min(_FOLDS, m)
    told = {name: np.zeros(m) for name in whole}
    for k in range(int(fold.max()) + 1):
        out: BoolArray = fold == k
        kept, rest = seen.of(~out), seen.of(out)
        for name, each in whole.items():
            camps = each.classes[~out] if name in (TWO, THREE) else None
            fit = fit_mixture(kept, each.shape, each.values, camps)
            told[name][out] = Mixture(rest, fit.shape).evaluate(fit.values).evidence
    return _decided(told, {name: _gain(told[name], told[ONE]) for name in told if name != ONE})


def _too_small_or_large(annotators: int, items: int) -> str:
    """Say why camps are not looked for; nothing where they are."""
    if annotators < FEWEST:
        people = count(annotators, "annotator")
        return f"there {'is' if annotators == 1 else 'are'} only {people}; it takes {FEWEST}"
    if items > MOST_ITEMS:
        return f"there are {items:,} items; at most {MOST_ITEMS} can be searched"
    return ""


def _decided(told: dict[str, FloatArray], gains: dict[str, tuple[float, float]]) -> Decision:
    number = THREE if _surely(_gain(told[THREE], told[TWO])) else TWO
    over = _gain(told[number], told[AXIS])
    kind = ONE
    if _surely(gains[number]) and _surely(over):
        kind = number
    elif _surely(gains[AXIS]):
        kind = AXIS
    return Decision(kind, gains, over)


def _gain(one: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Return how much more probable held-out annotators are, and the standard error of that."""
    gain = one - other
    return float(gain.sum()), float(np.sqrt(len(gain)) * gain.std(ddof=1))


def _surely(gain: tuple[float, float]) -> bool:
    return gain[0] > max(_CLEARLY * gain[1], _WORTH)


@dataclass(frozen=True, eq=False)
class Found:
    """What was found of camps: who is in which, and roughly what each thinks."""

    told: Decision
    members: FloatArray
    """Probability that each annotator belongs to each camp, annotators by camps."""
    scores: FloatArray
    """Camps by items, the most probable ones given everything beside them: see `by_camp`."""

    __repr__ = brief

    @property
    def number(self) -> int:
        """How many camps there are; 0 where they do not stand out."""
        return len(self.scores)


def find_camps(problem: Problem, fit: GeneralFit, *, seed: int = 0) -> Found:
    """Look for camps beside a fit of one order.

    Parameters
    ----------
    problem, fit
        The model without an axis, and its fit.
    seed
        For who is held out when, and for starts.
    """
    seen, sd = seen_by(problem, fit), fit.state.block_sds[SCORES]
    scores = fit.state.unknowns[: seen.rows.n_items]
    told = decide(seen, scores, sd, seed=seed)
    if told.kind not in _NUMBER:
        return Found(told, np.zeros((seen.rows.n_annotators, 0)), np.zeros((0, len(scores))))
    one = fit_one(seen, scores, sd)
    found = fit_camps(seen, one, _NUMBER[told.kind], seed=seed)
    if told.kind == TWO:
        found = merged(seen, one, found, fit_camps(seen, one, 3, seed=seed))
    order = np.argsort(-found.classes.sum(axis=0), kind="stable")  # the largest camp first
    return Found(told, found.classes[:, order], found.scores[order])
