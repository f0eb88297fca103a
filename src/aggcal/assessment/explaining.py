"""Explain one item of a result, or of a folder of results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from aggcal.assessment.comparisons import judged_items
from aggcal.assessment.result import Assessment
from aggcal.engines import prepare
from aggcal.errors import OptionError, TooLittleDataError, some
from aggcal.registry import LOCAL
from aggcal.report.contents import numbers
from aggcal.report.explained import Explanation, explained
from aggcal.report.loading import fitting, load_report
from aggcal.report.report import Report


def explain(
    result: Assessment | str | Path, item: str, judgments: Any = None, *, force: bool = False
) -> Explanation:
    """Say why an item is where it is: whom it met, who disagreed, why its score moved.

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
    >>> found.comparisons
    ({'item': 'b', 'rank': 2, 'won': 2, 'lost': 1, 'tied': 0},)
    """
    if isinstance(result, Assessment):
        if result.consensus is None or result.judgments is None:
            raise OptionError("there is nothing to explain without judgments; use assess.")
        report, own = result.with_advice().to_report(), result.judgments.local
        return explained(report if own is None else with_rows(report, own), item)
    report = load_report(result, force=force)
    with fitting(result):
        if judgments is not None:
            report = with_rows(report, judgments)
        return explained(report, item)


def with_rows(report: Report, judgments: Any) -> Report:
    """Return a report that knows of every item whom it met, from its judgments.

    Judgments of other items, or in another number, are refused: they are not those of the report.
    """
    rows = prepare(judgments, LOCAL).on_one_machine("explaining an item")
    names = [str(one) for one in report.items["item"]]
    known = set(names)
    others = [str(one) for one in rows.item_ids if str(one) not in known]
    if others:
        raise TooLittleDataError(
            f"{rows.source}: items {some(others)} are not in the results; give the judgments that "
            "the results were made from."
        )
    wanted = int(report.summary["n_judgments"])
    if rows.n_judgments != wanted:
        raise TooLittleDataError(
            f"{rows.source}: has {rows.n_judgments:,} judgments, the results were made from "
            f"{wanted:,}; give the same ones."
        )
    ranks = report.rows.ranks
    assert ranks is not None  # noqa: S101  # every result has ranks
    score = numbers(report.items["consensus"])
    met = judged_items(rows, names, ranks.values.astype(int), score)
    return replace(report, comparisons={**report.comparisons, **met})
