"""Read one number per item: model scores, a consensus, a truth."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, TextArray
from aggcal.data.scores import LARGEST, Scores
from aggcal.errors import (
    OptionError,
    ScoreError,
    TableError,
    TooLittleDataError,
    count,
    did_you_mean,
    some,
)
from aggcal.io.formats import recognised
from aggcal.io.formats._base import Blank, check_blank
from aggcal.io.formats._sample import Sample
from aggcal.io.formats._sheets import SUMMARIES, is_summary
from aggcal.io.per_item import (
    OTHERS,
    fetch,
    ids,
    is_one_by_one,
    items_named,
    numbers,
    read_as_numbers,
    refuse_double_items,
    refuse_numbers,
)
from aggcal.io.small_items import SmallItems, small_items
from aggcal.io.tables.opening import opened
from aggcal.io.tables.source import Source, quoted
from aggcal.registry import RATINGS, TABLE


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
    check_blank(blank)
    if column.strip().lower() == item.strip().lower():
        raise OptionError(f"the column '{item}' names the items; give the column that scores them.")
    if is_one_by_one(data, item):
        return Scores.of(_mapped(data))
    shapes = {2: (item, column), 3: (item, column, "sd")}
    wanted = {"sd": "sd", **(OTHERS if item == "item" else {})}
    wanted |= {item.strip().lower(): "item", column.strip().lower(): "value"}
    small = small_items(data, wanted, "scores", shapes, columns=("value", "sd"))
    if small is not None and "value" in small.numbers:
        sd = small.numbers.get("sd")
        if sd is None or (sd > 1 / LARGEST).all():
            return Scores(small.item_ids, small.numbers["value"], sd, small.cells.name)
    with opened(data, wanted, what="scores", shapes=shapes) as loaded:
        source, notes = items_named(loaded)
        _require(source, column, flag, item)
        refuse_double_items(source)
        notes += source.notes
        read_as_numbers(source, "value", column, notes)
        refuse_numbers(source, "value", column, positive=False, optional=blank == "skip")
        notes += [*_without_blank(source, column), *_without_summary(source)]
        if "sd" in source.columns:
            read_as_numbers(source, "sd", "sd", notes)
            refuse_numbers(source, "sd", "sd", positive=True, optional=False)
        table = fetch(source, [c for c in ("value", "sd") if c in source.columns])
        return Scores(
            ids(table["item"]),
            numbers(table["value"]),
            numbers(table["sd"]) if "sd" in table else None,
            source.name,
            source.backend,
            tuple(notes),
        )


def _without_summary(source: Source) -> list[str]:
    """Take out the row in which a spreadsheet adds up the scores; an item may be called so, too."""
    listed = ", ".join(map(quoted, SUMMARIES))
    called = f"trim(lower(item), ' :') IN ({listed})"
    found = source.connection.execute(
        f"SELECT rowid, item, value::DOUBLE FROM raw WHERE {called}"
    ).fetchall()
    notes = []
    for row, item, value in found:
        others = source.connection.execute(
            f"SELECT value::DOUBLE FROM raw WHERE NOT ({called})"
        ).fetchall()
        if others and is_summary([value], others):
            source.connection.execute(f"DELETE FROM raw WHERE rowid = {row}")
            notes.append(f"'{item}' adds up the other rows and is left out")
    return notes


def _without_blank(source: Source, column: str) -> list[str]:
    """Take the items without a score out of the table, and say how many there are."""
    found = source.connection.execute("SELECT item FROM raw WHERE value IS NULL").fetchall()
    if not found:
        return []
    source.connection.execute("DELETE FROM raw WHERE value IS NULL")
    if not source.rows():
        raise ScoreError(f"{source.name}: column '{column}' is blank in every row; add scores.")
    verb = "has" if len(found) == 1 else "have"
    one = "counts as an item" if len(found) == 1 else "count as items"
    ids = some(item for (item,) in found)
    return [f"{count(len(found), 'item')} {verb} a blank score and {one} without one ({ids})"]


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
    shapes = {2: ("item", column)}
    wanted = {**OTHERS, "item": "item", "chosen_by": "chosen_by", column.strip().lower(): "value"}
    small = small_items(data, wanted, "truth", shapes, columns=("value",), blank=True)
    if small is not None and "value" in small.numbers:
        return _small_truth(small)
    with opened(data, wanted, what="truth", shapes=shapes) as loaded:
        source, notes = items_named(loaded)
        _require(source, column, flag)
        refuse_double_items(source)
        notes += source.notes
        read_as_numbers(source, "value", column, notes)
        refuse_numbers(source, "value", column, positive=False, optional=True)
        blank = source.one("count(*)", "value IS NULL")
        source.connection.execute("DELETE FROM raw WHERE value IS NULL")
        if not source.rows():
            raise TooLittleDataError(f"{source.name}: column '{column}' is blank in every row.")
        chosen = "chosen_by" in source.columns and source.one(
            "count(*)", "trim(CAST(chosen_by AS VARCHAR)) <> ''"
        )
        table = fetch(source, ["value"])
        truths = ids(table["item"]), numbers(table["value"])
        scores = Scores(*truths, None, source.name, notes=tuple(notes), chosen=bool(chosen))
        return scores, blank


def _small_truth(small: SmallItems) -> tuple[Scores, int]:
    value, by = small.numbers["value"], small.cells.columns.get("chosen_by")
    there = ~np.isnan(value)
    chosen = by is not None and any(by[k].strip(" ") for k in np.flatnonzero(there).tolist())
    scores = Scores(small.item_ids[there], value[there], source=small.cells.name, chosen=chosen)
    return scores, len(value) - len(scores)


def read_item_columns(data: Any, columns: Sequence[str]) -> tuple[TextArray, dict[str, FloatArray]]:
    """Read those of the named columns that an items table has; blank cells become NaN.

    Examples
    --------
    >>> ids, found = read_item_columns({"item": ["a"], "model": [2.0]}, ["model", "calibrated"])
    >>> found
    {'model': array([2.])}
    """
    names = {name: name for name in ("item", *columns)}
    small = small_items(data, names, "items", {}, columns=columns, blank=True)
    if small is not None and small.numbers:
        return small.item_ids, small.numbers
    with opened(data, ("item", *columns), what="items", shapes={}) as source:
        source.require(("item",), "an items table names its items in the column 'item'.")
        present = [c for c in columns if c in source.columns]
        if not present:
            raise TableError(
                f"{source.name}: none of the columns {', '.join(columns)} is there "
                f"(found: {source.columns_found}); give an items.csv that aggcal wrote."
            )
        if not source.rows():
            raise TooLittleDataError(f"{source.name}: has a header but no row.")
        refuse_double_items(source)
        for column in present:
            read_as_numbers(source, column, column, [])
            refuse_numbers(source, column, column, positive=False, optional=True)
        table = fetch(source, present)
        return ids(table["item"]), {c: numbers(table[c]) for c in present}


def read_items(data: Any) -> TextArray:
    """Read the ids of a table that has the column ``item``.

    Examples
    --------
    >>> read_items({"item": ["a", "b"], "title": ["A", "B"]})
    array(['a', 'b'], dtype=object)
    """
    wanted = {**OTHERS, "item": "item"}
    with opened(data, wanted, what="items", shapes={1: ("item",)}) as loaded:
        source, _ = items_named(loaded)
        source.require(("item",), "a table of items names them in the column 'item'.")
        if not source.rows():
            raise TooLittleDataError(f"{source.name}: has a header but no row; add items.")
        refuse_double_items(source)
        found = source.connection.execute("SELECT item FROM raw ORDER BY rowid").fetchnumpy()
        return ids(found["item"])


def _is_judgments(source: Source) -> bool:
    columns = frozenset(name.strip().lower() for name in source.found)
    pairs = columns >= {"winner", "loser"} or columns >= {"left", "right"}
    return pairs or recognised(Sample(source.name, columns)).info not in (TABLE, RATINGS)


def _mapped(data: Mapping[Any, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for item, value in data.items():
        try:
            found[str(item)] = float(value)
        except (TypeError, ValueError):
            raise ScoreError(
                f"scores: item '{item}': '{value}' is not a number; give a number or leave it out."
            ) from None
    return found


def _is_number(names: Sequence[str]) -> bool:
    return any(re.fullmatch(r"[+-]?\d+([.,]\d+)? ?%?", name.strip()) for name in names)


def _remedy(source: Source, column: str, flag: str | None) -> str:
    """Say how to name the scores of a table that names its items."""
    if flag is None:
        return f"rename the column to '{column}'."
    rest = [name for name in source.found if name.strip().lower() not in ("", "item", *OTHERS)]
    if len(rest) == 1:
        return f"say --{flag}-column '{rest[0]}'."
    return f"rename the column, or name it with --{flag}-column."


def _require(source: Source, column: str, flag: str | None, item: str = "item") -> None:
    missing = [c for n, c in (("item", item), ("value", column)) if n not in source.columns]
    if missing:
        named = ", ".join(f"'{name}'" for name in missing)
        noun = "column" if len(missing) == 1 else "columns"
        if _is_judgments(source):
            remedy = (
                "this looks like a table of judgments: check whether two files are swapped; "
                "further judgments come after --judgments."
            )
        elif "item" in source.columns:
            remedy = _remedy(source, column, flag)
        elif not source.found[0].strip() and "item" in missing:
            remedy = "if the first column names the items, write 'item' above it"
            remedy += "." if missing == ["item"] else ", and name the scores with --score-column."
        elif _is_number(source.found[-1:]):
            remedy = f"the first line holds data; add a first line item,{column}."
        else:
            remedy = f"the table needs the columns item, {column}."
            if flag == "score":
                remedy = "name the ids with --item-column and the scores with --score-column."
                if len(source.found) == 2 and all(source.found):  # noqa: PLR2004  # ids and scores
                    one, other = source.found
                    remedy = f"say --item-column '{one}' --score-column '{other}'."
        near = "".join(did_you_mean(name, source.found) for name in missing[:1])
        raise TableError(
            f"{source.name}: {noun} {named} missing{near} (found: {source.columns_found}); {remedy}"
        )
    if not source.rows():
        raise TooLittleDataError(f"{source.name}: has a header but no row; add items.")
