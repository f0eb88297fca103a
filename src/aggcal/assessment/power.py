"""How many judgments reach a goal, with the table and the figure of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import fields, replace
from typing import Any, Literal

from aggcal._core.progress import listening
from aggcal.advice.power import (
    Assumptions,
    Continued,
    Goal,
    PowerCurve,
    assumed_from,
    check_power,
    found_power,
)
from aggcal.aggregation import aggregate
from aggcal.assessment.saving import Saved
from aggcal.data.judgments import Judgments
from aggcal.engines import prepare
from aggcal.errors import OptionError, check_choice, option
from aggcal.pages.figures import growth
from aggcal.registry import DEFAULT_METHOD, LOCAL, limits
from aggcal.simulation import DESIGNS


class Power(PowerCurve, Saved):
    """How many judgments reach a goal.

    ``needed`` is the number with which simulated studies reach it on average (with judgments given:
    how many more), ``needed_interval`` between which it lies, allowing for the few studies that
    were simulated, and ``likely`` the number with which four of five studies reach it. Each is None
    where no number that was simulated is enough.

    Examples
    --------
    >>> import aggcal
    >>> found = aggcal.power("half-width=1", items=6, annotators=4, method="btl", studies=4)
    >>> 20 < found.needed < 200
    True
    """

    FILES = ("power.csv", "power.svg")
    COMMAND = "power"

    def figure(self) -> str:
        """Return what studies reach by their number of judgments, drawn as SVG."""
        columns, more = self.columns, self.more
        return growth(
            columns["more" if more else "judgments"].astype(float),
            columns["value"],
            (columns["value_low"], columns["value_high"]),
            self.goal.value,
            self.needed or None,
            measure=self.goal.name,
            what="more judgments" if more else "judgments",
        )


def power(
    goal: str,
    judgments: Any = None,
    *,
    pilot: bool = False,
    items: int | None = None,
    annotators: int | None = None,
    per_annotator: int | None = None,
    score_sd: float | None = None,
    reliability_sd: float | None = None,
    reversed_share: float | None = None,
    ties: float | None = None,
    design: Literal["random", "balanced"] | None = None,
    method: str = DEFAULT_METHOD,
    level: float = 0.95,
    studies: int | None = None,
    seed: int = 0,
    on_step: Callable[[str, int, int], None] | None = None,
) -> Power:
    """Say how many judgments a study needs to reach a goal, by simulating studies and fitting them.

    Parameters
    ----------
    goal
        ``"tau=0.8"``: Kendall's tau with the truth; ``"top-10=0.9"``: the share of the true ten
        best that are found; ``"half-width=0.3"``: the mean half-width of the intervals, on the
        consensus scale. "Truth" is what such annotators would agree on with unlimited judgments.
    judgments
        `Judgments`, or anything that `read_judgments` takes: how many more this study needs. None
        for a new study, from assumptions alone.
    pilot
        Plan a new study, of which ``judgments`` are a pilot: they tell what is not given.
    items, annotators, per_annotator
        How many there are (50 and 20 by default); with ``per_annotator``, the judgments that each
        annotator gives, there are as many annotators as it takes.
    score_sd, reliability_sd, reversed_share, ties, design
        Spread of the true scores (1 by default: of two items one sd apart, a typical annotator puts
        the better one first in 73 of 100 comparisons), spread of the reliabilities (0.5), shares of
        reversed annotators and of ties (0), and whether pairs are ``"random"`` or ``"balanced"``.
    method
        The method that studies are fitted by.
    level
        Level of the intervals, for ``half-width``.
    studies
        How many studies are simulated for each number of judgments; by default 8 to 48, the fewer
        the more items.
    seed
        Seed for all random numbers.
    on_step
        Called with what is being done, how many fits are done and how many there are.

    Examples
    --------
    >>> import aggcal
    >>> found = power("tau=0.7", items=12, annotators=5, method="btl", studies=4)
    >>> bool(found.columns["judgments"].min() <= found.needed)
    True
    """
    given = {
        "items": items, "annotators": annotators, "per_annotator": per_annotator,
        "score_sd": score_sd, "reliability_sd": reliability_sd, "reversed_share": reversed_share,
        "ties": ties, "design": design,
    }  # fmt: skip
    how: dict[str, Any] = {"method": method, "studies": studies, "seed": seed}
    new = judgments is None
    wanted, known = check_options(goal, given, level=level, new=new, pilot=pilot, **how)
    how["repeats"] = how.pop("studies")
    with nullcontext() if on_step is None else listening(on_step):
        if new:
            found = found_power(Assumptions(**known), wanted, **how)
        else:
            here = prepare(judgments, LOCAL).on_one_machine("a power analysis")
            found = _from_judgments(here, wanted, known, how, pilot=pilot)
    return Power(**{part.name: getattr(found, part.name) for part in fields(found)})


def check_options(
    goal: str,
    given: dict[str, Any],
    *,
    method: str,
    level: float,
    studies: int | None,
    seed: int,
    new: bool,
    pilot: bool,
) -> tuple[Goal, dict[str, Any]]:
    """Refuse options of `power` that are none, before anything is read or simulated.

    ``given`` has the assumptions, None for what is not assumed; ``new`` says that there are no
    judgments. Returns the goal and the assumptions.
    """
    wanted = Goal.of(goal, level)
    check_power(method, studies, seed)
    known = {name: value for name, value in given.items() if value is not None}
    options = {name.removesuffix("_share"): value for name, value in known.items()}
    if "design" in known:
        check_choice("design", options.pop("design"), DESIGNS)
    limits.check(**options)
    if new and pilot:
        raise OptionError(
            f"a pilot is a file of judgments; give one, or leave {option('pilot')} out."
        )
    if known and not new and not pilot:
        first = next(iter(options), "design").replace("_", "-")
        raise OptionError(
            f"{option(first).rstrip('=')} is for a new study, but judgments are given; leave it "
            f"out for how many more they need, or give {option('pilot')} to plan a new study from "
            "them."
        )
    return wanted, known


def _from_judgments(
    judgments: Judgments, goal: Goal, known: dict[str, Any], how: dict[str, Any], *, pilot: bool
) -> PowerCurve:
    """Plan a study from a pilot, or say how many more judgments one needs."""
    plain = replace(judgments, context=None, context_ids=None, categories=(), grade=None)
    notes: tuple[str, ...] = ()
    if judgments.context is not None or judgments.categories or judgments.grade is not None:
        notes = ("contexts, categories and strengths of answers are not simulated",)
    consensus = aggregate(plain, how["method"], warn=False)
    if pilot:
        plan = assumed_from(plain, consensus, **known)
        said = f"score sd {plan.score_sd:.2f}, reliability sd {plan.reliability_sd:.2f}"
        said += f", reversed {plan.reversed_share:.0%}, ties {plan.ties:.0%}"
        return found_power(plan, goal, **how, notes=(*notes, f"from the pilot: {said}"))
    if consensus.uncertainty is None:
        raise OptionError(
            f"method '{how['method']}' does not tell how sure it is; choose {DEFAULT_METHOD}."
        )
    return found_power(Continued(plain, consensus), goal, **how, start=consensus, notes=notes)
