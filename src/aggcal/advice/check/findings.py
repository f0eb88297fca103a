"""What a check returns: counts, findings, what was not looked at, and how precise the study is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from aggcal._core.text import brief
from aggcal.advice.check.precision import Precision
from aggcal.advice.verdicts import Accused
from aggcal.errors import AggcalWarning, printable
from aggcal.errors.voice import spoken

LISTED = 200
"""Ids that the details of a finding list at most; the number of all of them stands beside."""

Severity = Literal["problem", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that was found: how grave, what, what to do, and the numbers behind it.

    Examples
    --------
    >>> Finding("note", "few-judgments", "1 annotator gave 2 judgments", "ask for more").details
    {}
    """

    severity: Severity
    code: str
    message: str
    remedy: str
    details: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of_warning(cls, warning: AggcalWarning, severity: Severity = "problem") -> Finding:
        """Make a finding of a warning that another part of aggcal gives too.

        Examples
        --------
        >>> Finding.of_warning(AggcalWarning("an item is odd", "look at it")).remedy
        'look at it'
        """
        return cls(severity, warning.code, warning.what, warning.remedy)


@dataclass(frozen=True)
class Check:
    """The counts of a data set and what was found in it.

    ``not_checked`` says what was left out and why; ``precision`` how sure the order is and how
    many judgments a surer one takes.
    """

    counts: dict[str, Any]
    findings: tuple[Finding, ...]
    not_checked: tuple[str, ...] = ()
    precision: Precision | None = None
    accused: Accused = field(default_factory=Accused)
    """Verdicts on annotators; `aggcal.advice.verdicts.Verdicts` joins them with the fit's."""

    __repr__ = brief

    @property
    def problems(self) -> int:
        """How many findings need attention."""
        return sum(f.severity == "problem" for f in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "counts": self.counts,
            "findings": [asdict(f) for f in self.findings],
            "not_checked": list(self.not_checked),
            "precision": None if self.precision is None else self.precision.to_dict(),
            "accused": {name: verdict for name, (verdict, _) in self.accused.named.items()},
        }

    def __str__(self) -> str:
        lines = [f"{name.replace('_', ' '):28} {_shown(v)}" for name, v in self.counts.items()]
        for finding in self.findings:
            lines += [
                "",
                f"{finding.severity}: {finding.message}.",
                f"  what to do: {spoken(finding.remedy)}.",
            ]
        if not self.findings:
            lines += ["", "nothing stands out."]
        if self.precision is not None:
            lines += ["", f"precision: {self.precision}"]
        if self.not_checked:
            lines += ["", "not checked: " + "; ".join(self.not_checked) + "."]
        return "\n".join(map(printable, lines))


def listed(ids: Iterable[object]) -> list[str]:
    """Return the first ids as text, never more than `LISTED`.

    Examples
    --------
    >>> listed(["a", 2])
    ['a', '2']
    """
    return [str(one) for one in list(ids)[:LISTED]]


def rounded(numbers: Iterable[float], digits: int = 4) -> list[float | None]:
    """Return the first numbers as plain floats, None where there is none.

    Examples
    --------
    >>> rounded([0.123456, float("nan")])
    [0.1235, None]
    """
    every = np.asarray(list(numbers)[:LISTED], dtype=np.float64)
    return [round(float(x), digits) if np.isfinite(x) else None for x in every]


def _shown(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_shown(number)}" for name, number in value.items()) or "none"
    whole = isinstance(value, int) or float(value).is_integer()
    return f"{value:,.0f}" if whole else f"{value:,.3g}"
