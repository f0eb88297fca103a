"""Rows of comparisons and of items, as scikit-learn hands them over: arrays, lists or frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_random_state, validate_data

from aggcal._core.arrays import FloatArray, TextArray
from aggcal._core.tables import as_text
from aggcal.aggregation import aggregate
from aggcal.aggregation.consensus import Consensus
from aggcal.errors import OptionError, TableError
from aggcal.io.frames import of_frame
from aggcal.io.tables import text_of

_MOST_SEEDS = 2**31 - 1  # what a random state can draw


def seed_of(random_state: Any) -> int | None:
    """Return a seed for aggcal from what scikit-learn takes for one.

    Examples
    --------
    >>> seed_of(7), seed_of(None), 0 <= seed_of(np.random.RandomState(1)) < 2**31
    (7, None, True)
    """
    if random_state is None or isinstance(random_state, int | np.integer):
        return None if random_state is None else int(random_state)
    return int(check_random_state(random_state).randint(_MOST_SEEDS))


def consensus_of(estimator: Any, judgments: Any) -> Consensus:
    """Aggregate judgments as the parameters of an estimator say."""
    names = ("prior", "estimator", "features", "terms", "warn")
    how = {name: getattr(estimator, name) for name in names}
    return aggregate(judgments, estimator.method, seed=seed_of(estimator.random_state), **how)


def columns_of(
    estimator: Any, given: Any, shapes: Sequence[Sequence[str]], *, reset: bool
) -> dict[str, TextArray]:
    """Return the columns of a table by name; ids and numbers are texts.

    Parameters
    ----------
    estimator
        Is told how many columns there are and their names, or compares them with what it knows.
    given
        A data frame with these columns (others are passed over), or rows with exactly these.
    shapes
        The columns that a table may have, the longest first.
    reset
        Whether it is fitted.
    """
    if hasattr(given, "columns"):
        table = of_frame(given, "X")
        validate_data(estimator, given, reset=reset, skip_check_array=True)
        for shape in shapes:
            if set(shape) <= table.columns.keys():
                table.refuse_twice(shape)
                return _filled({n: c.cells() for n, c in table.load(shape).items()})
        known = " or ".join(", ".join(shape) for shape in shapes)
        raise TableError(
            f"X is a data frame with the columns {', '.join(table.header) or 'none'}; name its "
            f"columns {known}."
        )
    # A list of ids and numbers must not all be turned into texts by NumPy.
    rows = given if hasattr(given, "dtype") else np.asarray(given, dtype=object)
    least = min(map(len, shapes))
    how: dict[str, Any] = {"ensure_all_finite": False, "ensure_min_features": least}
    rows = validate_data(estimator, rows, reset=reset, dtype=None, **how)
    for shape in shapes:
        if rows.shape[1] == len(shape):
            return _filled({n: [*map(text_of, rows[:, k])] for k, n in enumerate(shape)})
    known = " or ".join(f"({', '.join(shape)})" for shape in shapes)
    raise TableError(f"X has {rows.shape[1]} columns; give rows of {known}, or a data frame.")


def _filled(columns: Mapping[str, Sequence[str | None]]) -> dict[str, TextArray]:
    """Return the columns; refuse cells with nothing in them."""
    for name, column in columns.items():
        blank = [k for k, cell in enumerate(column, 1) if not (cell or "").strip()]
        if blank:
            raise TableError(
                f"row {blank[0]} of X has no {name} (it is blank or NaN); fill it in, or leave the "
                "row out."
            )
    return {name: as_text(column) for name, column in columns.items()}


def numbers(cells: TextArray, name: str) -> FloatArray:
    """Return a column as finite numbers.

    Examples
    --------
    >>> numbers(np.array(["1.5", "2"], dtype=object), "score")
    array([1.5, 2. ])
    """
    found = np.empty(len(cells))
    for k, cell in enumerate(cells):
        try:
            found[k] = float(cell)
        except (TypeError, ValueError):
            found[k] = np.nan
        if not np.isfinite(found[k]):
            raise OptionError(
                f"row {k + 1} of X has the {name} {cell!r}, which is not a finite number (NaN and "
                "infinity are none); correct it, or leave the row out."
            )
    return found
