"""Studies of methods and of sizes: each a table and a figure, with the files of both."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import partial
from math import isfinite
from pathlib import Path
from typing import IO, Any, ClassVar, Literal

import numpy as np

from aggcal._core.frames import Frame, check_frame
from aggcal._core.progress import listening
from aggcal._core.tables import Columns, as_frame, as_text
from aggcal._core.text import clipped, wrapped
from aggcal._version import __version__
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
from aggcal.aggregation.consensus import Aggregator
from aggcal.aggregation.selection import (
    FOLDS,
    HOLD_OUT,
    LEVEL,
    MEASURES,
    SAMPLE,
    Comparison,
    Estimate,
    HoldOut,
    check_methods,
    compared,
)
from aggcal.data.judgments import Judgments
from aggcal.engines import prepare
from aggcal.errors import OptionError, check_choice, count, option
from aggcal.io.cells import csv_writer
from aggcal.io.saving import Manifest, Writer, write_files
from aggcal.pages.figures import Dot, dots, growth
from aggcal.registry import DEFAULT_METHOD, LOCAL, limits
from aggcal.registry.literals import FittedName
from aggcal.simulation import DESIGNS


class Saved:
    """A result with a table and a figure, which are written together or not at all."""

    FILES: ClassVar[tuple[str, str]]
    """The table and the figure; ``summary.json``, which lists them, is written beside them."""
    COMMAND: ClassVar[str]
    """The command that writes them."""

    @property
    def backend(self) -> str | None:
        """The library of the table; None for that of `aggcal.options`."""
        return None

    @property
    @abstractmethod
    def columns(self) -> Columns:
        """The table as plain columns."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the summary as plain data."""

    @abstractmethod
    def figure(self) -> str:
        """Return the figure as SVG."""

    @property
    def table(self) -> Any:
        """The table, as in the CSV file, in the frame library the user came with."""
        return as_frame(self.columns, self.backend)

    @classmethod
    def manifest(cls, found: dict[str, Any] | None = None) -> Manifest:
        """Return the list of the files."""
        return Manifest("summary.json", {"version": __version__, **(found or {})}, cls.COMMAND)

    def save(self, directory: str | Path, *, force: bool = False) -> list[Path]:
        """Write the table, the figure and ``summary.json``, all or none.

        Parameters
        ----------
        directory
            Made if it is not there.
        force
            Replace files of these names whoever wrote them.
        """
        table, figure = self.FILES
        files: dict[str, Writer] = {
            table: csv_writer(self.columns),
            figure: partial(_write, self.figure()),
        }
        return write_files(directory, files, manifest=self.manifest(self.to_dict()), force=force)


def _write(text: str, file: IO[str]) -> None:
    file.write(text)


# Methods, by what they predict -------------------------------------------------------------------

_TITLES = {
    "log_loss": "log-loss",
    "decided_log_loss": "without ties",
    "accuracy": "accuracy",
    "calibration": "calibration",
}


class MethodComparison(Comparison, Saved):
    """Methods and terms by how well they predict judgments that were held out.

    ``measured`` has the methods, the lowest log-loss first, with ``values`` and ``differences``
    from plain Bradley-Terry for each measure. ``calibration`` is the slope of the answers in the
    predicted logit: 1 is calibrated, less is too extreme, more too timid. Standard errors are
    clustered by annotator or by what is held out together, whichever gives the larger one;
    intervals are at 95%.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=6, annotators=5, judgments=200, seed=2)
    >>> found = aggcal.compare_methods(study.judgments, ["hra-g", "tcv"])
    >>> found.chosen, found.options
    ('btl', {'method': 'btl'})
    """

    FILES = ("comparison.csv", "comparison.svg")
    COMMAND = "compare"

    @property
    def columns(self) -> Columns:
        """A row for each method, as in ``comparison.csv``."""
        rows = self.measured
        columns: Columns = {
            "method": as_text([one.label for one in rows]),
            "level": np.array([one.candidate.level for one in rows]),
        }
        for name in MEASURES:
            for part in ("values", "differences"):
                title = name if part == "values" else f"{name}_difference"
                for kind in ("value", "se", "low", "high"):
                    column = [getattr(getattr(one, part)[name], kind) for one in rows]
                    columns[title if kind == "value" else f"{title}_{kind}"] = np.array(column)
        columns["within_one_se"] = as_text("yes" if one.near else "no" for one in rows)
        columns["chosen"] = as_text("yes" if one is self.choice else "no" for one in rows)
        return columns

    def __repr__(self) -> str:
        return wrapped(f"Comparison of {count(len(self.measured), 'method')}: {self.chosen}")

    def __str__(self) -> str:
        head = (
            f"{count(self.n_judgments, 'held-out judgment')} by "
            f"{count(self.n_annotators, 'annotator')}; {self.folds} folds of whole "
            f"{self.held_out}s ({self.n_units:,}). Differences are from {self.reference}; ± is "
            "one standard error; * is chosen."
        )
        values = self.best.values
        ties = values["log_loss"] != values["decided_log_loss"]
        losses = ("log_loss", "decided_log_loss") if ties else ("log_loss",)
        tables = (*self._table(*losses), "", *self._table("accuracy", "calibration"))
        missing = (f"{name} was left out: {why}" for name, why in self.left_out.items())
        words = self.choice.candidate.words
        how = [f"To use it: {words}"] if words else []
        rest = wrapped(*self.notes, *missing, self.why, *how)
        return "\n".join([wrapped(head), "", *tables, "", rest])

    def _table(self, *names: str) -> Iterator[str]:
        """Write a line for each method with these measures and their differences."""
        rows = [["", *(title for name in names for title in (_TITLES[name], "difference"))]]
        for one in self.measured:
            label, reference = clipped(one.label), one.label == self.reference
            label += " (reference)" * reference + " *" * (one is self.choice)
            cells = [label]
            for name in names:
                difference = "" if reference else _shown(one.differences[name], "+")
                cells += [_shown(one.values[name]), difference]
            rows.append(cells)
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        for first, *rest in rows:
            cells = [cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True)]
            yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()

    def figure(self) -> str:
        """Return the differences in log-loss from plain Bradley-Terry, drawn as SVG."""
        gaps = [(one, one.differences["log_loss"]) for one in self.measured]
        rows = [
            Dot(one.label, gap.value, gap.low, gap.high, chosen=one is self.choice)
            for one, gap in gaps
        ]
        title = f"Held-out log-loss of each method, compared with {self.reference}"
        name = f"held-out log-loss minus that of {self.reference} ({LEVEL:.0%} intervals; "
        return dots(rows, title, f"{name}lower is better)")


def compare_methods(
    judgments: Any,
    methods: Sequence[FittedName | str | Aggregator] | None = None,
    *,
    folds: int = FOLDS,
    seed: int = 0,
    sample: int | None = SAMPLE,
    hold_out: HoldOut = "auto",
    frame: Frame | None = None,
    on_step: Callable[[str, int, int], None] | None = None,
) -> MethodComparison:
    """Compare methods and terms by how well they predict judgments that were held out.

    All are fitted to the same folds. Whole contexts are held out where they are known, else whole
    screens or rankings, else all answers of an annotator to one pair. The chosen method is the
    simplest within one standard error of the lowest log-loss.

    Parameters
    ----------
    judgments
        `Judgments`, or anything that `read_judgments` takes.
    methods
        Names of ``aggcal list methods``; with terms, such as ``"hra-g:plain"`` or
        ``"hra-g:ties+position"`` (of ties, position, context and categories); or objects with a
        ``fit(judgments)``. None for all methods that need no features, with every term that the
        judgments have the data for. Plain Bradley-Terry, ``btl``, is always compared.
    folds
        How many parts are held out in turn.
    seed
        Seed for all random numbers.
    sample
        With more judgments than this, a sample of contexts or annotators is compared; None for
        no sample.
    hold_out
        What is held out together: ``"context"``, ``"screen"`` (or ranking) or ``"question"``, all
        answers of an annotator to one pair. ``"auto"`` takes the first of these that is known;
        ``"pair"`` holds out all answers to a pair, ``"row"`` single judgments. Whole contexts tell
        how well new contexts are predicted, where effects of known ones do not show.
    frame
        See `aggregate`.
    on_step
        Called with what is being done, how many fits are done and how many there are.

    Examples
    --------
    >>> import aggcal
    >>> study = aggcal.simulate(items=6, annotators=5, judgments=200, seed=2)
    >>> found = aggcal.compare_methods(study.judgments, ["hra-g:plain"])
    >>> [one.label for one in found.measured]
    ['hra-g:plain', 'btl']
    """
    check_methods(methods)
    limits.check(folds=folds, sample=sample, seed=seed)
    check_choice("hold_out", hold_out, HOLD_OUT)
    check_frame(frame)
    how: dict[str, Any] = {"folds": folds, "seed": seed, "sample": sample, "hold_out": hold_out}
    here = prepare(judgments, LOCAL).on_one_machine("comparing methods")
    with nullcontext() if on_step is None else listening(on_step):
        found = compared(here, methods, **how)
    parts = {part.name: getattr(found, part.name) for part in fields(found)}
    return MethodComparison(**parts | {"judgments": here, "backend": frame or here.backend})


def _shown(estimate: Estimate, sign: str = "") -> str:
    """Write a number with its standard error.

    Examples
    --------
    >>> _shown(Estimate(-0.0125, 0.004, 0.0, 0.0, 9), "+")
    '−0.0125 ±0.0040'
    """
    if not isfinite(estimate.value):
        return "–"
    error = f" ±{estimate.se:.4f}" if isfinite(estimate.se) else ""
    return f"{estimate.value:{sign}.4f}{error}".replace("-", "−")


# Sizes, by what they reach ------------------------------------------------------------------------


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
    pairs = judgments.as_pairs()
    plain = replace(pairs, context=None, context_ids=None, categories=(), grade=None)
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
