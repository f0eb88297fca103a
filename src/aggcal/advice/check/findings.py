"""What a check returns: counts, findings, what passed, what was not checked, and the precision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from aggcal._core.arrays import IntArray
from aggcal._core.text import brief
from aggcal.advice.check.precision import Precision
from aggcal.advice.verdicts import Accused
from aggcal.data.judgments import Judgments
from aggcal.errors import AggcalWarning, ended, printable, sentence, some

TOPICS = {
    "alike-ids": "similar ids",
    "anchors": "anchors",
    "check-failed": "failed check",
    "constant-scores": "constant scores",
    "contradicting": "contradicting annotators",
    "copies": "copied answers",
    "dependent-answers": "dependent answers",
    "different-tastes": "different tastes",
    "direction": "opposite direction",
    "disconnected": "disconnected items",
    "divided": "opposing groups",
    "duplicate-rows": "duplicate rows",
    "erratic": "erratic answers",
    "few-judgments": "few judgments",
    "guessing": "guessing",
    "harmful": "risky calibration",
    "better-calibrator": "choice of calibrator",
    "impossible-times": "implausible times",
    "kernel": "undetermined kernel",
    "low-agreement": "low agreement",
    "model-from-judgments": "dependent scores",
    "no-agreement": "no agreement",
    "no-common-item": "no common items",
    "no-gpu": "no GPU",
    "no-maximum": "no maximum",
    "not-converged": "unconverged fit",
    "one-annotator": "single annotator",
    "one-way": "one-way comparisons",
    "own-order": "another order",
    "paired-by-level": "how pairs were chosen",
    "plugin": "faulty plugin",
    "pooled-criteria": "pooled criteria",
    "position-bias": "one-sided answers",
    "reversed-annotators": "reversed answers",
    "second-model": "second model",
    "self-pairs": "self-comparisons",
    "separation": "unbeaten or winless items",
    "side-preferred": "study-wide position bias",
    "too-fast": "fast answers",
    "unanswered": "unanswered rows",
    "unclear-agreement": "unclear agreement",
    "unmatched-items": "unmatched items",
    "weakly-joined": "weak connections",
    "weights": "weights of answers",
}
"""By the code of the finding: two or three words each."""


def topic_of(code: str) -> str:
    """Return what a kind of finding is called; of one that a package adds, the words of its code.

    Examples
    --------
    >>> topic_of("copies"), topic_of("odd-thing")
    ('copied answers', 'odd thing')
    """
    return TOPICS.get(code, code.replace("-", " "))


_NO_DECIMALS = 1000.0  # from which numbers are shown without: three digits would be 2.5e+03
LISTED = 200
"""Ids that the details of a finding list at most; ``number`` is the number of all of them."""

Severity = Literal["problem", "note"]


@dataclass(frozen=True)
class Affects:
    """How many judgments, items and annotators a finding concerns; None where undefined.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("ann", "b", "c"), ("bob", "c", "a")]
    >>> judgments = aggcal.read_judgments(rows)
    >>> Affects.by_annotators(judgments, [0])
    Affects(judgments=2, items=None, annotators=1)
    >>> Affects.by_items(judgments, [0])
    Affects(judgments=2, items=1, annotators=None)
    """

    judgments: int | None = None
    items: int | None = None
    annotators: int | None = None

    @classmethod
    def by_annotators(cls, judgments: Judgments, who: Iterable[int]) -> Affects:
        """Count these annotators (given by number) and all their judgments."""
        chosen: IntArray = np.unique(np.fromiter(who, dtype=np.int64))
        given = int(judgments.judgments_per_annotator[chosen].sum())
        return cls(judgments=given, annotators=len(chosen))

    @classmethod
    def by_items(cls, judgments: Judgments, which: Iterable[int]) -> Affects:
        """Count these items (given by number) and all judgments of any of them."""
        chosen = np.zeros(judgments.n_items, dtype=bool)
        chosen[np.fromiter(which, dtype=np.int64)] = True
        touched = chosen[judgments.left] | chosen[judgments.right]
        return cls(judgments=int(judgments.count[touched].sum()), items=int(chosen.sum()))


@dataclass(frozen=True)
class Finding:
    """One finding: how serious it is, what it is, what to do, and the numbers behind it.

    ``title`` is the finding in a few words and numbers, ``message`` the evidence and why it
    matters, ``why`` the same without what the title says, ``remedy`` what to do, ``affects`` how
    many judgments, items and annotators it concerns.

    Examples
    --------
    >>> finding = Finding("note", "few-judgments", "1 annotator gave 2 judgments.", "Ask for more.")
    >>> finding.title, finding.why, finding.topic, finding.details
    ('1 annotator gave 2 judgments', '', 'few judgments', {})
    """

    severity: Severity
    code: str
    message: str
    remedy: str
    details: dict[str, Any] = field(default_factory=dict)
    title: str = ""
    affects: Affects = field(default_factory=Affects)
    why: str = ""

    __repr__ = brief

    def __post_init__(self) -> None:
        if not self.title:
            object.__setattr__(self, "title", self.message.rstrip("."))
        if not self.why and self.message.rstrip(".") != self.title:
            object.__setattr__(self, "why", self.message)

    @property
    def topic(self) -> str:
        """The kind of finding in two or three words, for a list."""
        return topic_of(self.code)

    @classmethod
    def of_warning(
        cls,
        warning: AggcalWarning,
        severity: Severity = "problem",
        judgments: Judgments | None = None,
    ) -> Finding:
        """Make a finding of a warning that another part of aggcal also gives.

        Examples
        --------
        >>> warning = AggcalWarning("An item is odd", "", "look at it", items=["a"])
        >>> found = Finding.of_warning(warning)
        >>> found.message, found.remedy, found.details
        ('An item is odd.', 'Look at it.', {'items': ['a'], 'number': 1})
        """
        details: dict[str, Any] = {}
        for name, ids in (("items", warning.items), ("annotators", warning.annotators)):
            if ids:
                details[name] = listed(ids)
        if not (warning.items and warning.annotators) and details:
            details["number"] = len(warning.items or warning.annotators)
        return cls(
            severity,
            warning.code,
            warning.what,
            sentence(warning.remedy),
            details,
            title=warning.title,
            affects=_affected(warning, judgments),
            why=warning.why and sentence(warning.why),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return asdict(self) | {"topic": self.topic}


def _affected(warning: AggcalWarning, judgments: Judgments | None) -> Affects:
    """Count what a warning concerns; the judgments, too, where they are at hand."""
    number = warning.judgments
    if judgments is not None and number is None:
        for ids, known, count_them in (
            (warning.items, judgments.item_ids, Affects.by_items),
            (warning.annotators, judgments.annotator_ids, Affects.by_annotators),
        ):
            if ids:
                named = set(ids)  # NumPy would compare each with each
                at = [k for k, each in enumerate(known.tolist()) if each in named]
                number = count_them(judgments, at).judgments
    return Affects(number, len(warning.items) or None, len(warning.annotators) or None)


@dataclass(frozen=True)
class Passed:
    """A check that ran on this data and found nothing, with its numbers.

    Examples
    --------
    >>> Passed("disconnected", "All 60 items are connected by comparisons.").to_dict()["topic"]
    'disconnected items'
    """

    code: str
    says: str

    @property
    def topic(self) -> str:
        """What was looked for, in two or three words."""
        return topic_of(self.code)

    def to_dict(self) -> dict[str, str]:
        """Return plain data for JSON."""
        return {"code": self.code, "says": self.says, "topic": self.topic}


@dataclass(frozen=True)
class Check:
    """The counts of a dataset and what was found in it.

    ``passed`` lists the checks that ran and found nothing, ``not_checked`` what was left out and
    why; ``precision`` says how certain the order is and how many judgments a more certain one
    takes.
    """

    counts: dict[str, Any]
    findings: tuple[Finding, ...]
    not_checked: tuple[str, ...] = ()
    precision: Precision | None = None
    accused: Accused = field(default_factory=Accused)
    """Verdicts on annotators; `aggcal.advice.verdicts.Verdicts` joins them with the fit's."""
    passed: tuple[Passed, ...] = ()

    __repr__ = brief

    @property
    def problems(self) -> int:
        """How many findings need attention."""
        return sum(f.severity == "problem" for f in self.findings)

    def with_findings(self, findings: Iterable[Finding]) -> Check:
        """Return the check with these findings instead; what they name did not pass."""
        every = tuple(findings)
        codes = {finding.code for finding in every}
        return replace(
            self, findings=every, passed=tuple(p for p in self.passed if p.code not in codes)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "counts": self.counts,
            "findings": [finding.to_dict() for finding in self.findings],
            "passed": [each.to_dict() for each in self.passed],
            "not_checked": list(self.not_checked),
            "precision": None if self.precision is None else self.precision.to_dict(),
            "accused": {name: verdict for name, (verdict, _) in self.accused.named.items()},
        }

    def __str__(self) -> str:
        lines = [] if self.findings else ["No problems were found.", ""]
        for finding in self.findings:
            lines.append(f"{finding.severity}: {finding.title}.")
            lines += [f"  {ended(finding.why)}"] if finding.why else []
            lines += [f"  What to do: {sentence(finding.remedy)}", ""]
        lines += [f"{_plain(name):28} {_shown(v)}" for name, v in self.counts.items()]
        if self.precision is not None:
            lines += ["", f"Precision: {self.precision}"]
        if self.passed:
            topics = dict.fromkeys(each.topic for each in self.passed)
            lines += ["", f"Checked, nothing found: {', '.join(topics)}."]
        if self.not_checked:
            lines += ["", "Not checked: " + "; ".join(self.not_checked) + "."]
        return "\n".join(map(printable, lines))


def listed(ids: Iterable[object]) -> list[str]:
    """Return the first ids as text, never more than `LISTED`.

    Examples
    --------
    >>> listed(["a", 2])
    ['a', '2']
    """
    return [str(one) for one in list(ids)[:LISTED]]


def annotators_named(ids: Iterable[object]) -> str:
    """Return a sentence that names annotators; nothing if there is one, named already.

    Examples
    --------
    >>> annotators_named(["ann", "bob"]), annotators_named(["ann"])
    (" Annotators: 'ann', 'bob'.", '')
    """
    every = list(ids)
    return f" Annotators: {some(every)}." if len(every) > 1 else ""


def rounded(numbers: Iterable[float], digits: int = 4) -> list[float | None]:
    """Return the first numbers as plain floats, None where there is none.

    Examples
    --------
    >>> rounded([0.123456, float("nan")])
    [0.1235, None]
    """
    every = np.asarray(list(numbers)[:LISTED], dtype=np.float64)
    return [round(float(x), digits) if np.isfinite(x) else None for x in every]


def _plain(name: str) -> str:
    return name.replace("_", " ")


def _shown(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, dict):
        parts = (f"{_plain(name)} {_shown(number)}" for name, number in value.items())
        return ", ".join(parts) or "none"
    whole = isinstance(value, int) or float(value).is_integer() or abs(value) >= _NO_DECIMALS
    return f"{value:,.0f}" if whole else f"{value:,.3g}"
