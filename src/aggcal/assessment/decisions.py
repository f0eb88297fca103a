"""From scores to decisions: who is in, who is out, and which marks are doubtful."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtr

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import Columns, aligned, as_frame
from aggcal._core.text import card, head, unwrapped, wrapped
from aggcal.advice.guarantees import listed, top_said
from aggcal.aggregation.claims import IN, OPEN, OUT
from aggcal.aggregation.groups import n_components
from aggcal.aggregation.ranks import NEARLY, stated
from aggcal.assessment.tables import beside, shown_score
from aggcal.calibration.anchored import anchored_above
from aggcal.calibration.result import chance_above
from aggcal.errors import DirectionWarning, OptionError, count
from aggcal.registry import limits
from aggcal.registry.limits import VERDICT_ERROR

if TYPE_CHECKING:
    from aggcal.assessment.result import Assessment

_ROUNDING = 1e-12  # 1 - 0.95 is not quite 0.05
_CROWDED = 0.01
"""Share of the top k that items never drawn may have together: with more, the probabilities of
thousands of them would add up to more than k."""


@dataclass(frozen=True)
class Wishes:
    """What is to be decided, checked before anything is fitted: see `Assessment.decide`.

    Grades are their lower boundaries; of a mapping, ``letters`` are what they are called, that
    below all of them included.

    Examples
    --------
    >>> Wishes(top=3).any, Wishes().any
    (True, False)
    >>> graded = Wishes(grades={"A": 70, "B": 60})
    >>> graded.grades, graded.letters
    ((60.0, 70.0), ('below B', 'B', 'A'))
    >>> Wishes(grades=(40, 50)).letters
    ('below 40', '40 to 50', '50 and above')
    >>> Wishes(grades=(50, 40))
    Traceback (most recent call last):
    aggcal.errors.OptionError: the grades 50, 40 do not rise; give the lowest boundary first.
    """

    top: int | None = None
    cut: float | None = None
    grades: Mapping[str, float] | Sequence[float] = ()
    error: float = VERDICT_ERROR
    letters: tuple[str, ...] = field(default=(), init=False)
    bounds: str = field(default="", init=False)
    """The grades with their boundaries, for a sentence."""

    def __post_init__(self) -> None:
        limits.check(top=self.top, cut=self.cut, error=self.error)
        named = self.grades if isinstance(self.grades, Mapping) else None
        ends = tuple(map(float, (self.grades if named is None else named.values()) or ()))
        if not all(map(isfinite, ends)):
            raise OptionError("a grade boundary is not finite; give numbers.")
        ends = ends if named is None else tuple(sorted(ends))
        if any(a >= b for a, b in pairwise(ends)):
            shown = ", ".join(f"{end:g}" for end in ends)
            raise OptionError(f"the grades {shown} do not rise; give the lowest boundary first.")
        object.__setattr__(self, "grades", ends)
        letters = _letters(ends, named)
        from_ = (f"{letter} from {end:g}" for letter, end in zip(letters[1:], ends, strict=True))
        bounds = (
            f"at {', '.join(f'{end:g}' for end in ends)}" if named is None else ", ".join(from_)
        )
        object.__setattr__(self, "letters", letters)
        object.__setattr__(self, "bounds", bounds)

    @property
    def any(self) -> bool:
        """Whether anything is to be decided."""
        return not (self.top is self.cut is None) or bool(self.grades)


def _letters(ends: Sequence[float], named: Mapping[str, float] | None) -> tuple[str, ...]:
    """Return what grades are called, the lowest first: no spreadsheet takes them for dates."""
    if not ends:
        return ()
    if named is not None:
        own = sorted(map(str, named), key=lambda name: float(named[name]))
        return (f"below {own[0]}", *own)
    shown = [f"{end:g}" for end in ends]
    between = (f"{a} to {b}" for a, b in pairwise(shown))
    return (f"below {shown[0]}", *between, f"{shown[-1]} and above")


def check_top(top: int | None, items: int) -> None:
    """Refuse as many places as there are items, or more: nothing is to be decided then.

    Examples
    --------
    >>> check_top(3, 3)
    Traceback (most recent call last):
    aggcal.errors.OptionError: top is 3, and there are only 3 items; give fewer than that.
    """
    if top is not None and top >= items:
        raise OptionError(
            f"top is {top:,}, and there are only {count(items, 'item')}; give fewer than that."
        )


@dataclass(frozen=True, eq=False)
class Decisions:
    """What was decided: a row for each item, in the order of ``items.csv``.

    ``p_top_k`` and ``p_above`` are probabilities, NaN where none is claimed; ``unclaimed`` says
    why. ``best`` are the k items that are most probably among the first k, and ``best_right`` how
    many of them are expected to be. ``surely`` says which items surely are.
    """

    wishes: Wishes
    item_ids: TextArray
    columns: Columns = field(repr=False)
    best: tuple[str, ...] = ()
    best_right: float | None = None
    surely: str = ""
    unclaimed: dict[str, str] = field(default_factory=dict)
    backend: str | None = None

    @property
    def items(self) -> Any:
        """The table, in the frame library the user came with."""
        return as_frame({"item": self.item_ids, **self.columns}, self.backend)

    @property
    def counts(self) -> dict[str, int]:
        """How many items have each verdict."""
        found = list(self.columns.get("verdict", ()))
        return {word: found.count(word) for word in (IN, OPEN, OUT)}

    @property
    def uncertain(self) -> list[str]:
        """The items whose interval crosses a boundary of the grades, or all if none is claimed."""
        column = self.columns.get("uncertain", np.zeros(0))
        return [str(i) for i, odd in zip(self.item_ids, column, strict=False) if odd]

    @property
    def says(self) -> list[str]:
        """What was decided, in sentences."""
        found = [*self._verdicts(), *self._best(), *self._grades()]
        return [*found, *self._unclaimed()]

    def _verdicts(self) -> list[str]:
        wishes, found = self.wishes, self.counts
        said = [self.surely] if self.surely else []
        if wishes.cut is None or not any(found.values()):
            return said
        about = f"above {wishes.cut:g}"
        if wishes.top is not None:
            about = f"top {wishes.top:,} and {about}"
        listed = ", ".join(f"{number:,} {word}" for word, number in found.items())
        sure = f"(in and out: with probability {1.0 - wishes.error:g} or more)"
        return [*said, f"{about[0].upper()}{about[1:]}: {listed} {sure}."]

    def _best(self) -> list[str]:
        k = len(self.best)
        if self.best_right is None or k == 1:  # who could be the best is claimed
            return []
        right = f"expected to be right: {self.best_right:.1f}"
        return [f"Best set of {k:,} ({right}): {listed(self.best)}."]

    def _grades(self) -> list[str]:
        if "uncertain" not in self.columns or "grades" in self.unclaimed:
            return []
        odd, bounds = self.uncertain, self.wishes.bounds
        graded = sum(each is not None for each in self.columns["grade"])
        if not odd:
            return [f"Grades {bounds}: no interval crosses a boundary."]
        crosses = f"intervals of {len(odd):,} of {count(graded, 'score')} cross a boundary"
        return [f"Grades {bounds}: {crosses}: {listed(odd)}."]

    def _unclaimed(self) -> list[str]:
        names = {
            "top": f"being among the first {self.wishes.top}",
            "cut": f"being above {0.0 if self.wishes.cut is None else self.wishes.cut:g}",
            "grades": "the grades",
        }
        return [
            f"Nothing is claimed about {names[part]}: {why}."
            for part, why in self.unclaimed.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as in ``summary.json``."""
        wishes = self.wishes
        found: dict[str, Any] = {"error": wishes.error}
        if wishes.top is not None:
            found["top"] = wishes.top
            found["best_set"] = list(self.best)
            found["best_set_expected_right"] = self.best_right
        if wishes.cut is not None:
            found["cut"] = wishes.cut
        if "verdict" in self.columns:
            found["verdicts"] = self.counts
        if wishes.grades:
            found |= {"grades": list(wishes.grades), "uncertain": self.uncertain}
            found["letters"] = list(wishes.letters)
        return found | {"not_claimed": self.unclaimed, "says": self.says}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        return wrapped(f"Decisions on {count(len(self.item_ids), 'item')}", *self.says)

    def _repr_html_(self) -> str:
        title, *notes = unwrapped(str(self))
        columns: Columns = {"item": self.item_ids, **self.columns}
        return card(title, head(columns, columns), rows=len(self.item_ids), notes=notes)


def decided(result: Assessment, base: Columns, wishes: Wishes) -> Decisions:
    """Decide what was asked for.

    Parameters
    ----------
    result
        Both stages.
    base
        The items' table without what is decided.
    wishes
        What to decide.
    """
    unclaimed: dict[str, str] = {}
    columns: Columns = {}
    more: dict[str, Any] = {}
    verdicts = []
    # Of two conditions each is decided at half of the error: both are then right together.
    error = wishes.error / (1 if wishes.cut is None or wishes.top is None else 2)
    if wishes.top is not None:
        columns["p_top_k"], verdict, more = _top(result, base, wishes.top, error, unclaimed)
        verdicts.append(verdict)
    if wishes.cut is not None:
        columns["p_above"], why = _above(result, base, wishes.cut)
        unclaimed |= {"cut": why} if why else {}
        verdicts.append(_verdicts(columns["p_above"], error))
    if verdicts:
        columns["verdict"] = _together(*verdicts)
    if wishes.grades:
        columns |= _graded(result, base, wishes, unclaimed)
    part = result.calibration or result.consensus
    backend = None if part is None else part.backend
    return Decisions(wishes, base["item"], columns, **more, unclaimed=unclaimed, backend=backend)


def _top(
    result: Assessment, base: Columns, k: int, error: float, unclaimed: dict[str, str]
) -> tuple[FloatArray, np.ndarray, dict[str, Any]]:
    """Return the probabilities of being among the first k, the verdicts, and what else is said."""
    consensus, items = result.consensus, base["item"]
    if consensus is None:
        raise OptionError("top needs the judgments; use assess or aggregate (aggcal run).")
    check_top(k, len(consensus.item_ids))
    ids, more = consensus.item_ids, dict[str, Any]()
    chance, verdict = np.full(len(items), np.nan), np.full(len(items), None, dtype=object)
    claims, known = consensus.claims(1.0 - error), consensus.uncertainty
    if claims is not None:
        more["surely"] = top_said(consensus, claims, k)
        verdict = beside({"verdict": claims.verdicts(k)}, ids, items)["verdict"]
    why = unclaimed_order(result)
    shares = None if why or known is None else known.top_probabilities(np.array([k]))
    if shares is None:
        unclaimed["top"] = why
    else:
        found = stated(shares[:, 0], min(1.0 - NEARLY, _CROWDED * k / len(ids)))
        chance = aligned(found, ids, items)
        best = np.lexsort((-consensus.scores, -found))[:k]
        more |= {"best": tuple(map(str, ids[best])), "best_right": float(found[best].sum())}
    return chance, verdict, more


def _above(result: Assessment, base: Columns, cut: float) -> tuple[FloatArray, str]:
    """Return the probabilities of being above a cut, and why there are none."""
    items, nothing = base["item"], np.full(len(base["item"]), np.nan)
    if why := unclaimed_scores(result):
        return nothing, why
    if result.calibration is not None:
        return chance_above(result.calibration, cut), ""
    consensus = result.consensus
    if consensus is None or consensus.uncertainty is None:
        return nothing, "there are no standard errors"
    if result.anchored is not None:
        return aligned(anchored_above(result.anchored, cut), consensus.item_ids, items), ""
    known = consensus.uncertainty
    at = cut if result.scale is None else result.scale.score(cut)
    drawn = known.draws()
    if drawn is not None:
        found = stated(np.mean(drawn > at, axis=0))
    else:
        found = np.asarray(stdtr(known.degrees_of_freedom, (known.scores - at) / known.se), float)
    return aligned(found, consensus.item_ids, items), ""


def unclaimed_order(result: Assessment) -> str:
    """Return why nothing is claimed of ranks; nothing where it is.

    Examples
    --------
    >>> import aggcal
    >>> unclaimed_order(aggcal.assess([("ann", "a", "b"), ("bob", "c", "d")], warn=False))
    'the comparisons form 2 connected components, with too few comparisons between them, or none'
    """
    known = None if result.consensus is None else result.consensus.uncertainty
    if known is None:
        return "there are no standard errors"
    record = None if result.consensus is None else result.consensus.convergence
    if record is not None and not record.converged:
        return "the fit did not converge"
    parts = n_components(known.component)
    if parts > 1:
        return (
            f"the comparisons form {parts:,} {known.divided}, with too few comparisons between "
            "them, or none"
        )
    return ""


def unclaimed_scores(result: Assessment) -> str:
    """Return why nothing is claimed of where scores lie; nothing where it is.

    Intervals that cover the truth rest on anchors, not on who was compared with whom.
    """
    calibration, anchored = result.calibration, result.anchored
    if calibration is not None:
        if calibration.covers is None:
            return "there are no intervals"
        if calibration.measured is not None:
            return ""
        if any(isinstance(each, DirectionWarning) for each in calibration.warnings):
            return "the model's scores fall where the consensus rises"
        return "" if result.consensus is None else unclaimed_order(result)
    if anchored is not None:
        return "" if anchored.measured else "the anchors are too few"
    return unclaimed_order(result)


def _verdicts(chance: FloatArray, error: float) -> np.ndarray:
    """Return the verdicts by probabilities; None where there is none.

    Examples
    --------
    >>> _verdicts(np.array([0.97, 0.9, 0.05, np.nan]), 0.05)
    array(['in', 'open', 'out', None], dtype=object)
    """
    found = np.full(len(chance), OPEN, dtype=object)
    found[chance >= 1.0 - error - _ROUNDING] = IN
    found[chance <= error + _ROUNDING] = OUT
    found[np.isnan(chance)] = None
    return found


def _together(*verdicts: np.ndarray) -> np.ndarray:
    """Return the verdict on several conditions at once: in if all are, out if one is.

    Examples
    --------
    >>> _together(np.array(["in", "in", "open"]), np.array(["in", "open", "out"])).tolist()
    ['in', 'open', 'out']
    """
    found = np.full(len(verdicts[0]), OPEN, dtype=object)
    found[np.logical_and.reduce([each == IN for each in verdicts])] = IN
    found[np.logical_or.reduce([each == None for each in verdicts])] = None  # noqa: E711
    found[np.logical_or.reduce([each == OUT for each in verdicts])] = OUT
    return found


def _graded(
    result: Assessment, base: Columns, wishes: Wishes, unclaimed: dict[str, str]
) -> Columns:
    """Return the grade of each item, and whether its interval crosses a boundary."""
    key = shown_score(result)
    score, low, high = (
        np.asarray(base[name], dtype=np.float64) if name in base else None
        for name in (key, f"{key}_low", f"{key}_high")
    )

    def grade(values: FloatArray) -> np.ndarray:
        return np.searchsorted(np.array(wishes.grades), values, side="right")

    assert score is not None  # noqa: S101  # it is what the table is about
    place = np.isfinite(score)
    letters = np.array(wishes.letters, dtype=object)
    given: Any = np.where(place, letters[grade(score)], None)
    found: Columns = {"grade": given}
    why = unclaimed_scores(result)
    if not why and (low is None or high is None):
        why = "there are no intervals"
    odd = np.full(len(score), None, dtype=object)
    if why or low is None or high is None:
        unclaimed["grades"] = why
        odd[place] = True
    else:
        sure = place & np.isfinite(low) & np.isfinite(high)
        crosses = grade(low) != grade(high)
        # No coverage is claimed for a score between neighbours; that it is doubtful, is.
        own = np.array([each != "interpolated" for each in base.get("score_source", score)])
        odd[sure & (own | crosses)] = crosses[sure & (own | crosses)]
    return found | {"uncertain": odd}
