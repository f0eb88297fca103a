"""Who judged: the verdict on each, how reliable they are, and which side they prefer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import Columns, as_text
from aggcal.advice.verdicts import (
    GUESSING,
    ONE_SIDED,
    RELIABLE,
    REVERSED,
    TOO_FEW,
    UNCLEAR,
)
from aggcal.aggregation.effects import mean_interval
from aggcal.aggregation.raters import mark
from aggcal.aggregation.uncertainty import wilson_interval
from aggcal.errors import count
from aggcal.pages.document import Block, Column, Line, Listing, Section, Term, Text
from aggcal.pages.numbers import cut, number_text, span
from aggcal.registry import BARCW
from aggcal.report.run import Run

VERDICT_WORDS = {
    REVERSED: "reversed",
    GUESSING: "guessing",
    ONE_SIDED: "one-sided",
    UNCLEAR: "unclear",
    TOO_FEW: "too few to tell",
    RELIABLE: "reliable",
}
"""The verdicts on annotators for people, the worst first."""
VERDICT_CHIPS = {
    **dict.fromkeys((REVERSED, GUESSING, ONE_SIDED), "bad"),
    UNCLEAR: "care",
    TOO_FEW: "none",
    RELIABLE: "good",
}
"""The sign of each verdict."""
_SCALE_USE = (
    ("leniency", "Leniency", "by how many points better than others the annotator rates the same"),
    ("use_of_scale", "Use", "how far apart the annotator rates the same items; 1 is typical"),
    ("noise", "Noise", "standard deviation, in points, of ratings of equally good items"),
)
"""Columns of how annotators used the scale of ratings."""
_ENDS = ("", "_low", "_high")
_REASON = 320
"""Where the reason of a verdict is cut."""


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
    return Section("annotators", "Annotators", heading, [*_about(run), listing(run)], accused)


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
        best, below = ("always honest", "below that") if random else ("typical", "below 0")
        means = f"1 is {best}, {number_text(float(random or 0.0), None)} is random"
        rest = f"{below} the fit counts the answers the other way round"
        said = (Term("reliability", "Reliability"), f": {means}, {rest}.")
    unchecked = "The data were not checked, so these verdicts come from the intervals alone."
    lines = [said, preferences(run), ratings_said(run), "" if run.checked else unchecked]
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
    names = as_text(table["annotator"]).tolist()
    number = Counter(verdicts)
    return Listing(
        "annotator-table",
        "annotator",
        "Annotators, the worst verdict first",
        [
            Column("annotator", "Annotator", "name", names, style="c-who", up=True),
            _verdicts(verdicts, table),
            *_drawn(run, table),
            Column("n_judgments", "Judgments", values=given[order], style="num c-n"),
        ],
        "verdict",
        style="ann",
        file="annotators.csv",
        filters=[
            {"label": f"{word.capitalize()} {number[verdict]:,}", "column": "verdict", "word": word}
            for verdict, word in VERDICT_WORDS.items()
            if number[verdict]
        ],
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
        ends = (table.get(f"reliability{end}") for end in _ENDS)
        value, low, high = (None if end is None else _floats(end) for end in ends)
        reliability = Column(
            "reliability", "Reliability", "number", value, low, high, 2,
            hint="how strongly the answers follow the consensus", style="num v-reliability",
        )  # fmt: skip
        about = f", {level or '95%'} interval" if low is not None else ""
        found += _with_chart(reliability, "reliability", [random, 1.0], about)
    given, agree = _floats(table["n_judgments"]), _floats(table["agreement"])
    wilson = wilson_interval(np.nan_to_num(agree) * given, given)
    means = "share of judgments that match the consensus order; a tie counts one half"
    found += _with_chart(_share("agreement", "Agrees", (agree, *wilson), means), "agreement")
    means = "how often the left item was chosen, of the decided judgments"
    further = _shares(table, "left_share", "Chose left", means)
    means = (
        "estimate: how often the annotator picks the left of two equal items, of the decided "
        "answers; with few answers, closer to the average"
    )
    further += _shares(table, "position", "Left bias", means, expit)
    means = "how often the annotator calls two equal items a tie"
    ties = partial(tie_shares, terms=run.terms)
    further += _shares(table, "tie_readiness", "Ties", means, ties)
    # Verdicts count answers, so the counted share is drawn rather than a bias that was fitted.
    if further and further[0].key != "tie_readiness":
        word = "left share" if further[0].key == "left_share" else "left bias"
        found += _with_chart(further.pop(0), word)
    return found + further + _scale_use(table)


def _scale_use(table: Columns) -> list[Column]:
    """Return how annotators used the scale, where ratings were fitted as such."""
    found = []
    for key, title, hint in _SCALE_USE:
        if key in table:
            value, low, high = (
                None if (end := table.get(f"{key}{each}")) is None else _floats(end)
                for each in _ENDS
            )
            style = f"num v-{key}"
            found.append(Column(key, title, "number", value, low, high, 1, hint=hint, style=style))
    return found


def ratings_said(run: Run) -> str:
    """Say how annotators used the scale of the ratings; empty where these were comparisons.

    Examples
    --------
    >>> run = Run({"ratings": {"leniency_sd": 1.23, "lowest": 1.0, "highest": 10.0,
    ...     "best": "highest", "reliability_and_noise_differ": False, "evidence": -3.0}}, {})
    >>> print(ratings_said(run))
    Leniency differs by 1.2 points (standard deviation) on a scale from 1 to 10, and the scores
    allow for it. The ratings show no difference in reliability and noise, so none is fitted.
    """
    ratings = run.summary.get("ratings")
    if not ratings:
        return ""
    scale = f"from {mark(ratings['lowest'])} to {mark(ratings['highest'])}"
    scale += ", of which the lowest is the best" if ratings["best"] == "lowest" else ""
    said = (
        f"Leniency differs by {ratings['leniency_sd']:.2g} points (standard deviation) on a scale "
        f"{scale}, and the scores allow for it."
    )
    if ratings["reliability_and_noise_differ"]:
        return f"{said} Annotators also differ in reliability and noise."
    if ratings["evidence"] is None:
        return f"{said} Too few ratings each tell whether reliability and noise differ."
    return f"{said} The ratings show no difference in reliability and noise, so none is fitted."


def _with_chart(
    number: Column, word: str, ends: list[float] | None = None, about: str = ""
) -> list[Column]:
    """Return a column of numbers after the chart that draws it; shares reach from 0 to 100."""
    legend = [["", f"{word}{about}", word]]
    marks = {"dot": number.key, "legend": legend, "ends": ends or [0, 100]}
    style = f"c-chart {number.key}"
    return [Column(f"{number.key}-chart", "", "chart", marks=marks, style=style), number]


def _shares(
    table: Columns, key: str, title: str, hint: str, of: Callable[[FloatArray], FloatArray] = abs
) -> list[Column]:
    """Return a column of the table in percent; nothing where nobody has a value."""
    ends = [_floats(table[f"{key}{end}"]) for end in _ENDS if f"{key}{end}" in table]
    known = bool(ends) and bool(np.isfinite(ends[0]).any())
    return [_share(key, title, tuple(map(of, ends)), hint)] if known else []


def _share(key: str, title: str, shares: tuple[FloatArray, ...], hint: str) -> Column:
    value, low, high = [*(100.0 * each for each in shares), None, None][:3]
    style = f"num v-{key}"
    return Column(key, title, "number", value, low, high, unit="%", hint=hint, style=style)


def _floats(column: np.ndarray) -> FloatArray:
    return np.asarray(column, dtype=np.float64)


# What annotators have in common -------------------------------------------------------------------


def tie_shares(readiness: Any, terms: Mapping[str, Any]) -> Any:
    """Return how often equal items are called a tie, nobody preferring a side; arrays elementwise.

    Examples
    --------
    >>> [round(float(tie_shares(0.0, {"ties": name})), 3) for name in ("davidson", "rao-kupper")]
    [0.333, 0.462]
    """
    if terms.get("ties") == "rao-kupper":
        return np.tanh(0.5 * np.exp(np.minimum(readiness, 5.0)))
    decided = 2.0 * sum(terms.get("grades") or (1.0,))
    return 1.0 / (1.0 + decided * np.exp(-np.clip(readiness, -500.0, 500.0)))


def preferences(run: Run) -> str:
    """Return what annotators have in common beside their order, in a sentence or two.

    Examples
    --------
    >>> common = {"common": 0.0, "common_se": 0.1, "sd": 0.2}
    >>> summary = {"n_annotators": 30, "terms": {"ties": "davidson", "tie_readiness": common}}
    >>> preferences(Run(summary, {}))
    'Between two equal items, they typically call a tie in 33% of cases (95% interval 29–38). \
The scores allow for it.'
    """
    parts = [
        said.format(*_common(run, key, of))
        for key, of, said in (
            ("position", expit, "pick the left one {:.0f} times in 100 decided answers ({})"),
            ("tie_readiness", partial(tie_shares, terms=run.terms),
             "call a tie in {:.0f}% of cases ({})"),
        )
        if run.terms.get(key)
    ]  # fmt: skip
    if not parts:
        return ""
    allowed = "both" if len(parts) > 1 else "it"
    said = f"Between two equal items, they typically {' and '.join(parts)}."
    return f"{said} The scores allow for {allowed}."


def _common(run: Run, key: str, of: Any) -> tuple[float, str]:
    known, number = run.terms[key], int(run.summary.get("n_annotators") or 2)
    low, high = mean_interval(float(known["common"]), float(known["common_se"]), number, run.level)
    ends = span(100.0 * of(low), 100.0 * of(high))
    return 100.0 * of(float(known["common"])), f"{100.0 * run.level:g}% interval {ends}"
