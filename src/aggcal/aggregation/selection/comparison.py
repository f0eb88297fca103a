"""What a comparison of methods found, and which of them it chooses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from aggcal._core.tables import Columns, as_text
from aggcal._core.text import clipped, wrapped
from aggcal.aggregation.selection.candidates import Candidate
from aggcal.aggregation.selection.measures import MEASURES, Estimate
from aggcal.data.judgments import Judgments
from aggcal.errors import count

NEGLIGIBLE = 0.001
"""Log-loss a judgment, in nats, that counts as none: two links that hardly differ can be told apart
by their tiny standard error, though nobody would notice. Larger, simpler methods win more often."""
_ROUGH = 10
"""Clusters below which a standard error is said to be rough: it is off by a quarter or more."""


@dataclass(frozen=True)
class Measured:
    """A method, what was measured of it, and how far that is from the reference."""

    candidate: Candidate
    place: int
    """Among the candidates, the simplest first."""
    values: dict[str, Estimate]
    differences: dict[str, Estimate]
    behind: Estimate
    """How much larger its log-loss is than that of the best."""

    @property
    def label(self) -> str:
        """What it is called."""
        return self.candidate.label

    @property
    def near(self) -> bool:
        """Whether it is within one standard error of the best, or nearly as good as it."""
        return self.behind.value <= NEGLIGIBLE or self.behind.value <= self.behind.se

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        found: dict[str, Any] = {"level": self.candidate.level, "options": self.candidate.words}
        for name in MEASURES:
            difference = self.differences[name].to_dict()
            found[name] = {**self.values[name].to_dict(), "difference": difference}
        return found | {"behind_best": self.behind.to_dict(), "within_one_se": self.near}


@dataclass(frozen=True, eq=False)
class Comparison:
    """Methods and terms by how well they predict judgments that were held out.

    ``measured`` has the methods, the lowest log-loss first. ``calibration`` is the slope of the
    answers in the predicted logit: 1 is calibrated, less is too extreme, more too timid. Standard
    errors are clustered by annotator or by what is held out together, whichever gives the larger
    one; intervals are at 95%.
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
    """Methods that could not be compared, and why."""
    notes: tuple[str, ...] = ()
    judgments: Judgments | None = field(default=None, repr=False)
    """Those that were compared, whole."""
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
        one, best = self.choice, self.best
        how = f"{self.folds} folds of whole {self.held_out}s, seed {self.seed}"
        if self.n_judgments < self.n_whole:
            how += f", a sample of {self.n_judgments:,} of {self.n_whole:,} judgments"
        if one is not best:
            loss, behind = one.values["log_loss"].value, one.behind
            return (
                f"{one.label} was chosen as the simplest method within one standard error of the "
                f"best, {best.label}: its held-out log-loss is {loss:.4f}, larger by "
                f"{behind.value:.4f} (standard error {behind.se:.4f}; {how})."
            )
        simpler = any(other.place < one.place for other in self.measured)
        rest = "no simpler method is within one standard error" if simpler else "it is the simplest"
        loss = best.values["log_loss"].value
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

    @property
    def columns(self) -> Columns:
        """A row for each method, as in ``comparison.csv``."""
        rows = self.measured
        found: Columns = {
            "method": as_text([one.label for one in rows]),
            "level": np.array([one.candidate.level for one in rows]),
        }
        for name in MEASURES:
            parts = (("", [one.values[name] for one in rows]),
                     ("_difference", [one.differences[name] for one in rows]))  # fmt: skip
            for part, values in parts:
                for kind in ("value", "se", "low", "high"):
                    ending = "" if kind == "value" else f"_{kind}"
                    column = [getattr(value, kind) for value in values]
                    found[f"{name}{part}{ending}"] = np.array(column)
        found["within_one_se"] = as_text([_yes(yes=one.near) for one in rows])
        found["chosen"] = as_text([_yes(yes=one is self.choice) for one in rows])
        return found

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
        first = self._table("log_loss", "decided_log_loss") if ties else self._table("log_loss")
        second = self._table("accuracy", "calibration")
        missing = (f"{name} was left out: {why}" for name, why in self.left_out.items())
        words = self.choice.candidate.words
        how = [f"To use it: {words}"] if words else []
        rest = wrapped(*self.notes, *missing, self.why, *how)
        return "\n".join([wrapped(head), "", *first, "", *second, "", rest])

    def _table(self, *names: str) -> Iterator[str]:
        """Write a line for each method with these measures and their differences."""
        titles = [title for name in names for title in (_TITLES[name], "difference")]
        rows = [("", *titles)]
        for one in self.measured:
            cells = [
                shown
                for name in names
                for shown in (
                    _shown(one.values[name]),
                    _shown(one.differences[name], signed=True) if self._differs(one) else "",
                )
            ]
            rows.append((f"{clipped(one.label)}{self._mark(one)}", *cells))
        return _aligned(rows)

    def _differs(self, one: Measured) -> bool:
        return one.label != self.reference

    def _mark(self, one: Measured) -> str:
        reference = "" if self._differs(one) else " (reference)"
        return f"{reference} *" if one is self.choice else reference


def rough_note(number: int, held_out: str, n_units: int) -> tuple[str, ...]:
    """Say that standard errors rest on few clusters, where they do.

    Examples
    --------
    >>> rough_note(5, "question", 800)
    ('Standard errors are rough: they rest on 5 annotators.',)
    """
    if number >= _ROUGH:
        return ()
    what = held_out if number == n_units else "annotator"
    return (f"Standard errors are rough: they rest on {count(number, what)}.",)


_TITLES = {
    "log_loss": "log-loss",
    "decided_log_loss": "without ties",
    "accuracy": "accuracy",
    "calibration": "calibration",
}


def _yes(*, yes: bool) -> str:
    return "yes" if yes else "no"


def _shown(found: Estimate, *, signed: bool = False) -> str:
    """Write a number with its standard error.

    Examples
    --------
    >>> _shown(Estimate(-0.0125, 0.004, 0.0, 0.0, 9), signed=True)
    '−0.0125 ±0.0040'
    """
    if not isfinite(found.value):
        return "–"
    value = f"{found.value:+.4f}" if signed else f"{found.value:.4f}"
    error = f" ±{found.se:.4f}" if isfinite(found.se) else ""
    return f"{value}{error}".replace("-", "−")


def _aligned(rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Write rows with the first column to the left and the others to the right."""
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *rest in rows:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()
