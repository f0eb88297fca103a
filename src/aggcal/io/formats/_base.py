"""What a format is: how to know it, and how its records become judgments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from aggcal.data.acts import RANKING_WEIGHTS, RankingWeight
from aggcal.data.spelling import Spelling
from aggcal.errors import OptionError, TableError
from aggcal.io.formats._sample import Record, Sample
from aggcal.io.formats._steps import on_scale
from aggcal.io.tables.source import Source, cell, quoted
from aggcal.registry import FormatInfo

Blank: TypeAlias = Literal["skip", "error"]
BLANKS = get_args(Blank)
"""What to do where an answer or a score is blank: count it as none, or refuse the file."""

OUTCOMES = ("left", "right", "tie", "skip", "failed")
"""What an outcome can mean, beside a number from 0 to 1."""

STRONG = ("left+", "right+", "left++", "right++")
"""Outcomes that say how much better an item is: one step more for each sign."""

MEANINGS = (*OUTCOMES, *STRONG)
"""What a label may be said to mean, beside a number from 0 to 1."""

Notes: TypeAlias = list[str]
"""What was done in reading, in words."""

SEVERAL = "several formats"
"""The format of judgments from files of different ones."""

UNREGISTERED = FormatInfo("", "", "")
"""What a format is called before `aggcal.registry` gives it a name."""

NOBODY = "unknown"
"""The annotator of judgments whose format names none."""


@dataclass(frozen=True)
class Choices:
    """What the user said about a file beyond its name."""

    outcomes: Mapping[str, str | float] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    annotator: str | None = None
    left_key: str | None = None
    right_key: str | None = None
    drafts: bool = False
    tie_within: float = 0.0
    ranking_weight: RankingWeight = "information"
    blank: Blank = "skip"
    spelling: Spelling | None = None
    order: tuple[str, ...] = ()
    """Labels of ratings, the best first; or which number is the best, the lowest or highest."""
    origin: str = ""
    """Which of several files this is; blank for one alone."""
    context: str | None = None
    """The column that is the context of a judgment: its prompt, session or screen."""
    by: tuple[str, ...] = ()
    """The columns by which judgments are of categories."""
    strength_scale: tuple[int, int] | None = None
    """The number that means the strongest left, and that of the strongest right."""

    def made_up(self, annotator: str) -> str:
        """Name an annotator whom the file does not name, so that no other file has the same.

        Examples
        --------
        >>> Choices().made_up("voter 1"), Choices(origin="b.soc").made_up("voter 1")
        ('voter 1', 'voter 1 (b.soc)')
        """
        return f"{annotator} ({self.origin})" if self.origin else annotator

    def __post_init__(self) -> None:
        # Before a file is looked at, which may be a large one.
        object.__setattr__(self, "outcomes", {**on_scale(self.strength_scale), **self.outcomes})
        for label, means in self.outcomes.items():
            text = str(means).strip().lower()
            strength = number_of(text)
            if text not in MEANINGS and not (strength is not None and 0.0 <= strength <= 1.0):
                raise OptionError(
                    f"outcome '{label}' is mapped to '{means}'; "
                    f"map it to one of {', '.join(MEANINGS)} or to a number from 0 to 1."
                )
        if self.ranking_weight not in RANKING_WEIGHTS:
            raise OptionError(
                f"ranking weight '{self.ranking_weight}' is unknown; choose "
                f"{', '.join(RANKING_WEIGHTS)}."
            )
        check_blank(self.blank)
        labels = [label.strip().lower() for label in self.order]
        if "" in labels or len(set(labels)) < len(labels):
            raise OptionError(
                f"the order {','.join(self.order)!r} names a label twice or none; name each once, "
                "the best first."
            )
        if not 0.0 <= self.tie_within < inf:
            raise OptionError(
                f"ratings cannot be a tie within {self.tie_within}; give a number from 0 on."
            )


def stated_order(order: Sequence[str] | str) -> tuple[str, ...]:
    """Return labels in a stated order, which may be one text with commas.

    Examples
    --------
    >>> stated_order("A+, A,B"), stated_order(["A", "B"]), stated_order("")
    (('A+', 'A', 'B'), ('A', 'B'), ())
    """
    labels = order.split(",") if isinstance(order, str) else order
    return tuple(str(label).strip() for label in labels) if order else ()


def check_blank(blank: str) -> None:
    """Refuse a choice for blank cells that is none.

    Examples
    --------
    >>> check_blank("ignore")
    Traceback (most recent call last):
    aggcal.errors.OptionError: blank cells cannot be treated as 'ignore'; choose skip or error.
    """
    if blank not in BLANKS:
        raise OptionError(
            f"blank cells cannot be treated as '{blank}'; choose {' or '.join(BLANKS)}."
        )


class Row(NamedTuple):
    """One judgment as it stands in a file, before anything is checked or numbered.

    ``outcome`` is a label or a number as text, blank where no answer was given; ``reason`` says why
    there is none where it is ``skip`` or ``failed``; ``ranking`` is common to the pairs that one
    ranking was taken apart into; ``location`` is where in the file it stands. ``context`` and
    ``by`` are what the user wants rows parted by; where a format leaves them out, they are those of
    the record that stands at ``location``.
    """

    annotator: str | None
    left: str | None
    right: str | None
    outcome: str
    location: str
    weight: float = 1.0
    criterion: str | None = None
    seconds: float | None = None
    ranking: str | None = None
    reason: str | None = None
    context: str | None = None
    by: tuple[str | None, ...] = ()


def _knows_sides(sample: Sample) -> bool:  # noqa: ARG001  # as most do
    return True


@dataclass(frozen=True)
class TableFormat:
    """A table whose columns only have other names: DuckDB reads it, however long it is.

    Parameters
    ----------
    is_mine
        Whether a sample looks like this format.
    uses
        The columns that it may read, in small letters; or a function of the sample.
    columns
        An SQL expression over the columns that are there for each of our own: annotator, left,
        right, outcome or annotator, winner, loser; weight, criterion, seconds, reason.
    """

    is_mine: Callable[[Sample], bool]
    uses: tuple[str, ...] | Callable[[Sample], tuple[str, ...]]
    columns: Callable[[Source, Choices, Notes], Mapping[str, str]]
    contexts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names that a context has for its users, and the columns that hold it."""
    sided: Callable[[Sample], bool] = _knows_sides
    """Whether left and right are where the items were shown, as far as there is an outcome."""
    options: tuple[str, ...] = ()
    """Which of those options apply that only some formats have."""
    info: FormatInfo = UNREGISTERED

    def columns_of(self, sample: Sample) -> tuple[str, ...]:
        """Return the columns that it may read of such a file."""
        return self.uses if isinstance(self.uses, tuple) else self.uses(sample)


@dataclass(frozen=True)
class RecordFormat:
    """Records that must be taken apart one by one.

    ``rows`` gets the records with their locations, what the user said, and a place for notes.
    ``renames`` tells whether they are rows of a table, whose columns the user may name;
    ``options`` which of those options apply that only some formats have.
    """

    is_mine: Callable[[Sample], bool]
    rows: Callable[[Iterator[Record], Choices, Notes], Iterator[Row]]
    renames: bool = False
    options: tuple[str, ...] = ()
    may_be: Callable[[Sample], bool] | None = None
    """Whether a sample can be meant that is only read so if the user names the format."""
    contexts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names that a context has for its users, and the fields that hold it."""
    sided: Callable[[Sample], bool] = _knows_sides
    """Whether left and right are where the items were shown; rankings are never sided."""
    within: tuple[str, ...] = ()
    """Parts of a record whose fields may be a context or a category, too."""
    info: FormatInfo = UNREGISTERED


@dataclass(frozen=True)
class TextFormat:
    """A text that is neither a table nor JSON."""

    is_mine: Callable[[Sample], bool]
    rows: Callable[[Iterator[tuple[int, str]], Choices, Notes], Iterator[Row]]
    options: tuple[str, ...] = ()
    info: FormatInfo = UNREGISTERED


Format: TypeAlias = TableFormat | RecordFormat | TextFormat

_OF_SOME = (
    "tie_within", "order", "left_key", "right_key", "drafts", "strength_scale",
)  # fmt: skip
"""Options that only some formats have."""


def options_without_effect(form: Format, choices: Choices) -> list[str]:
    """Return the options that would have no effect on a file of this format."""
    own = form.options
    usual = Choices()
    return [
        f"--{option.replace('_', '-')}"
        for option in _OF_SOME
        if option not in own and getattr(choices, option) != getattr(usual, option)
    ]


def refuse_options(form: Format, choices: Choices, name: str) -> None:
    """Refuse an option that would have no effect on a file of this format."""
    for option in options_without_effect(form, choices):
        raise OptionError(
            f"{name}: {option} does not apply to {form.info.name} judgments; leave it out."
        )


def annotator_or_nobody(source: Source, choices: Choices, notes: Notes, *columns: str) -> str:
    """Write the SQL of the annotator: the first of these columns, else one for all rows."""
    for name in columns:
        if name in source.columns:
            if choices.annotator is not None:
                notes.append(not_needed(choices.annotator, name))
            return cell(name)
    return quoted(nobody(choices, notes))


def not_needed(annotator: str, column: str) -> str:
    """Say that an annotator was named for judgments that have theirs.

    Examples
    --------
    >>> not_needed("me", "judge")
    "annotator 'me' is not used: the column 'judge' names who judged"
    """
    return f"annotator '{annotator}' is not used: the column '{column}' names who judged"


def say_unused(source: Source, choices: Choices, notes: Notes) -> None:
    """Say that an annotator was named for judgments that all have theirs."""
    who = choices.annotator
    if who is not None and not source.one("count(*)", f"annotator = {quoted(who)}"):
        notes.append(f"annotator '{who}' is not used: the file names who judged")


def nobody(choices: Choices, notes: Notes) -> str:
    """Return the annotator of judgments that name none, and say so.

    Examples
    --------
    >>> notes = []
    >>> nobody(Choices(), notes), notes
    ('unknown', ["the file names no annotators: all judgments are taken as those of 'unknown'"])
    """
    who = choices.annotator or choices.made_up(NOBODY)
    said = f"the file names no annotators: all judgments are taken as those of '{who}'"
    if said not in notes:
        notes.append(said)
    return who


def text_of(value: Any) -> str | None:
    """Write a JSON value as an id: text as it is, numbers without a needless fraction.

    Examples
    --------
    >>> text_of(3), text_of(3.0), text_of(" a "), text_of(""), text_of(["gpt-4", "pair-v2"])
    ('3', '3', 'a', None, 'gpt-4 pair-v2')
    """
    if value is None or isinstance(value, bool):
        return None if value is None else str(value).lower()
    if isinstance(value, float):
        if value != value:  # noqa: PLR0124  # NaN, which frames write where there is nothing
            return None
        return str(int(value)) if value.is_integer() else str(value)
    if isinstance(value, list | tuple):
        return " ".join(filter(None, map(text_of, value))) or None
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return str(value).strip() or None


def number_of(value: Any) -> float | None:
    """Return a JSON value as a finite number, or None.

    Examples
    --------
    >>> number_of("1.5"), number_of("fast"), number_of(None)
    (1.5, None, None)
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def mapping_of(value: Any, location: str, what: str) -> Mapping[str, Any]:
    """Return a value that must be a mapping, or refuse it by name.

    Examples
    --------
    >>> mapping_of({"a": 1}, "record 1", "data")
    {'a': 1}
    """
    if not isinstance(value, Mapping):
        raise TableError(f"{location}: '{what}' is not an object; the export is damaged.")
    return value


def list_of(value: Any, location: str, what: str) -> list[Any]:
    """Return a value that must be a list (or is missing), or refuse it by name.

    Examples
    --------
    >>> list_of(None, "record 1", "annotations")
    []
    """
    if value is None:
        return []
    if not isinstance(value, list | tuple):
        raise TableError(f"{location}: '{what}' is not a list; the export is damaged.")
    return list(value)
