"""The results of one run as the sections of its report read them: columns, summary, comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import Columns
from aggcal._core.text import brief
from aggcal.advice.verdicts import RELIABLE, REVERSED, UNCLEAR
from aggcal.errors import (
    FileError,
    OptionError,
    TableError,
    UnknownItemError,
    count,
    did_you_mean,
    some,
)
from aggcal.io.results import read_categories, read_comparisons, read_results
from aggcal.registry import CALIBRATORS, EQUAL, SCALES, CalibratorInfo, ScaleInfo
from aggcal.report.parts import Part, own_ranks, parts_of

_LONGEST = 200
"""Characters of a reason: it may quote the folder, which may hold anything."""
_ODD = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError,
    MemoryError,
)  # fmt: skip
"""What files that do not fit together may cause."""


@dataclass(frozen=True, eq=False)
class Run:
    """The results as plain data.

    Parameters
    ----------
    summary
        As in ``summary.json``.
    items, annotators
        The columns of ``items.csv`` and ``annotators.csv``.
    texts
        What items say, by their ids.
    comparisons
        Who met whom, as in ``comparisons.json``; empty where that is not known.
    pictures
        What items look like, by their ids: addresses that hold the picture themselves.
    categories
        The columns of ``categories.csv``; empty without categories.

    Examples
    --------
    >>> items = {"item": np.array(["b", "a"], dtype=object), "consensus": np.array([0.5, -0.5])}
    >>> run = Run({"method": "own"}, items)
    >>> run.names, run.score, run.number("rank") is None
    (['b', 'a'], 'consensus', True)
    """

    summary: Mapping[str, Any]
    items: Columns
    annotators: Columns = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    comparisons: Mapping[str, Any] = field(default_factory=dict)
    pictures: Mapping[str, str] = field(default_factory=dict)
    categories: Columns = field(default_factory=dict)

    __repr__ = brief

    def __post_init__(self) -> None:
        named = ((self.texts, self.summary.get("texts", "texts")), (self.pictures, "pictures"))
        for by_item, source in named:
            if by_item and not any(str(item) in by_item for item in self.items["item"]):
                raise TableError(
                    f"{source}: none of its items ({some(map(str, by_item))}) is in the results; "
                    "use the same ids."
                )

    @cached_property
    def names(self) -> list[str]:
        """The ids of the items, in the order of the table."""
        return [str(each) for each in self.items["item"]]

    @cached_property
    def parts(self) -> list[Part]:
        """Components that nothing compares with each other; none where all items are in one."""
        return parts_of(self.items)

    @cached_property
    def _numbers(self) -> dict[str, FloatArray | None]:
        return {}

    def number(self, name: str) -> FloatArray | None:
        """Return a column of the items as floats, ranks within components; None without values."""
        if name not in self._numbers:
            column = np.asarray(self._ranked.get(name, ()), dtype=np.float64)
            self._numbers[name] = column if np.isfinite(column).any() else None
        return self._numbers[name]

    @cached_property
    def _ranked(self) -> Columns:
        return own_ranks(self.items)

    def words(self, name: str) -> list[str]:
        """Return a column of the items as texts; nothing for one that is not there."""
        return ["" if each is None else str(each) for each in self.items.get(name, ())]

    @property
    def title(self) -> str:
        """What the study is called; what it is about, where nobody gave it a name."""
        if own := str(self.summary.get("title") or ""):
            return own
        items, who = int(self.summary["n_items"]), int(self.summary["n_annotators"])
        did = "rated" if "ratings" in self.summary else "compared"
        return f"{count(items, 'item')} {did} by {count(who, 'annotator')}"

    @property
    def calibrated(self) -> bool:
        """Whether there is a Stage 2."""
        return "calibrator" in self.summary

    @property
    def calibrator(self) -> CalibratorInfo:
        """What the calibrator does; of a user's own, what it says of itself."""
        name = str(self.summary.get("calibrator", ""))
        does = str(self.summary.get("calibrator_does", ""))
        return CALIBRATORS.get(name) or CalibratorInfo(name, does=does)

    @property
    def equal(self) -> bool:
        """Whether every annotator is taken to be equally reliable."""
        ratings = self.summary.get("ratings") or {"reliability_and_noise_differ": True}
        return self.summary["method"] in EQUAL or not ratings["reliability_and_noise_differ"]

    @property
    def checked(self) -> bool:
        """Whether the data were looked over."""
        return "check" in self.summary

    @property
    def decided(self) -> Mapping[str, Any]:
        """What the summary says of decisions."""
        decisions = self.summary.get("decisions")
        return decisions if isinstance(decisions, dict) else {}

    @property
    def scale(self) -> ScaleInfo | None:
        """The scale that the consensus is told in; None for that of the fit."""
        return known_scale(self.items)

    @cached_property
    def score(self) -> str:
        """The column of the chart: calibrated scores, or the consensus where there are none."""
        if self.number("calibrated") is not None:
            return "calibrated"
        scale = self.scale
        scaled = scale is not None and self.number(scale.column) is not None
        return scale.column if scale is not None and scaled else "consensus"

    @property
    def score_interval(self) -> tuple[str, str]:
        """Level of the intervals of the scores, and what they cover; nothing without any."""
        name = "calibrated_interval" if self.score == "calibrated" else "uncertainty"
        known = self.summary.get(name) or {}
        if not known.get("covers") or not known.get("level"):
            return "", ""
        return f"{100 * float(known['level']):g}%", str(known["covers"])

    @cached_property
    def could_be_first(self) -> list[int]:
        """The rows of the items that could be the best; none where that is not known."""
        low = self.number("sure_low")
        if "sure_low" not in self.items:
            return []
        first = self.comparisons.get("first")
        rows = np.flatnonzero(low == 1).tolist() if first is None else first
        return sorted(int(k) for k in rows if k < len(self.names))

    @cached_property
    def verdicts(self) -> list[str]:
        """The verdict on each annotator; by the interval alone where a file has none.

        Examples
        --------
        >>> people = {"annotator": np.array(["u", "v"], dtype=object),
        ...           "reliability_low": np.array([0.5, -1.5]),
        ...           "reliability_high": np.array([1.5, -0.5])}
        >>> Run({"method": "own"}, {"item": np.zeros(0)}, people).verdicts
        ['reliable', 'reversed']
        """
        people = self.annotators
        if "verdict" in people:
            return [str(each) for each in people["verdict"]]
        if "reliability_low" not in people or "reliability_high" not in people:
            return [UNCLEAR for _ in people.get("annotator", ())]
        border = self.summary.get("random_reliability") or 0.0
        ends = (np.asarray(people[f"reliability_{end}"], dtype=float) for end in ("low", "high"))
        return [
            REVERSED if high < border else RELIABLE if low > border else UNCLEAR
            for low, high in zip(*ends, strict=True)
        ]

    def row_of(self, item: str) -> int:
        """Return the row of an item; an id that is not there is refused."""
        if item not in self.names:
            raise UnknownItemError(item, f"the results{did_you_mean(item, self.names)}")
        return self.names.index(item)


def known_scale(columns: Columns) -> ScaleInfo | None:
    """Return the scale of a table of items; None if it has none.

    Examples
    --------
    >>> known_scale({"item": np.zeros(1), "elo": np.zeros(1)}).title
    'Elo'
    """
    return next((scale for scale in SCALES.values() if scale.column in columns), None)


def load_run(
    folder: Path | str, texts: Mapping[str, str] | None = None, *, force: bool = False
) -> Run:
    """Return the results in a folder.

    Parameters
    ----------
    folder
        What ``run`` or ``aggregate`` wrote.
    texts
        What items say, by their ids.
    force
        See `aggcal.io.results.read_results`.

    Examples
    --------
    >>> load_run("nowhere")
    Traceback (most recent call last):
    aggcal.errors.FileError: nowhere: no such folder; give a folder that 'aggcal run' wrote.
    """
    summary, items, annotators = read_results(folder, force=force)
    met = read_comparisons(folder, items)
    cells = read_categories(folder, items)
    with fitting(folder):
        kept = {key: value for key, value in summary.items() if key != "texts"}
        return Run(kept, items, annotators, texts or {}, met, categories=cells)


@contextmanager
def fitting(folder: Path | str) -> Iterator[None]:
    """Say in a sentence what goes wrong with a folder of results, whose files may hold anything.

    Examples
    --------
    >>> with fitting("out"):
    ...     {}["method"]
    Traceback (most recent call last):
    aggcal.errors.FileError: out: the files do not fit together ('method'); run aggcal again.
    """
    try:
        yield
    except (OptionError, TableError, UnknownItemError):
        raise
    except _ODD as error:
        reason = str(error)[:_LONGEST] or type(error).__name__
        raise FileError(
            f"{folder}: the files do not fit together ({reason}); run aggcal again."
        ) from None
