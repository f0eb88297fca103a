"""What the page says in words: what the paper did otherwise than it says, and what is where."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aggcal.paper.published import NAMES
from aggcal.paper.result import Result

Said = tuple[str, str]
"""What the paper says, or has; and what was done, or where it is."""

_ALWAYS: tuple[Said, ...] = (
    (
        "Kendall's tau is (C − D) over all pairs; the MSE is a root",
        "the numbers are tau-b and the plain mean square",
    ),
    (
        "The consensus is normalised for evaluation",
        (
            "truth, consensus, model and calibrated scores are each centred before every metric "
            "and not scaled; the scores of GPPL, Rank-SVM and BARCW are not even centred"
        ),
    ),
    (
        "HRA-E is the heterogeneous Bradley-Terry model",
        (
            "HRA-E has the difference of two Laplace noises; the heterogeneous Bradley-Terry "
            "model is HRA-G"
        ),
    ),
    (
        "CrowdTCV scales the normal link by a reliability",
        "it mixes a normal link with its reverse, like CrowdBT",
    ),
    (
        "Algorithm 1 maximises the likelihood until it converges",
        (
            "a fixed number of steps, without a test of convergence, on the likelihood with a "
            "virtual item that each item beats and loses to ten times"
        ),
    ),
    (
        "Algorithm 2 (isotonic calibration)",
        (
            "as printed, averaging two neighbours at a time, it need never end; here adjacent "
            "violators are pooled"
        ),
    ),
)


def done_otherwise(results: Mapping[str, Result]) -> list[Said]:
    """List where the paper's text and what produced its numbers differ."""
    found: list[Said] = list(_ALWAYS)
    for name, differences in (("reading-level", _reading_level), ("dots", _dots)):
        if name in results:
            found += differences(results[name].facts)
    if "rq3" in results:
        found.append(
            (
                "RQ3: pairwise judgments are inverted",
                (
                    "there are no judgments: 50 numbers are put out of order and compared with "
                    "their own isotonic fit"
                ),
            )
        )
    return found


def _reading_level(facts: Mapping[str, Any]) -> list[Said]:
    items, people, rows = facts["sizes"]
    return [
        (
            "Reading Level: annotators are simulated",
            (
                f"the judgments are the real ones: {rows:,} of {people} annotators on {items} "
                "documents, and the winner is the document judged harder, not easier"
            ),
        ),
        (
            "Reading Level: a predictive model is trained on part of the truth",
            "the model scores are a designed noise vector: mean 0, MSE 29.000, KS .3000",
        ),
    ]


def _dots(facts: Mapping[str, Any]) -> list[Said]:
    answers, people, rows = facts["sizes"]
    low, high = facts["recipe_reliability"]
    return [
        (
            "Dots: heterogeneous annotators",
            (
                f"each of the {answers:,} answers of the {people} participants ({rows:,} "
                "judgments) counts as an annotator of its own, and HRA takes ten steps: the "
                f"reliabilities of HRA-G stay between {low:.3f} and {high:.3f}, nothing "
                "is learnt about anyone"
            ),
        ),
        (
            "Dots: 30 distinct images",
            "30 numbers of dots, four pictures of each; a model score is the mean of four",
        ),
        (
            "Dots: the blur begins at level 0",
            (
                "at level 0 OpenCV chooses a width itself: it is not clean; a truly clean "
                "level is added here"
            ),
        ),
    ]


def concordance(results: Mapping[str, Result]) -> list[Said]:
    """Say where each table and figure of the paper is on the page, in the paper's order."""
    reading, dots, rq3 = (name in results for name in ("reading-level", "dots", "rq3"))
    drawn = dots and "no_pictures" not in results["dots"].facts
    left_out = "left out of this run"
    no_pictures = "needs OpenCV" if dots else left_out
    radars = "below, four charts of {}" if drawn else no_pictures
    rows: list[Said] = [
        ("Figure 1, the framework", "not here: a drawing, not an experiment"),
        ("Table 1, Reading Level", "below, all rows" if reading else left_out),
        ("Figure 2, violins of HRA-E", "below" if reading else left_out),
        (
            "Figure 3, errors of the ranking",
            "below, as published and against the truth" if rq3 else left_out,
        ),
        ("Figure 4, examples of corruption", "below" if drawn else no_pictures),
        ("Table 2, Dots", "below, as part of Table 4" if dots else left_out),
    ]
    rows += [
        (f"Figure {5 + k}, radars of {NAMES[m]}", radars.format(NAMES[m]))
        for k, m in enumerate(("hra-e", "hra-g", "hra-n"))
    ]
    rows += [
        (
            "Figure 8, violins of the other methods",
            "below, HRA-E among them" if reading else left_out,
        ),
        ("Table 3, the scaled consensus", "below, all rows" if reading else left_out),
        (
            "Table 4, Dots with every method and the baselines",
            "below, all centred and nothing centred" if dots else left_out,
        ),
    ]
    rows += [
        (f"Figure {9 + k}, radars of {NAMES[m]}", radars.format(NAMES[m]))
        for k, m in enumerate(("crowd-tcv", "btl", "tcv", "crowd-bt"))
    ]
    return rows


def absent(results: Mapping[str, Result]) -> list[Said]:
    """List what is not on the page, with the reason."""
    found: list[Said] = [
        ("Figure 1, the framework", "a drawing, not an experiment"),
        (
            "The printed KL values, recomputed",
            "the grids behind the printed sums are unknown; the true divergence is beside them",
        ),
        (
            "The printed model scores of Dots",
            (
                "about 900 settings of the corruptions were tried, none gives tau .923, "
                "Wasserstein 2.53 and MSE 11.75 together; the nearest published level is used"
            ),
        ),
    ]
    dots = results.get("dots")
    if dots is None:
        return found
    if "no_pictures" in dots.facts:
        found.append(
            ("Radar charts and the model's cells of Dots", dots.facts["no_pictures"].rstrip("."))
        )
    found += [
        (NAMES[method], why.rstrip("."))
        for method, why in dots.facts.get("no_baselines", {}).items()
    ]
    return found
