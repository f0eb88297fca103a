"""How dependence between answers is described: the same sentence on every surface."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

from aggcal.aggregation.uncertainty.robust import Factor

NEGLIGIBLE = 1.05
"""Factor of the errors below which dependence is not mentioned: it would be printed as 1.0."""
SERIOUS = 2.0
"""Factor of the variance from which dependence is a problem and not a note: half as many answers
would tell as much if they were independent."""
_TOGETHER, _WEIGHT = "all", "weight"
_REASONS = {
    "question": "answers to the same question agree more than the fitted curve says",
    "annotator": "answers of the same annotator agree (tastes, or acts that nothing names)",
    "weight": "weights count one row as several answers",
    "act": "answers given together agree",
    "context": "answers in the same context agree",
}
_MORE = {
    "question": "more questions",
    "annotator": "more annotators",
    "act": "more rankings, ratings or screens",
    "context": "more contexts",
}


def widest(factors: Sequence[Factor]) -> Factor | None:
    """Return the grouping that widens errors most; None where answers look independent.

    Examples
    --------
    >>> widest([Factor("question", 2.5, 0.05, 40), Factor("annotator", 1.0, 0.05, 40)]).name
    'question'
    >>> widest([Factor("annotator", 1.0, 0.05, 40)]) is None
    True
    """
    most = max(factors, key=lambda factor: factor.used, default=None)
    return None if most is None or sqrt(most.used) < NEGLIGIBLE else most


def dependence(factors: Sequence[Factor]) -> str:
    """Say how much larger errors are because answers depend on each other, and why.

    Empty where no factor could be estimated.

    Parameters
    ----------
    factors
        The factors of the groupings: ``annotator``, ``question``, ``act`` and ``context`` (or the
        name of its column), and ``all`` of them together.

    Examples
    --------
    >>> print(dependence([Factor("question", 2.5, 0.05, 40), Factor("annotator", 1.0, 0.05, 40)]))
    Errors are 1.6 times as large as if all answers were independent, because answers to the same
    question agree more than the fitted curve says (question 1.6, annotator 1.0; chance gives up to
    1.05).
    >>> print(dependence([Factor("annotator", 1.0, 0.05, 40)]))
    Errors are as large as if all answers were independent (annotator 1.0; chance gives up to 1.05).
    """
    if not factors:
        return ""
    most = widest(factors)
    if most is None:
        return f"Errors are as large as if all answers were independent {_numbers(factors)}."
    if not beyond_chance(most):
        return f"{title(most)}, to be safe: chance can look like this {_numbers(factors)}."
    return f"{title(most)}, because {reasons(most, factors)}."


def reasons(most: Factor, factors: Sequence[Factor]) -> str:
    """Say which answers agree, and how much that widens errors.

    Examples
    --------
    >>> [most] = [Factor("question", 2.5, 0.05, 40)]
    >>> reasons(most, [most])
    'answers to the same question agree more than the fitted curve says (question 1.6; chance gives
    up to 1.05)'
    >>> both = [most, Factor("weight", 2.4, 0.05, 0)]
    >>> reasons(most, both)
    'weights count one row as several answers (question 1.6, weight 1.5; chance gives up to 1.05)'
    """
    names = _names(most, factors)
    said = [_REASONS.get(name, f"answers about the same {name} agree") for name in names]
    return f"{' and '.join(said)} {_numbers(factors)}"


def beyond_chance(most: Factor) -> bool:
    """Whether independent answers would give so large a factor in one study of forty at most."""
    return most.squared > 1.0 + 2.0 * most.chance_sd


def _numbers(factors: Sequence[Factor]) -> str:
    """Write the factor of each grouping, and what chance gives."""
    most = widest(factors)
    each = ", ".join(
        f"{'all together' if factor.name == _TOGETHER else factor.name} "
        f"{sqrt(max(factor.squared, 1.0)):.1f}"
        for factor in factors
    )
    # Two standard deviations: chance gives more in one study of forty.
    sd = max(factor.chance_sd for factor in factors) if most is None else most.chance_sd
    return f"({each}; chance gives up to {sqrt(1.0 + 2.0 * sd):.3g})"


def title(most: Factor) -> str:
    """Say by how much errors are larger, in a few words.

    Examples
    --------
    >>> title(Factor("question", 2.5, 0.05, 40))
    'Errors are 1.6 times as large as if all answers were independent'
    """
    return f"Errors are {sqrt(most.used):.1f} times as large as if all answers were independent"


def remedy(most: Factor, factors: Sequence[Factor]) -> str:
    """Say what would make errors smaller.

    Examples
    --------
    >>> print(remedy(Factor("question", 2.5, 0.05, 40), []))
    Intervals and claims allow for it. To narrow them, ask for more questions: more of what is there
    adds little.
    """
    names, allowed = _names(most, factors), "Intervals and claims allow for it."
    if names == [_WEIGHT]:
        return f"{allowed} If weights are no numbers of answers, divide them by Σw²/Σw."
    more = " and ".join(_MORE.get(name, f"more values of '{name}'") for name in names)
    return f"{allowed} To narrow them, ask for {more}: more of what is there adds little."


def _names(most: Factor, factors: Sequence[Factor]) -> list[str]:
    """Return which groupings to name: the widest, or the wide ones where all together are.

    Weights widen every grouping, and what answers of an act share, their annotator's share, too:
    only what widens more than these is named beside them.
    """
    by_name = {factor.name: factor for factor in factors}

    def beyond(name: str, inner: str) -> bool:
        if inner not in by_name:
            return True
        outer, within = by_name[name], by_name[inner]
        return outer.squared > within.squared * (1.0 + 2.0 * outer.chance_sd)

    single = [name for name in by_name if name not in {_TOGETHER, _WEIGHT}]
    if most.name == _TOGETHER:
        names = [name for name in single if sqrt(by_name[name].used) >= NEGLIGIBLE] or single
    else:
        names = [most.name]
    if not any(beyond(name, _WEIGHT) for name in names):
        return [_WEIGHT]
    if "annotator" in names and not beyond("annotator", "act"):
        names = [name for name in names if name not in {"annotator", "act"}] + ["act"]
    return names
