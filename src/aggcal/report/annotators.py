"""The rows of the annotators: verdict, reliability, agreement and sides, each with its interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.records import dataclass
from aggcal.errors import count
from aggcal.report.listing import STATIC_ROWS, Listing, Numbers, static_rows
from aggcal.report.scale import Axis

KINDS = {
    "reversed": "bad",
    "guessing": "bad",
    "one-sided": "bad",
    "perhaps guessing": "care",
    "unclear": "care",
    "too few to tell": "none",
    "reliable": "good",
}
"""The colour and the sign of each verdict."""
CROWD = 40
"""Annotators above which a histogram says what rows no longer do."""


@dataclass(frozen=True, eq=False)
class AnnotatorRows:
    """The annotators' table as a chart.

    Examples
    --------
    >>> from aggcal.report.contents import annotator_listing
    >>> table = {"annotator": np.array(["u"], dtype=object), "reliability": np.array([-1.0]),
    ...          "n_judgments": np.array([4]), "agreement": np.array([0.25])}
    >>> rows = AnnotatorRows(annotator_listing({"method": "hra-g"}, table))
    >>> rows.row(0)["kind"], rows.row(0)["agreement"]["text"], rows.row(0)["reliability"]["dot"]
    ('care', '25%', '3.00')
    """

    listing: Listing
    random: float = 0.0
    """The reliability of random answers."""

    @property
    def n(self) -> int:
        """How many annotators there are."""
        return self.listing.n_rows

    @cached_property
    def charts(self) -> dict[str, tuple[Numbers, Axis]]:
        """The columns that are drawn, each with its axis."""
        found = {}
        sides = "position" if self.listing.column("left_share") is None else "left_share"
        for key in ("reliability", "agreement", sides):
            column = self.listing.column(key)
            if column is None:
                continue
            ends = Axis(0.0, 100.0)
            if key == "reliability":
                ends = Axis.of(column.values, column.low, column.high, np.array([self.random, 1.0]))
            found[key] = (column, ends)
        return found

    @cached_property
    def numbers(self) -> dict[str, Numbers]:
        """The columns that are only written."""
        found = (self.listing.column(key) for key in ("position", "tie_readiness"))
        return {c.key: c for c in found if c is not None and c.key not in self.charts}

    def _words(self, key: str) -> Sequence[str]:
        found = self.listing.words(key)
        return () if found is None else found.values

    @cached_property
    def has_reasons(self) -> bool:
        """Whether some verdict says what it rests on."""
        return any(self._words("reason"))

    @property
    def counts(self) -> list[tuple[str, str, int]]:
        """The verdicts that somebody has: in words, their kind, how many."""
        number = Counter(self._words("verdict"))
        return [(w, kind, number[w]) for w, kind in KINDS.items() if w in number]

    def row(self, k: int) -> dict[str, Any]:
        """Return what a row shows."""
        verdict = self._words("verdict")[k]
        judged = self.listing.column("n_judgments")
        return {
            "k": k,
            "name": self.listing.names.values[k],
            "verdict": verdict,
            "kind": KINDS.get(verdict, "none"),
            "reason": self._words("reason")[k],
            "judgments": "" if judged is None else judged.text(k),
            **{key: _marks(column, axis, k) for key, (column, axis) in self.charts.items()},
            **{
                key: {"text": column.text(k), "interval": column.interval(k)}
                for key, column in self.numbers.items()
            },
        }

    @property
    def static(self) -> list[dict[str, Any]]:
        """The rows of the page itself, for a reader without scripts."""
        return [self.row(k) for k in range(static_rows(self.n))]

    @property
    def settings(self) -> dict[str, Any]:
        """What the script needs to know beyond the columns."""
        return {
            "axes": {key: [axis.low, axis.high] for key, (_, axis) in self.charts.items()},
            "numbers": list(self.numbers),
            "kinds": KINDS,
            "static": STATIC_ROWS,
        }


def counts_said(n: int, bad: int, good: int) -> str:
    """Say how many annotators are reliable and how many are not, for a heading.

    Examples
    --------
    >>> counts_said(5, 1, 3)
    '3 of 5 annotators are reliable, 1 has problems, 1 undetermined'
    """
    said = f"{good:,} of {count(n, 'annotator')} {'is' if good == 1 else 'are'} reliable"
    if bad:
        said += f", {bad:,} {'has' if bad == 1 else 'have'} problems"
    rest = n - bad - good
    return f"{said}, {rest:,} undetermined" if rest else said


def _marks(column: Numbers, axis: Axis, k: int) -> dict[str, str]:
    """Return what a number shows and where its marks are."""
    return {
        "text": column.text(k),
        "interval": column.interval(k),
        "dot": axis.place(column.values, k, column.digits),
        "low": axis.place(column.low, k, column.digits),
        "high": axis.place(column.high, k, column.digits),
    }
