"""What a format is: how to know it, and which of its columns or records are ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from aggcal.data.base import UNNAMED
from aggcal.errors import TableError
from aggcal.io.choices import Choices
from aggcal.io.tables import Table, text_of

Notes: TypeAlias = list[str]
"""What was done in reading, in words."""

Records: TypeAlias = Iterator[tuple[str, Any]]
"""The records of a file, each with where it stands: "line 3", "row 3", "record 3"."""


class Row(NamedTuple):
    """One judgment as it stands in a file, before anything is checked or numbered.

    ``outcome`` is a label or a number as text, blank where no answer was given; ``reason`` says why
    there is none; ``ranking`` is common to the pairs of one act. ``context`` and ``by`` are what
    the user wants rows parted by, where they are not those of the record at ``location``.
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
    rating: float | None = None
    """Of the left item, where the row is no comparison but a rating: higher is better."""


class Made(NamedTuple):
    """A column made of others: a function of their texts, None where one is missing."""

    names: tuple[str, ...]
    say: Callable[..., str | None]


Source: TypeAlias = str | Made
"""What a column of ours is in a table of others'."""


def has(*names: str) -> Callable[[Table], bool]:
    """Return whether a table has all these columns."""
    return lambda table: {*names} <= table.columns.keys()


def _none(table: Table) -> bool:  # noqa: ARG001
    return False


def _every(table: Table) -> bool:  # noqa: ARG001
    return True


@dataclass(frozen=True)
class Format:
    """A format that judgments come in: its ``columns``, or its ``rows`` if records are taken apart.

    Parameters
    ----------
    is_mine
        Whether a table looks like it.
    columns
        For each column of ours the column that holds it, or several of which the first counts that
        is there.
    rows
        Makes rows of records, given what the user said and where notes go.
    is_text
        Whether the head of a text is of this format, whose records are then its lines.

    Examples
    --------
    >>> gavel = {"annotator": "annotator id", "winner": "winner id", "loser": "loser id"}
    >>> Format(has(*gavel.values()), gavel).columns["winner"]
    'winner id'
    """

    is_mine: Callable[[Table], bool] = _none
    columns: Mapping[str, Source | tuple[Source, ...]] = field(default_factory=dict)
    rows: Callable[[Records, Choices, Notes], Iterator[Row]] | None = None
    is_text: Callable[[str], bool] | None = None
    sided: Callable[[Table], bool] = _every
    """Whether left and right are where the items were shown; rankings are never sided."""
    options: tuple[str, ...] = ()
    """Which of those options apply that only some formats have."""
    contexts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names that a context has for its users, and the columns that hold it."""
    within: tuple[str, ...] = ()
    """Parts of a record whose fields may be a context or a category, too."""
    renames: bool = False
    """Whether records are rows of a table, whose columns the user may name."""
    may_be: Callable[[Table], bool] = _none
    """Whether a table can be meant that is only read so if the user names the format."""
    says: Mapping[str, str] = field(default_factory=dict)
    """What to say where a column is used."""
    name: str = ""
    """What people write to choose it; those of aggcal have theirs from the table they stand in."""
    summary: str = ""
    """What such files are and which columns identify them, for ``aggcal list formats``."""
    general: bool = False
    """Whether files of other tools may look like it too: it is then tried after all others."""


def note(notes: Notes, text: str) -> None:
    """Say something once."""
    if text not in notes:
        notes.append(text)


def nobody(choices: Choices, notes: Notes) -> str:
    """Return the annotator of judgments that name none, and say so."""
    who = choices.annotator or choices.made_up(UNNAMED)
    note(
        notes,
        f"the file names no annotators: all judgments are taken as those of '{who}', and errors "
        "may be too small if few people gave many answers",
    )
    return who


def cell_text(value: Any) -> str | None:
    """Write a JSON value as an id: text as it is, a list as its parts, numbers without ".0".

    Examples
    --------
    >>> [cell_text(one) for one in (3.0, " a ", "", ["gpt-4", "pair-v2"], True)]
    ['3', 'a', None, 'gpt-4 pair-v2', 'true']
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return " ".join(filter(None, map(cell_text, value))) or None
    return (text_of(value) or "").strip() or None


def number_of(value: Any) -> float | None:
    """Return a JSON value as a finite number, or None."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None


def first_of(cells: Mapping[str, Any], names: Sequence[str]) -> Any:
    """Return what stands under the first of these names that is there."""
    return next((cells[name] for name in names if cells.get(name) not in (None, "")), None)


def mapping_of(value: Any, location: str, what: str) -> Mapping[str, Any]:
    """Return a value that must be a mapping, or refuse it by name."""
    if not isinstance(value, Mapping):
        raise TableError(f"{location}: '{what}' is not an object; the export is damaged.")
    return value


def list_of(value: Any, location: str, what: str) -> Sequence[Any]:
    """Return a value that must be a list (or is missing), or refuse it by name."""
    if not isinstance(value, list | tuple | None):
        raise TableError(f"{location}: '{what}' is not a list; the export is damaged.")
    return value or ()


def under_our_names(record: Any, location: str, choices: Choices) -> dict[str, Any]:
    """Return a row of a table under small letters, with the names that the user gave it."""
    row = mapping_of(record, location, "row")
    cells = {str(name).strip().lower(): value for name, value in row.items()}
    columns = {**choices.guessed, **choices.columns}
    named = {own: other.strip().lower() for own, other in columns.items()}
    return cells | {own: cells[other] for own, other in named.items() if other in cells}
