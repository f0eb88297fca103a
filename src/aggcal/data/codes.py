"""Items and annotators that were numbered by who called: what such codes must be."""

from __future__ import annotations

from collections import Counter
from typing import NoReturn

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, TextArray, constant, sums
from aggcal._core.tables import as_text
from aggcal.errors import TooLittleDataError, count, some


def labels(
    kind: str, columns: tuple[CodeArray, ...], ids: TextArray | None
) -> tuple[TextArray, list[FloatArray]]:
    """Return an id for each code, and how often each column has it; every number must be used."""
    lowest, n = min(c.min() for c in columns), int(max(c.max() for c in columns)) + 1
    if lowest < 0:
        refuse_codes(f"{kind} codes begin at {lowest}, not at 0")
    counts = [sums(column, constant(1.0, len(column)), n) for column in columns]
    seen = sum(counts)
    if not np.all(seen):
        unused = np.flatnonzero(seen == 0.0)
        refuse_codes(f"{kind} code {unused[0]} does not occur, though {n - 1} does")
    if ids is None:
        return as_text(range(n)), counts
    if len(ids) != n:
        refuse_codes(f"there are {count(len(ids), 'id')} for {count(n, kind)}")
    twice = [one for one, often in Counter(ids.tolist()).items() if often > 1]
    if twice:
        refuse_codes(f"{kind} id {some(twice)} is given twice")
    return ids, counts


def refuse_codes(why: str) -> NoReturn:
    """Refuse codes: they were numbered by who called."""
    raise TooLittleDataError(f"{why}; correct the codes, or give ids to read_judgments instead.")
