"""Explain one item of a result, or of a folder of results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from aggcal.assessment.comparisons import judged_items
from aggcal.assessment.result import Assessment
from aggcal.engines import prepare
from aggcal.errors import OptionError, TooLittleDataError, some
from aggcal.pages.document import Document
from aggcal.registry import LOCAL
from aggcal.report.item import item as document_of
from aggcal.report.run import Run, fitting, load_run


def explain(
    result: Assessment | str | Path, item: str, judgments: Any = None, *, force: bool = False
) -> Document:
    """Say why an item is where it is: whom it met, who disagreed, why its score moved.

    Printed, the document is Markdown; its ``data`` hold the numbers.

    Parameters
    ----------
    result
        An `Assessment`, or a folder that ``aggcal run`` or ``aggcal aggregate`` wrote.
    item
        Its id.
    judgments
        The judgments of the results in a folder, in any form that `read_judgments` takes: needed
        for single comparisons where there are more than 60 items.
    force
        Read files of the folder that have changed since.

    Examples
    --------
    >>> import aggcal
    >>> rows = [("ann", "a", "b"), ("bob", "a", "b"), ("cy", "b", "a")]
    >>> found = aggcal.explain(aggcal.assess(rows, warn=False), "a")
    >>> found.data["comparisons"]
    [{'item': 'b', 'rank': 2, 'won': 2, 'lost': 1, 'tied': 0}]
    """
    if isinstance(result, Assessment):
        if result.consensus is None or result.judgments is None:
            raise OptionError("there is nothing to explain without judgments; use assess.")
        run, own = result.with_advice().to_run(), result.judgments.local
        return document_of(run if own is None else with_rows(run, own), item)
    run = load_run(result, force=force)
    with fitting(result):
        return document_of(run if judgments is None else with_rows(run, judgments), item)


def with_rows(run: Run, judgments: Any) -> Run:
    """Return a run that knows of every item whom it met, from its judgments.

    Judgments of other items, or in another number, are refused: they are not those of the run.
    """
    rows = prepare(judgments, LOCAL).on_one_machine("explaining an item")
    known = set(run.names)
    others = [str(one) for one in rows.item_ids if str(one) not in known]
    if others:
        raise TooLittleDataError(
            f"{rows.source}: items {some(others)} are not in the results; give the judgments that "
            "the results were made from."
        )
    wanted = int(run.summary["n_judgments"])
    if rows.n_judgments != wanted:
        raise TooLittleDataError(
            f"{rows.source}: has {rows.n_judgments:,} judgments, the results were made from "
            f"{wanted:,}; give the same ones."
        )
    ranks = run.number("rank")
    assert ranks is not None  # noqa: S101  # every result has ranks
    score = np.asarray(run.items["consensus"], dtype=np.float64)
    met = judged_items(rows, run.names, ranks.astype(int), score)
    return replace(run, comparisons={**run.comparisons, **met})
