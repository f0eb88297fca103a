"""Tables with one row per item: scores, true scores, features, covariates, texts."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import as_text
from aggcal.data.control import Control
from aggcal.data.features import Features
from aggcal.data.scores import LARGEST, Scores
from aggcal.errors import (
    FeatureError,
    InputError,
    OptionError,
    ScoreError,
    TableError,
    TooLittleDataError,
    count,
    did_you_mean,
    option,
    some,
)
from aggcal.io.choices import Blank
from aggcal.io.columns import Column, folded, numbers, plain_numbers
from aggcal.io.saving import scratch_folder
from aggcal.io.tables import Table, listed, opened
from aggcal.io.words import DAMAGE, ITEM, PER_ITEM, RANKS, RATING, SUMMARIES, paired

_LOWEST = (*RANKS, "loss", "error", "perplexity", "distance", "mae", "mse", "rmse", "wer", "cer")
"""What is best where it is lowest, and no score, which is best where it is highest."""
_SCORES = ("prediction", "predicted", "predicted score", "model score", "ai score", "ai mark")
"""What the column of a model's scores is surely called, beside the words for ratings."""
_CODES = ("-9", "-99", "-999", "-9999", "99", "999", "9999")
"""Numbers that stand for a missing one in surveys."""
_EACH = "read as: each name is an item, and its number the score"
_NAMES = "names the items"
_USUAL = ("score", "truth", "consensus", "text")
"""What a column is called where the user does not say."""
_NUMBER = re.compile(r"[+-]?[\d.,\s'’]*\d[\d.,\s'’]*(e[+-]?\d+)? ?%?", re.IGNORECASE).fullmatch
_ROUNDED = 0.051
"""How far a mean may be from what a spreadsheet shows: people show one decimal."""


class Items:
    """A table with one row per item.

    Parameters
    ----------
    table
        The table.
    item
        What the user calls the column of the ids. Where it is ``"item"`` and there is none, the
        only column that is called as items are is taken.
    others
        Columns that are not the ids, in small letters.
    """

    def __init__(self, table: Table, item: str, others: Collection[str] = ()) -> None:
        self.table, self.item = table, item.strip().lower()
        self.notes: list[str] = []
        named = [n for n in (*ITEM, *PER_ITEM) if n in table.columns and n not in others]
        named = [n for n in named if n not in PER_ITEM] or named
        if self.item == "item" and "item" not in table.columns and len(named) == 1:
            self.item = named[0]
            self.notes.append(f"column '{self.item}' {_NAMES}")
        self.notes += table.notes
        table.refuse_twice({self.item, *others})

    @property
    def name(self) -> str:
        """What the user calls the table."""
        return self.table.name

    def lacks(self, column: str) -> bool:
        """Whether there is no such column."""
        return column.strip().lower() not in self.table.columns

    def column(self, name: str) -> Column:
        """Return a column by any spelling of its name."""
        key, before = name.strip().lower(), len(self.table.notes)
        column = self.table.load([key])[key]
        self.notes += self.table.notes[before:]
        return column

    @cached_property
    def items(self) -> Column:
        """The ids."""
        return self.column(self.item)

    @property
    def ids(self) -> TextArray:
        """The ids of the rows."""
        return as_text(map(str, self.items.cells()))

    def refuse_no_item(self) -> None:
        """Refuse a table without ids."""
        if self.lacks(self.item):
            raise TableError(
                f"{self.name}: column 'item' missing (found: {listed(self.table.header)}); call "
                "the column of the ids 'item'."
            )

    def refuse_no_rows(self, remedy: str = "; add items") -> None:
        """Refuse a table of a header only."""
        if not len(self.items):
            raise TooLittleDataError(f"{self.name}: has a header but no row{remedy}.")

    def refuse_double(
        self, error: type[InputError] = ScoreError, context: str | None = None, hint: str = ""
    ) -> None:
        """Refuse a row without an item, with a damaged id, or with one of a row before it.

        ``context`` is a column that tells rows of one item apart; ``hint`` what else may be meant.
        """
        keys = {"item": self.items} | ({} if context is None else {context: self.column(context)})
        for shown, column in keys.items():
            if column.blank.any():
                where = self.table.place(int(np.argmax(column.blank)))
                raise TableError(
                    f"{self.name}: {where} has no {shown}; fill it in or remove the row."
                )
        for shown, column in keys.items():
            for what, remedy, test in DAMAGE:
                if (bad := column.has(test)).any():
                    row = int(np.argmax(bad))
                    raise TableError(
                        f"{self.name}: {self.table.place(row)}: '{column.at(row)}' in column "
                        f"'{shown}' {what} ({count(int(bad.sum()), 'such row')} in total); "
                        f"{remedy}."
                    )
        every = [*keys.values()]
        key = folded([c.codes for c in every], [len(c.texts) for c in every])[0]
        again = np.ones(len(key), bool)
        again[np.unique(key, return_index=True)[1]] = False
        if again.any():
            row = int(np.argmax(again))
            within = "" if context is None else f" in {context} '{keys[context].at(row)}'"
            raise error(
                f"{self.name}: duplicate item '{self.items.at(row)}'{within} "
                f"({self.table.place(row)}; {count(int(again.sum()), 'duplicate row')} in total); "
                f"keep one row {'per item' if context is None else 'for each'}"
                f"{hint and f'; {hint}'}."
            )

    def numbers(
        self,
        name: str,
        shown: str | None = None,
        *,
        optional: bool = True,
        positive: bool = False,
        error: type[InputError] = ScoreError,
        otherwise: str = "remove the row",
    ) -> FloatArray:
        """Return a column of numbers; refuse cells that are no finite numbers.

        Parameters
        ----------
        name
            The column.
        shown
            What a message calls it, if not by its name.
        optional, positive
            Whether a cell may be blank (NaN), and whether numbers must be above 0.
        error
            What to raise.
        otherwise
            What to do if no number can be given.
        """
        column, notes = plain_numbers(self.column(name), name, self.table)
        self.notes += notes
        values = numbers(column)
        with np.errstate(invalid="ignore"):
            faults = {
                "is missing": column.blank & (not optional),
                "is not a number": np.isnan(values) & ~column.blank,
                "is not a finite number": np.isinf(values),
                "is too large": np.abs(values) > LARGEST,
                "is not positive": (values <= 0) & positive,
                "is too small": (values < 1 / LARGEST) & positive,
            }
        for what, bad in faults.items():
            if bad.any():
                row = int(np.argmax(bad))
                value = column.at(row)
                cell = f" ('{value}')" if value else ""
                hint = " (write decimals with a point)" if "," in (value or "") else ""
                raise error(
                    f"{self.name}: {self.table.place(row)}, item '{self.items.at(row)}': the "
                    f"{shown or name}{cell} {what} ({count(int(bad.sum()), 'such row')} in total); "
                    f"give a number{hint} or {otherwise}."
                )
        return values


@contextmanager
def _items(
    data: Any,
    what: str,
    shapes: Mapping[int, Sequence[str]],
    item: str = "item",
    others: Collection[str] = (),
) -> Iterator[Items]:
    """Open a table of items; ``others`` are the columns wanted beside the ids."""
    others = [name.strip().lower() for name in others]
    names = {item.strip().lower(), *others, *((*ITEM, *PER_ITEM) if item == "item" else ())}
    with scratch_folder() as scratch:
        table = opened(data, scratch, names=names, shapes=shapes, what=what)
        if not table.header:
            known = " or ".join(f"({', '.join(shape)})" for shape in shapes.values())
            row = table.rows[0]
            if not isinstance(row, list):
                raise TableError(
                    f"{what} cannot be read from {type(data).__name__!r}; give a path, a pandas, "
                    "polars or arrow frame, or a list of rows."
                )
            raise TableError(f"row 1 of the {what} has {len(row)} values; give {known}.")
        yield Items(table, item, others)


def is_one_by_one(data: Any, item: str) -> bool:
    """Whether data map each item to what belongs to it, and not names to columns.

    Examples
    --------
    >>> is_one_by_one({"a": 1.5}, "item"), is_one_by_one({"model": ["a"], "score": [1.5]}, "item")
    (True, False)
    """
    return (
        isinstance(data, Mapping)
        and not any(str(key).strip().lower() == item.strip().lower() for key in data)
        and all(isinstance(value, str) or not hasattr(value, "__len__") for value in data.values())
    )


# --- scores


def read_scores(
    data: Any,
    *,
    column: str = "score",
    item: str = "item",
    blank: Blank = "skip",
    flag: str | None = "score",
) -> Scores:
    """Read a table of scores: ``item, score`` and, where the model states it, ``sd``.

    Parameters
    ----------
    data
        A path, a data frame, a list of ``(item, score)`` or ``(item, score, sd)`` tuples, a
        mapping of columns as in `read_judgments`, or a mapping of item to score.
    column
        The name of the column that holds the score.
    item
        The name of the column that holds the ids.
    blank
        What a blank score means: ``"skip"``, that the item has none; ``"error"`` refuses the table.
    flag
        The option that names it, for the error message; None if there is none.

    Returns
    -------
    Scores
        ``notes`` says what was made of the table: blank scores, decimal commas, an encoding.

    Examples
    --------
    >>> read_scores([("a", 1.5), ("b", -0.5)]).values
    array([ 1.5, -0.5])
    >>> read_scores([("a", 1.5), ("b", None)]).notes
    ("1 item has a blank score and counts as an item without one ('b')",)
    """
    if blank not in ("skip", "error"):
        raise OptionError(f"blank cells cannot be treated as '{blank}'; choose skip or error.")
    if column.strip().lower() == item.strip().lower():
        raise OptionError(f"the column '{item}' names the items; give the column that scores them.")
    if is_one_by_one(data, item):
        return Scores.of(_mapped(data))
    shapes = {2: (item, column), 3: (item, column, "sd")}
    with _items(data, "scores", shapes, item, (column, "sd")) as table:
        rows = table.table.rows
        if isinstance(rows, list) and len(rows) == 1 and isinstance(rows[0], Mapping):
            with suppress(ScoreError):  # one object of JSON, which maps each item to its score
                return replace(Scores.of(_mapped(rows[0])), source=table.name, notes=(_EACH,))
        column, value = _scored(table, column, flag, item, optional=blank == "skip")
        ids, kept = table.ids, ~np.isnan(value)
        if (n := int((~kept).sum())) > 0:
            verb, one = ("has", "counts as an item") if n == 1 else ("have", "count as items")
            table.notes.append(
                f"{count(n, 'item')} {verb} a blank score and {one} without one "
                f"({some(ids[~kept])})"
            )
        summary = np.array([item.lower().strip(" :") in SUMMARIES for item in ids])
        for row in np.flatnonzero(summary & kept).tolist():
            if is_summary([value[row]], value[kept & ~summary, None].tolist()):
                table.notes.append(f"'{ids[row]}' adds up the other rows and is left out")
                kept[row] = False
        sd = None if table.lacks("sd") else table.numbers("sd", optional=False, positive=True)
        return Scores(
            ids[kept],
            value[kept],
            None if sd is None else sd[kept],
            table.name,
            table.table.backend,
            tuple(table.notes),
            column=column,
        )


def _mapped(data: Mapping[Any, Any]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for item, value in data.items():
        try:
            scores[str(item)] = float(value)
        except (TypeError, ValueError):
            raise ScoreError(
                f"scores: item '{item}': '{value}' is not a number; give a number or leave it out."
            ) from None
    return scores


def is_summary(row: Sequence[float | None], above: Sequence[Sequence[float | None]]) -> bool:
    """Whether numbers are the means, the medians or the sums of those above them.

    Examples
    --------
    >>> is_summary([2.5, 6.0], [[2.0, 5.0], [3.0, 7.0]]), is_summary([2.0], [[2.0], [3.0]])
    (True, False)
    """
    pairs = [
        (value, np.array([n for n in column if n is not None]))
        for value, column in zip(row, zip(*above, strict=True), strict=False)
        if value is not None and any(n is not None for n in column)
    ]
    return bool(pairs) and any(
        all(abs(value - total(column)) < _ROUNDED for value, column in pairs)
        for total in (np.mean, np.median, np.sum)
    )


def _scored(
    table: Items, column: str, flag: str | None, item: str = "item", *, optional: bool = True
) -> tuple[str, FloatArray]:
    """Return the column of the scores, and what is in it: NaN where it is blank."""
    column = _value_column(table, column, flag, item)
    table.refuse_double()
    value = table.numbers(column, optional=optional)
    _refuse_codes(table, column, value)
    if np.isnan(value).all():
        raise ScoreError(f"{table.name}: column '{column}' is blank in every row; fill it in.")
    return column, value


def _value_column(table: Items, column: str, flag: str | None, item: str) -> str:
    """Return the column of the scores, or of the texts; refuse a table without it or without ids.

    Where only one column can hold the ids, or the scores, it is taken, and a note says so; one that
    the user named has to be there.
    """
    if not (table.lacks(table.item) or table.lacks(column)):
        table.refuse_no_rows()
        return column
    columns, header, wanted = table.table.columns, table.table.header, column
    if paired(columns):
        raise TableError(
            f"{table.name}: this looks like a table of judgments: check whether two files are "
            f"swapped; further judgments come after {option('judgments')}."
        )
    free = table.table.load([n for n in columns if n and n not in (table.item, "item")])
    texts = flag == "text"
    numeric = [n for n, c in free.items() if c.texts and (texts or all(map(_NUMBER, c.texts)))]
    ids = [n for n, c in free.items() if len(c.texts) == len(c)]
    ids = [n for n in ids if n not in numeric or n in PER_ITEM]
    sure = [n for n in numeric if n in (*RATING, *_SCORES) and not texts] or numeric
    likely = [n for n in sure if n not in (*_LOWEST, *ITEM, *PER_ITEM)]
    others = [n for n in likely if n in _USUAL and n != column]
    if others and column in _USUAL:
        likely = []
    if not any(map(_NUMBER, header)):  # else the first line holds data
        if table.lacks(table.item) and item == "item" and len(ids) == 1:
            table.item = ids[0]
        if table.lacks(column) and column in _USUAL and len(likely) == 1:
            column = likely[0]
    if not (table.lacks(table.item) or table.lacks(column)):
        shown = columns[table.item], columns[column.strip().lower()]
        table.notes = [note for note in table.notes if not note.endswith(_NAMES)]
        table.notes.append(f"read as: item = '{shown[0]}', {wanted} = '{shown[1]}'")
        table.refuse_no_rows()
        return column
    missing = [n for n, own in ((item, table.item), (column, column)) if table.lacks(own)]
    near = "" if {*missing} <= {"item", *_USUAL} else did_you_mean(missing[-1], header)
    lowest = next((columns[n] for n in sure if n in _LOWEST and not likely), None)
    remedy = _remedy(table, column, flag, [columns[n] for n in likely], lowest)
    if not numeric:
        remedy = f"it has no column of {_held(flag)}: check whether two files are swapped"
    if others and not likely:
        remedy = f"it has the column '{others[0]}': check whether two files are swapped"
    raise TableError(
        f"{table.name}: {'column' if len(missing) == 1 else 'columns'} "
        f"{', '.join(map(repr, missing))} missing{near} (found: {listed(header)}); {remedy}."
    )


def _remedy(
    table: Items, column: str, flag: str | None, likely: Sequence[str], lowest: str | None
) -> str:
    """Say what to do about a table whose ids or scores have other names."""
    header = table.table.header
    if _NUMBER(header[-1].strip()):
        return f"the first line holds data; add a first line item,{column}"
    if table.lacks(table.item):
        if not header[0].strip():
            return "if the first column names the items, write 'item' above it"
        return "call the column of the ids 'item'"
    if lowest is not None:
        return (
            f"'{lowest}' is probably best where it is lowest, and a score where it is highest: "
            f"turn it round (write its negative), and call the column '{column}'"
        )
    either = f": {some(likely, 9)}" if likely else ""
    if flag == "score":
        return f"name the column of the numbers with {option('score-column')}{either}"
    return f"call the column of the {_held(flag)} '{column}'{either}"


def _held(flag: str | None) -> str:
    return "texts" if flag == "text" else "numbers"


def _refuse_codes(table: Items, column: str, value: FloatArray) -> None:
    """Refuse numbers that stand for a missing one, such as -999 beside 45 to 80."""
    texts = table.column(column)
    code = texts.has(_CODES.__contains__)
    others = value[~code & ~np.isnan(value)]
    if not code.any() or not len(others):
        return
    low, high = others.min(), others.max()
    odd = code & ((value < (0.0 if low >= 0.0 else 2.0 * low - high)) | (value > 2.0 * high - low))
    if odd.any():
        row = int(np.argmax(odd))
        raise ScoreError(
            f"{table.name}: {table.table.place(row)}, item '{table.items.at(row)}': the {column} "
            f"'{texts.at(row)}' looks like a code for a missing number (the others are "
            f"{low:g} to {high:g}; {count(int(odd.sum()), 'such row')} in total); leave the cell "
            f"blank, or write {texts.at(row)}.0 if it is meant."
        )


def read_truth(
    data: Any, *, column: str = "truth", flag: str | None = "truth"
) -> tuple[Scores, int]:
    """Read ``item, truth``; items whose truth is blank are left out and counted.

    A column ``chosen_by`` with an entry beside a truth says that items were chosen, not drawn.

    Examples
    --------
    >>> truth, blank = read_truth([{"item": "a", "truth": 3}, {"item": "b", "truth": None}])
    >>> len(truth), blank
    (1, 1)
    """
    with _items(data, "truth", {2: ("item", column)}, others=(column, "chosen_by")) as table:
        column, value = _scored(table, column, flag)
        kept = ~np.isnan(value)
        chosen = not table.lacks("chosen_by") and not table.column("chosen_by").blank[kept].all()
        scores = Scores(
            table.ids[kept], value[kept], None, table.name, notes=tuple(table.notes), chosen=chosen
        )
        return scores, int((~kept).sum())


def read_item_columns(data: Any, columns: Sequence[str]) -> tuple[TextArray, dict[str, FloatArray]]:
    """Read those of the named columns that an items table has; blank cells become NaN.

    Examples
    --------
    >>> ids, found = read_item_columns({"item": ["a"], "model": [2.0]}, ["model", "calibrated"])
    >>> found
    {'model': array([2.])}
    """
    with _items(data, "items", {}, others=columns) as table:
        table.refuse_no_item()
        present = [name for name in columns if not table.lacks(name)]
        if not present:
            raise TableError(
                f"{table.name}: none of the columns {', '.join(columns)} is there "
                f"(found: {listed(table.table.header)}); give an items.csv that aggcal wrote."
            )
        table.refuse_no_rows("")
        table.refuse_double()
        return table.ids, {name: table.numbers(name) for name in present}


def read_items(data: Any) -> TextArray:
    """Read the ids of a table that has the column ``item``.

    Examples
    --------
    >>> read_items({"item": ["a", "b"], "title": ["A", "B"]})
    array(['a', 'b'], dtype=object)
    """
    with _items(data, "items", {1: ("item",)}) as table:
        table.refuse_no_item()
        table.refuse_no_rows()
        table.refuse_double()
        return table.ids


# --- columns of numbers of any name


def read_features(data: Any) -> Features:
    """Read a table of features: ``item`` and one or more columns of numbers, of any names.

    Parameters
    ----------
    data
        A path, a data frame, a list of ``(item, number, number, ...)`` tuples or of mappings, or
        a mapping of columns.

    Examples
    --------
    >>> read_features({"item": ["a", "b"], "length": [120, 80], "rare words": [0.1, 0.3]}).names
    ('length', 'rare words')
    """
    with _items(data, "features", _shapes_of(data, ("item",))) as table:
        names, matrix = _matrix(table, (table.item,), "feature")
        return Features(table.ids, matrix, names, table.name, tuple(table.notes))


def read_control(data: Any, *, context: str | None = None) -> Control:
    """Read covariates to hold equal: ``item``, perhaps a context, and columns of numbers.

    Parameters
    ----------
    data
        A path, a data frame, a list of tuples ``(item, number, ...)`` (with ``context``:
        ``(item, context, number, ...)``) or of mappings, or a mapping of columns.
    context
        What the context of the judgments is called, such as ``prompt``. If the table has a column
        of this name, or one called ``context``, each row describes an item in one context.

    Examples
    --------
    >>> table = {"item": ["a", "a", "b", "b"], "prompt": [1, 2, 1, 2], "words": [120, 80, 95, 60]}
    >>> read_control(table, context="prompt")
    Control(4 rows, words)
    """
    named = None if context is None else context.strip().lower()
    first = ("item",) if named is None else ("item", named)
    with _items(data, "covariates", _shapes_of(data, first), others=first[1:]) as table:
        there = [n for n in (named, "context") if n and n != "item" and not table.lacks(n)]
        column = there[0] if there else None
        if column is not None and named is None:
            raise OptionError(
                f"{table.name}: has values by context (column 'context'), but it is not known "
                f"which column of the judgments that is; name it with {option('context')}, or "
                "leave the column out."
            )
        hint = f"if values depend on a context, name the judgments' column with {option('context')}"
        if named is not None:
            hint = f"if values depend on the {named}, add the column '{named}'"
        hint = "" if there else hint
        names, matrix = _matrix(table, (table.item, *there[:1]), "covariate", column, hint)
        contexts = None if column is None else as_text(map(str, table.column(column).cells()))
        return Control(table.ids, matrix, names, contexts, table.name, tuple(table.notes))


def _shapes_of(data: Any, first: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Return what the columns of tuples are called: some names, then x1, x2, ...

    Examples
    --------
    >>> _shapes_of([("a", 1.0, 2.0)], ("item",))
    {3: ('item', 'x1', 'x2')}
    """
    row = data[0] if isinstance(data, list | tuple) and data else ()
    width = max(len(first) + 1, len(row) if isinstance(row, list | tuple) else 0)
    return {width: (*first, *(f"x{k}" for k in range(1, width - len(first) + 1)))}


def _matrix(
    table: Items, others: Sequence[str], what: str, context: str | None = None, hint: str = ""
) -> tuple[tuple[str, ...], FloatArray]:
    """Return the columns of numbers, all but some others: their names, and all side by side."""
    table.refuse_no_item()
    header = [name.strip() for name in table.table.header]
    names = tuple(name for name in header if name.lower() not in others)
    if not names:
        besides = " and ".join(f"'{name}'" for name in others)
        raise TableError(
            f"{table.name}: there is no column besides {besides}; add columns of numbers."
        )
    if "" in names:
        # Most often the row numbers of a data frame: they would be taken for a feature.
        raise TableError(f"{table.name}: a column has no name; name it or remove it.")
    table.table.refuse_twice({name.lower() for name in header})
    table.refuse_no_rows()
    table.refuse_double(FeatureError, context, hint)
    otherwise = f"leave the column out{hint and f' ({hint})'}"
    columns = [
        table.numbers(
            name, f"{what} '{name}'", optional=False, error=FeatureError, otherwise=otherwise
        )
        for name in names
    ]
    return names, np.column_stack(columns)


# --- texts


@dataclass(frozen=True)
class Texts:
    """The texts of some items, and the table that they come from."""

    by_item: Mapping[str, str]
    source: str = "texts"
    notes: tuple[str, ...] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)
    """What items look like: addresses that hold the picture themselves."""


def read_texts(data: Any, *, column: str = "text", item: str = "item") -> Texts:
    """Read a table of texts: ``item, text``; items without a text are left out.

    The ids may be called as those of scores may be: ``id``, ``model``, ``essay``, ``paper``, ...

    Parameters
    ----------
    data
        A path, a data frame, a list of ``(item, text)`` tuples or of mappings, a mapping of
        columns, or a mapping of item to text.
    column, item
        The names of the columns that hold the text and the ids.

    Examples
    --------
    >>> read_texts([("a", "Once upon a time"), ("b", None)]).by_item
    {'a': 'Once upon a time'}
    """
    if isinstance(data, Texts):
        return data
    if column.strip().lower() == item.strip().lower():
        raise OptionError(f"the column '{item}' names the items; give the column of their texts.")
    if is_one_by_one(data, item):
        return Texts({str(name): str(text) for name, text in data.items() if text is not None})
    with _items(data, "texts", {2: (item, column)}, item, (column,)) as table:
        column = _value_column(table, column, "text", item)
        table.refuse_double(TableError)
        texts = zip(table.ids.tolist(), table.column(column).cells(), strict=True)
        kept = {name: text for name, text in texts if text is not None}
        return Texts(kept, table.name, tuple(table.notes))
