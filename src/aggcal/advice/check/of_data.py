"""What the rows of a study show without a fit."""

from __future__ import annotations

from typing import Any, NamedTuple

from aggcal.advice.check import passed
from aggcal.advice.check.connectivity import one_way
from aggcal.advice.check.counts import counted, of_warning
from aggcal.advice.check.findings import Finding, Passed
from aggcal.advice.check.speed import too_fast
from aggcal.advice.check.volume import few_judgments
from aggcal.data.judgments import Judgments
from aggcal.data.warnings import data_warnings, weight_warnings


class OfData(NamedTuple):
    """What is to be said of rows alone."""

    findings: list[Finding]
    passed: list[Passed]
    counts: dict[str, Any]


def of_data(judgments: Judgments) -> OfData:
    """Look at the rows and at the comparisons that they make.

    Examples
    --------
    >>> import aggcal
    >>> found = of_data(aggcal.read_judgments([("ann", "a", "b"), ("bob", "b", "a")]))
    >>> [each.code for each in found.findings], found.counts["components"]
    (['few-judgments'], 1)
    """
    graph = judgments.graph
    said = [*data_warnings(judgments), *weight_warnings(judgments)]
    findings = [of_warning(each, judgments, graph) for each in said]
    findings += [*one_way(judgments, graph), *few_judgments(judgments), *too_fast(judgments)]
    return OfData(findings, passed.of_data(judgments, graph), counted(judgments, graph))
