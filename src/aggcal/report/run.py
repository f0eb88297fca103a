"""The results of one run as the sections of its report read them: columns, summary, comparisons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    cut,
    did_you_mean,
    some,
)
from aggcal.io.results import read_categories, read_comparisons, read_results
from aggcal.pages.figures import MATRIX
from aggcal.registry import CALIBRATORS, EQUAL, SCALES, CalibratorInfo, ScaleInfo

_LONGEST = 200
"""Characters of a reason: it may quote the folder, which may hold anything."""
_HEAD = 24  # characters of a column's head
_LEADER = 60  # characters of the leader's name in a heading
_ODD = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError,
    MemoryError,
)  # fmt: skip
"""What files that do not fit together may cause."""


@dataclass(frozen=True)
class Part:
    """A connected component: its number, 1 the largest, and its rows from the best to the worst."""

    label: int
    rows: tuple[int, ...]
    says: str
    """How many items it has, and which of them leads."""


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
    def _components(self) -> FloatArray | None:
        """The component of each item; None where all items are in one."""
        if "component" not in self.items or "rank" not in self.items:
            return None
        label, rank = (np.asarray(self.items[key], float) for key in ("component", "rank"))
        judged = np.isfinite(rank) & np.isfinite(label)
        return label if len(np.unique(label[judged])) > 1 else None

    @cached_property
    def parts(self) -> list[Part]:
        """Components that nothing compares with each other; none where all items are in one."""
        label, rank = self._components, self.number("rank")
        if label is None or rank is None:
            return []
        sure, found = self.number("sure_low"), list[Part]()
        for one in np.unique(label[np.isfinite(rank)]):
            members = np.flatnonzero(np.isfinite(rank) & (label == one))
            rows = members[np.argsort(rank[members], kind="stable")]
            first = rows[(rank if sure is None else sure)[rows] == 1.0]
            said = count(len(rows), "item")
            if len(rows) > 1 and len(first) == 1:
                said += f"; {cut(self.names[first[0]], _LEADER)} leads"
            elif len(first) > 1:
                said += f"; the best is one of {len(first):,}"
            found.append(Part(int(one), tuple(rows.tolist()), said))
        return found

    @cached_property
    def _ranked(self) -> Columns:
        """The items with the ranks that each has within its component.

        An interval of ranks allows for all items of other components above an item, so that within
        its own it ends so many ranks higher.
        """
        label = self._components
        if label is None:
            return self.items
        rank = np.asarray(self.items["rank"], dtype=np.float64)
        own, others = np.full(len(rank), np.nan), np.zeros(len(rank))
        for one in np.unique(label[np.isfinite(rank)]):
            members = np.flatnonzero(np.isfinite(rank) & (label == one))
            own[members] = 1.0 + np.searchsorted(np.sort(rank[members]), rank[members])
            others[members] = np.isfinite(rank).sum() - len(members)
        lower: Columns = {
            name: np.asarray(self.items[name], dtype=np.float64) - others
            for name in ("rank_high", "sure_high")
            if name in self.items
        }
        return {**self.items, "rank": own, **lower}

    @cached_property
    def _numbers(self) -> dict[str, FloatArray | None]:
        return {}

    def number(self, name: str) -> FloatArray | None:
        """Return a column of the items as floats, ranks within components; None without values.

        Examples
        --------
        >>> items = {"item": np.array(["a", "b", "c"], dtype=object), "rank": np.array([1, 2, 3]),
        ...          "rank_high": np.array([2, 3, 3]), "component": np.array([1, 2, 1])}
        >>> run = Run({}, items)
        >>> run.number("rank").tolist(), run.number("rank_high").tolist()
        ([1.0, 1.0, 2.0], [1.0, 1.0, 2.0])
        >>> [(part.label, part.rows, part.says) for part in run.parts]
        [(1, (0, 2), '2 items; a leads'), (2, (1,), '1 item')]
        """
        if name not in self._numbers:
            column = np.asarray(self._ranked.get(name, ()), dtype=np.float64)
            self._numbers[name] = column if np.isfinite(column).any() else None
        return self._numbers[name]

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
    def scored(self) -> str:
        """What the user calls the scores that were calibrated.

        Examples
        --------
        >>> table = {"item": np.array(["a"], dtype=object)}
        >>> Run({"score_column": "elo"}, table).scored, Run({}, table).scored
        ('elo', 'your score')
        """
        own = str(self.summary.get("score_column") or "")
        return "your score" if own.lower() in ("", "score", "scores") else cut(own, _HEAD)

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
    def terms(self) -> Mapping[str, Any]:
        """What was fitted beside scores and reliabilities; empty where nothing was."""
        return self.summary.get("terms") or {}

    @property
    def level(self) -> float:
        """The level of the intervals of the consensus."""
        return float((self.summary.get("uncertainty") or {}).get("level") or 0.95)

    def claimed(self, claim: str, value: str) -> Any:
        """Return a number that a claim is about; None where it is not claimed."""
        known = (self.summary.get("guarantees") or {}).get(claim) or {}
        return (known.get("values") or {}).get(value)

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

    @property
    def leaders(self) -> list[str]:
        """The items in first place: several if their scores are the same."""
        if "rank" not in self.items:
            return self.names[:1]
        rank = np.asarray(self.items["rank"], dtype=np.float64)
        return [self.names[k] for k in np.flatnonzero(rank == 1)]

    @property
    def has_matrix(self) -> bool:
        """Whether it is known who met whom, of few enough items to draw it."""
        return len(self.names) in MATRIX and bool(self.comparisons.get("pairs"))

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


def findings(summary: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the findings of the check, problems first; without a check, the fit's warnings.

    Examples
    --------
    >>> findings({"warnings": ["an item is odd"]})[0]["severity"]
    'problem'
    """
    if "check" in summary:
        return list(summary["check"]["findings"])
    warned = {"severity": "problem", "code": "", "title": "", "remedy": "", "details": {}}
    return [warned | {"why": str(each)} for each in summary["warnings"]]


def joined(words: Sequence[str]) -> str:
    """Join words with commas and, before the last one, "and".

    Examples
    --------
    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


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
