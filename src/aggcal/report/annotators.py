"""Who judged: the verdict on each, how reliable they are, and which side they prefer."""

from __future__ import annotations

from collections import Counter

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import Columns, as_text
from aggcal.advice.verdicts import (
    GUESSING,
    ONE_SIDED,
    PERHAPS_GUESSING,
    RELIABLE,
    REVERSED,
    TOO_FEW,
    UNCLEAR,
)
from aggcal.aggregation.uncertainty import wilson_interval
from aggcal.errors import count
from aggcal.pages.document import Block, Column, Figure, Line, Listing, Section, Term, Text
from aggcal.pages.figures import histogram
from aggcal.pages.numbers import cut, number_text
from aggcal.registry import BARCW
from aggcal.report import terms
from aggcal.report.run import Run

VERDICT_WORDS = {
    REVERSED: "reversed",
    GUESSING: "guessing",
    ONE_SIDED: "one-sided",
    PERHAPS_GUESSING: "perhaps guessing",
    UNCLEAR: "unclear",
    TOO_FEW: "too few to tell",
    RELIABLE: "reliable",
}
"""The verdicts on annotators for people, the worst first."""
VERDICT_CHIPS = {
    **dict.fromkeys((REVERSED, GUESSING, ONE_SIDED), "bad"),
    **dict.fromkeys((PERHAPS_GUESSING, UNCLEAR), "care"),
    TOO_FEW: "none",
    RELIABLE: "good",
}
"""The sign of each verdict."""
_REASON = 320
"""Where the reason of a verdict is cut."""
_CROWD = 40
"""Annotators above which a histogram says what rows no longer do."""


def section(run: Run) -> Section | None:
    """Return the section of the annotators; None without any.

    Examples
    --------
    >>> people = {"annotator": np.array(["u"], dtype=object), "reliability": np.array([-1.0]),
    ...           "n_judgments": np.array([4]), "agreement": np.array([0.25])}
    >>> run = Run({"method": "hra-g"}, {"item": np.zeros(0)}, people)
    >>> section(run).heading
    '0 of 1 annotator is reliable, 1 undetermined'
    """
    if not run.annotators:
        return None
    found = Counter(run.verdicts)
    accused = sum(found[verdict] for verdict in (REVERSED, GUESSING, ONE_SIDED))
    heading = _counts(len(run.verdicts), accused, found[RELIABLE], equal=run.equal)
    blocks: list[Block] = [*_about(run), listing(run), *_histogram(run)]
    return Section("annotators", "Annotators", heading, blocks, accused)


def _counts(n: int, bad: int, good: int, *, equal: bool) -> str:
    """Say how many annotators are reliable and how many are not, where the method tells."""
    if equal and not bad:
        return f"{count(n, 'annotator')}, taken to be equally reliable"
    said = f"{good:,} of {count(n, 'annotator')} {'is' if 1 in (n, good) else 'are'} reliable"
    if bad:
        said += f", {bad:,} {'has' if bad == 1 else 'have'} problems"
    rest = n - bad - good
    return f"{said}, {rest:,} undetermined" if rest else said


def _about(run: Run) -> list[Block]:
    """Say what the numbers mean, and what annotators have in common."""
    said: Line
    random = run.summary.get("random_reliability")
    if run.equal:
        whose = "The fit" if "ratings" in run.summary else run.summary["method"]
        said = (
            f"{whose} takes every annotator to be equally reliable. ",
            Term("agreement", "Agreement"),
            " is the share of judgments that match the consensus order.",
        )
    elif run.summary["method"] == BARCW.name:
        means = "the probability that the annotator judges at all; near 0 the answers hardly count"
        said = (Term("reliability", "Reliability"), f" is {means}.")
    else:
        best, below = ("always honest", "below that") if random else ("typical", "negative")
        means = f"1 is {best}, {number_text(float(random or 0.0), None)} is random, {below}"
        rest = "means reversed (such answers are inverted)"
        said = (Term("reliability", "Reliability"), f": {means} {rest}.")
    unchecked = "The data were not checked, so these verdicts come from the intervals alone."
    rated = terms.ratings_said(run.summary)
    lines = [said, terms.annotators_said(run.summary), rated, "" if run.checked else unchecked]
    return [Text(line, "lede") for line in lines if line]


def listing(run: Run) -> Listing:
    """Return the table of the annotators: the worst verdict first, then the most judgments.

    Examples
    --------
    >>> people = {"annotator": np.array(["u", "v"], dtype=object), "reliability": np.zeros(2),
    ...           "n_judgments": np.array([4, 9]), "agreement": np.array([0.25, 0.5])}
    >>> listing(Run({"method": "hra-g"}, {"item": np.zeros(0)}, people)).column("annotator").values
    ['v', 'u']
    """
    given = np.asarray(run.annotators["n_judgments"], dtype=np.float64)
    worst = {verdict: k for k, verdict in enumerate(VERDICT_WORDS)}
    gravity = np.array([worst.get(verdict, len(worst)) for verdict in run.verdicts])
    order = np.lexsort((-given, gravity))
    table = {name: column[order] for name, column in run.annotators.items()}
    verdicts = [run.verdicts[k] for k in order.tolist()]
    columns = [
        Column(
            "annotator", "Annotator", "name", as_text(table["annotator"]).tolist(),
            style="c-who", up=True,
        ),
        _verdicts(verdicts, table),
        *_drawn(run, table),
        Column("n_judgments", "Judgments", values=given[order], style="num c-n"),
    ]  # fmt: skip
    number = Counter(verdicts)
    filters = [
        {"label": f"{word.capitalize()} {number[verdict]:,}", "column": "verdict", "word": word}
        for verdict, word in VERDICT_WORDS.items()
        if number[verdict]
    ]
    return Listing(
        "annotator-table",
        "annotator",
        "Annotators, the worst verdict first",
        columns,
        "verdict",
        style="ann",
        file="annotators.csv",
        filters=filters,
    )


def _verdicts(verdicts: list[str], table: Columns) -> Column:
    """Return the verdicts, each with its reason unless the annotator is reliable."""
    reasons = as_text(table.get("reason", np.full(len(verdicts), "", dtype=object))).tolist()
    both = zip(verdicts, reasons, strict=True)
    return Column(
        "verdict",
        "Verdict",
        "word",
        [VERDICT_WORDS.get(verdict, verdict) for verdict in verdicts],
        hint="verdict of the data check; without one, of the reliability's interval",
        style="c-verdict",
        up=True,
        kinds={word: VERDICT_CHIPS[verdict] for verdict, word in VERDICT_WORDS.items()},
        notes=["" if verdict == RELIABLE else cut(reason, _REASON) for verdict, reason in both],
    )


def _drawn(run: Run, table: Columns) -> list[Column]:
    """Return reliability, agreement and sides, each as a number beside its chart."""
    found = list[Column]()
    if not run.equal:
        level, random = run.score_interval[0], float(run.summary.get("random_reliability") or 0.0)
        low, high = table.get("reliability_low"), table.get("reliability_high")
        about = f", {level or '95%'} interval" if low is not None else ""
        reliability = Column(
            "reliability", "Reliability", values=_floats(table["reliability"]),
            low=None if low is None else _floats(low), high=None if high is None else _floats(high),
            decimals=2, hint="how strongly the answers follow the consensus",
            style="num v-reliability",
        )  # fmt: skip
        found += _with_chart(reliability, "reliability", [random, 1.0], about)
    given, agree = _floats(table["n_judgments"]), _floats(table["agreement"])
    ends = wilson_interval(np.nan_to_num(agree) * given, given)
    means = "share of judgments that match the consensus order; a tie counts one half"
    found += _with_chart(_share("agreement", "Agrees", (agree, *ends), means), "agreement")
    further = terms.annotator_columns(run.summary, table)
    # Verdicts count answers, so the counted share stands beside a preference that was fitted.
    if np.isfinite(_floats(table.get("left_share", np.zeros(0)))).any():
        left = (_floats(table[f"left_share{end}"]) for end in ("", "_low", "_high"))
        means = "how often the left item was chosen, of the decided judgments"
        found += _with_chart(_share("left_share", "Left", tuple(left), means), "left share")
    elif further and further[0].key == "position":
        found += _with_chart(further.pop(0), "left of equal items")
    return found + further


def _with_chart(
    number: Column, word: str, ends: list[float] | None = None, about: str = ""
) -> list[Column]:
    """Return a column of numbers after the chart that draws it; shares reach from 0 to 100."""
    legend = [["", f"{word}{about}", word]]
    marks = {"dot": number.key, "legend": legend, "ends": ends or [0, 100]}
    style = f"c-chart {number.key}"
    return [Column(f"{number.key}-chart", "", "chart", marks=marks, style=style), number]


def _share(key: str, title: str, shares: tuple[FloatArray, ...], hint: str) -> Column:
    value, low, high = (100.0 * each for each in shares)
    style = f"num v-{key}"
    return Column(key, title, values=value, low=low, high=high, unit="%", hint=hint, style=style)


def _floats(column: np.ndarray) -> FloatArray:
    return np.asarray(column, dtype=np.float64)


def _histogram(run: Run) -> list[Block]:
    """Return how many annotators have which reliability, where there are many."""
    if run.equal or len(run.verdicts) <= _CROWD:
        return []
    reversed_ = np.array(run.verdicts, dtype=object) == REVERSED
    random = float(run.summary.get("random_reliability") or 0.0)
    drawn = histogram(
        _floats(run.annotators["reliability"]),
        "How many annotators have which reliability",
        f"reliability ({random:g} = random)",
        line=random,
        bars=24,
        within=(0.0, 1.0),
        marked=reversed_,
    )
    said = "Number of annotators by reliability. Dashed line: random answers."
    said += " Red: reversed." if reversed_.any() else ""
    return [Figure("reliability", drawn, said, "histogram", only="page")]
