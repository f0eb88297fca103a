"""How many judgments a study needs: before it, by assumptions or a pilot; after it, how many more.

- `goals`: what should be reached. `studies`: how studies are drawn. `search`: where it is reached.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from aggcal._core.tables import Columns
from aggcal._core.text import brief, wrapped
from aggcal.advice.power.goals import EXAMPLES, Goal
from aggcal.advice.power.search import MOST, Curve, Search
from aggcal.advice.power.studies import Assumptions, Continued, Plan
from aggcal.aggregation import aggregate, check_method
from aggcal.aggregation.consensus import Consensus
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError, TooLittleDataError, count
from aggcal.registry import limits

_STUDIES, _STUDIES_RANGE = 1500, (8, 48)
"""Simulated items in all, and how many studies there are at least and at most: more make the
answer more exact, and take longer. With 50 items a default call takes about ten seconds."""
_LEAST_INFORMATION = 2.0
"""About the log of the spread of the scores: with less, it may be twice or half as large."""
_MOST_ITEMS, _FEWEST_ANNOTATORS = 400, 5
"""Of a simulated study, where the goal allows it: larger ones take longer and say the same."""

__all__ = ["EXAMPLES", "Assumptions", "Continued", "Goal", "PowerCurve", "found_power"]


@dataclass(frozen=True, eq=False)
class PowerCurve:
    """How many judgments reach a goal, on average over simulated studies."""

    goal: Goal
    plan: Plan
    curve: Curve
    method: str
    seed: int
    notes: tuple[str, ...] = field(default=())

    __repr__ = brief

    @property
    def more(self) -> bool:
        """Whether the judgments are further ones of a study that has some."""
        return self.plan.begun > 0

    @property
    def needed(self) -> int | None:
        """Judgments with which studies reach the goal on average; None where none simulated does.

        With judgments given, how many more; 0 where the goal is reached.
        """
        found = self.curve.needed()
        return None if found is None else _up(found)

    @property
    def needed_interval(self) -> tuple[int, int | None]:
        """Between which numbers it is, allowing for so few simulated studies (90%)."""
        low, high = self.curve.interval()
        return (MOST if np.isinf(low) else _up(low)), (None if np.isinf(high) else _up(high))

    @property
    def likely(self) -> int | None:
        """Judgments with which four of five studies reach it."""
        found = self.curve.likely()
        return None if found is None else _up(found)

    @property
    def columns(self) -> Columns:
        """A row for each number of judgments that was simulated."""
        curve, numbers = self.curve, self.curve.numbers.astype(np.int64)
        whole = numbers + self.plan.begun
        low, high = np.quantile(curve.values, [0.1, 0.9], axis=0)
        found: Columns = {"judgments": whole, "more": numbers} if self.more else {}
        found |= {} if self.more else {"judgments": numbers}
        found["per_item"] = 2.0 * whole / self.plan.n_items
        who = [self.plan.annotators_for(int(number)) for number in whole]
        if None not in who:
            found["annotators"] = np.array(who)
        return found | {
            "value": curve.mean,
            "value_low": low,
            "value_high": high,
            "monte_carlo_se": curve.error,
            "share_reaching": curve.share,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        low, high = self.needed_interval if self.needed is not None else (None, None)
        who = None if self.needed is None else self.plan.annotators_for(self.needed)
        return {
            "goal": str(self.goal),
            "measures": self.goal.name,
            "judgments_so_far": self.plan.begun,
            "needed": self.needed,
            "needed_low": low,
            "needed_high": high,
            "needed_by_four_of_five": self.likely,
            "annotators": who,
            "method": self.method,
            "studies": len(self.curve.values),
            "seed": self.seed,
            "notes": list(self.notes),
            "points": [
                dict(zip(self.columns, row, strict=True))
                for row in zip(*(c.tolist() for c in self.columns.values()), strict=True)
            ],
            "says": self.says,
        }

    @property
    def says(self) -> str:
        """Say the answer in a sentence or two."""
        goal, what = self.goal, "more judgments" if self.more else "judgments"
        now = ""
        if self.more:
            now = f"With its {count(self.plan.begun, 'judgment')} the study reaches {self._at(0)}. "
        if self.needed is None:
            most = int(self.curve.numbers[-1])
            return f"{now}{goal} is not reached with up to {most:,} {what} ({self._at(-1)})."
        if self.more and not self.needed:
            return f"{now}{goal} is reached."
        per_item = 2.0 * (self.needed + self.plan.begun) / self.plan.n_items
        low, high = self.needed_interval
        ends = f"{low:,} or more" if high is None else f"{low:,} to {high:,}"
        who = self.plan.annotators_for(self.needed)
        by = "" if who is None else f" by {count(who, 'annotator')}"
        error = f"{ends}, allowing for {len(self.curve.values)} simulated studies only"
        if low == high:
            error = f"in {len(self.curve.values)} simulated studies, which hardly differ"
        said = (
            f"{now}About {self.needed:,} {what}{by} reach {goal} on average, {_round(per_item)} "
            f"per item; {error}."
        )
        if self.likely is None:
            return f"{said} Four of five studies do not reach it with any number simulated."
        return f"{said} For four of five studies to reach it, about {self.likely:,}."

    def _at(self, k: int) -> str:
        """Say what is reached at one of the numbers."""
        mean, error = float(self.curve.mean[k]), float(self.curve.error[k])
        return f"{str(self.goal).split('=')[0]} {mean:.3f} ± {2.0 * error:.3f}"

    def __str__(self) -> str:
        lines = [*self._table(), ""]
        return "\n".join([*lines, wrapped(self.says), *(wrapped(f"note: {n}") for n in self.notes)])

    def _table(self) -> list[str]:
        columns = self.columns
        heads = {"per_item": "per item", "value": str(self.goal).split("=")[0]}
        heads |= {"value_low": "10%", "value_high": "90%", "monte_carlo_se": "MC error"}
        heads |= {"share_reaching": "reach it"}
        shown = {name: heads.get(name, name) for name in columns}
        rows = zip(*columns.values(), strict=True)
        return [
            "".join(f"{head:>12}" for head in shown.values()),
            *("".join(map(_cell, shown, row)) for row in rows),
        ]


def _cell(name: str, value: float) -> str:
    if name in ("judgments", "more", "annotators"):
        return f"{int(value):>12,}"
    if name == "share_reaching":
        return f"{value:>12.0%}"
    return f"{value:>12.1f}" if name == "per_item" else f"{value:>12.3f}"


def _round(number: float) -> str:
    return f"{number:,.0f}" if number >= 10.0 else f"{number:.1f}"  # noqa: PLR2004


def _up(number: float) -> int:
    """Round up to two digits and a half: no simulation knows more.

    Examples
    --------
    >>> _up(1234.2), _up(17.0), _up(0.0)
    (1250, 17, 0)
    """
    whole = int(np.ceil(number))
    step = 5 * 10 ** max(0, len(str(whole)) - 3) if whole >= 100 else 1  # noqa: PLR2004
    return -(-whole // step) * step


def found_power(
    plan: Plan,
    goal: Goal,
    *,
    method: str,
    repeats: int | None,
    seed: int,
    start: Consensus | None = None,
    notes: tuple[str, ...] = (),
) -> PowerCurve:
    """Simulate studies until it is known how many judgments reach a goal."""
    check_power(method, repeats, seed)
    goal.check_items(plan.n_items)
    fit = partial(_fitted, method=method, start=start)
    small, times = _smaller(plan, goal)
    number = repeats or int(np.clip(_STUDIES // small.n_items, *_STUDIES_RANGE))
    curve = Search(small, goal, fit, number, seed).run()
    if times != 1.0:
        curve = replace(curve, numbers=np.rint(times * curve.numbers))
        said = f"simulated with {small.n_items:,} of the {plan.n_items:,} items"
        notes = (*notes, f"{said}, and as many judgments per item")
    return PowerCurve(goal, plan, curve, method, seed, notes)


def _smaller(plan: Plan, goal: Goal) -> tuple[Plan, float]:
    """Return a smaller study in which an item is judged as often, and how much smaller it is.

    How near an order is, and how wide intervals are, depends on the judgments per item; which are
    the best k depends on how many there are.
    """
    if not isinstance(plan, Assumptions) or goal.k is not None or plan.items <= _MOST_ITEMS:
        return plan, 1.0
    times = plan.items / _MOST_ITEMS
    who = max(round(plan.annotators / times), min(plan.annotators, _FEWEST_ANNOTATORS))
    return replace(plan, items=_MOST_ITEMS, annotators=who), times


def check_power(method: str, repeats: int | None, seed: int) -> None:
    """Refuse options that are none, before anything is simulated."""
    check_method(method)
    limits.check(studies=repeats, seed=seed)


def _fitted(judgments: Judgments, *, method: str, start: Consensus | None) -> Consensus:
    return aggregate(judgments, method, start=start, warn=False)


def assumed_from(pilot: Judgments, consensus: Consensus, **given: Any) -> Assumptions:
    """Return the assumptions that a pilot leads to; what is given comes first.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=20, annotators=10, judgments=600, seed=1)
    >>> pilot = aggcal.read_judgments(study.judgments)
    >>> plan = assumed_from(pilot, aggcal.aggregate(pilot, warn=False), items=100)
    >>> plan.items, plan.annotators, 0.7 < plan.score_sd < 1.4
    (100, 10, True)
    """
    prior, known = consensus.prior, consensus.uncertainty
    if prior is None or known is None:
        raise OptionError(
            f"method '{consensus.method}' does not tell how far items are apart; choose another."
        )
    free = 1.0 - 1.0 / pilot.n_items  # standard errors are about the mean of the items
    kept = np.maximum(1.0 - np.square(known.se / prior.score_sd) / free, 0.0)
    information = 2.0 * free * float(np.square(kept).sum())
    if information < _LEAST_INFORMATION:
        raise TooLittleDataError(
            "the pilot does not tell how far items are apart: it has too few judgments. Collect "
            "more, or give assumptions instead of it."
        )
    tied = np.asarray(pilot.outcome) == 0.5  # noqa: PLR2004
    weight = np.asarray(pilot.weight)
    found = {
        "items": pilot.n_items,
        "annotators": pilot.n_annotators,
        "score_sd": prior.score_sd,
        "reliability_sd": prior.reliability_sd,
        "reversed_share": consensus.reversed_share or 0.0,
        "ties": float(weight[tied].sum() / weight.sum()),
        "score_sd_error": information**-0.5,
    }
    return Assumptions(**(found | given))
