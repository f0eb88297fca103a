"""Headers that are repeated among the rows, as where files were put together one below another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggcal.data.judgments import Judgments
from aggcal.errors import TableError
from aggcal.io.formats._synonyms import ANNOTATOR, WINNER_LOSER

_REMEDY = "remove such rows, or give the files that were put together one by one"
_PEOPLE = frozenset(ANNOTATOR)
_SPELT = tuple(
    tuple((how(one), how(two)) for one, two in WINNER_LOSER)
    for how in (str.lower, str.title, str.upper)
)


def repeats(cells: Sequence[str | None], names: Sequence[str]) -> bool:
    """Whether all cells of a row are the names of their columns.

    Examples
    --------
    >>> repeats(["Judge", "r1"], ["judge", "r1"]), repeats(["judge", "a"], ["judge", "r1"])
    (True, False)
    """
    pairs = zip(cells, names, strict=True)
    return all(one is not None and one.strip().lower() == name for one, name in pairs)


def repeated_header(name: str, location: str, cells: Sequence[str | None]) -> TableError:
    """Return the error for a row that repeats the header."""
    shown = ",".join(map(str, cells[:4]))
    return TableError(f"{name}: {location} repeats the header ({shown}); {_REMEDY}.")


def refuse_repeated_header(judgments: Judgments, name: str) -> Judgments:
    """Refuse winners that are called winner and losers called loser, by a judge called judge.

    Examples
    --------
    >>> from aggcal import read_judgments
    >>> read_judgments([("ann", "a", "b"), ("annotator", "winner", "loser"), ("bob", "b", "c")])
    Traceback (most recent call last):
    aggcal.errors.TableError: judgments: a row repeats the header (annotator,winner,loser); ...
    """
    who, what = judgments.annotator_ids, judgments.item_ids
    heads = [k for k, label in enumerate(who) if label.lower() in _PEOPLE]
    if not heads:
        return judgments
    code = {label: k for k, label in enumerate(what)}
    for one, two in (pair for spelt in _SPELT for pair in spelt):
        if one not in code or two not in code:
            continue
        found = np.flatnonzero(
            (judgments.left == code[one])
            & (judgments.right == code[two])
            & np.isin(judgments.annotator, heads)
        )
        if len(found):
            head = str(who[judgments.annotator[found[0]]])
            raise repeated_header(name, "a row", [head, one, two])
    return judgments
