"""Dots: from pictures, rankings and ratings to the paper's real-world tables and radar charts."""

from __future__ import annotations

import csv
from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import aligned, as_text
from aggcal.aggregation import aggregate
from aggcal.calibration.project import project
from aggcal.data.judgments import Judgments
from aggcal.errors import OptionError
from aggcal.metrics import compare, kendall
from aggcal.pages.document import Text
from paper import recipe
from paper.optimum import penalised_optimum, read_pairs
from paper.pictures import CLEAN, CORRUPTIONS, counts, examples, levels
from paper.plots import radar
from paper.published import BASELINES, METHODS, NAMES, printed
from paper.recipe import read_wins, recipe_scores
from paper.result import METRICS, REFITTED, Result

UNCENTRED = "_uncentred"
"""What the name of a metric ends in when nothing was centred."""
TRUTH = np.arange(50.0, 80.0)
"""Item k has 49 + k dots."""
IDS = as_text(range(1, 31))

_SHIFTED = ("wasserstein", "ks", "mse")
"""The metrics that centring changes (KL too, but of samples so far apart it says nothing)."""
_OF_LEVELS = ("tau_a", "tau_b", "spearman", "wasserstein", "mse")
_LOWER_IS_BETTER = ("wasserstein", "mse")

_KL = (
    "printed is a sum of p·log(p/q + 1e-5) over two different grids without their spacing, which "
    "is no KL divergence; ours is one, in nats"
)
_UNKNOWN = (
    "the corruption behind the printed model scores is unknown; ours is the nearest of all levels"
)
_FOOTING = "printed for uncentred scores of mean near 0; ours are centred, like the other rows"
_SETTINGS = "the paper states neither features nor kernel nor settings; ours has one weight an item"
_NOT_PRINTED = "ours: the calibration by this method's order"
_CROWD_TCV = (
    "the recipe, run again, gives this, less than one per cent off; the rest of the settings is "
    "unknown"
)

ModelScores = dict[tuple[str, float], FloatArray]
"""For each corruption and level, the model's score of each item."""
Answer = tuple[str, str, int, float]
"""Participant, question, item and estimate."""


def run(folder: Path, *, quick: bool, say: Callable[[str], None]) -> Result:
    """Reproduce everything about Dots."""
    result = Result()
    orders = _orders(folder, result, say)
    model = _model_scores(folder, result, quick=quick, say=say)
    scores = None
    if model:
        corruption, level = nearest(model)
        scores = model[corruption, level]
        result.blocks.append(
            Text(
                f"The model scores of the tables of Dots are contours counted under {corruption} "
                f"{level:g}, of all levels tried the nearest to the printed model scores."
            )
        )
    for (method, kind), consensus in orders.items():
        result.tables[f"consensus/dots-{method}-{kind}"] = {"item": IDS, "score": consensus}
        _compare(result, method, kind, consensus, scores)
    say("dots: rankings against ratings")
    answers = read_ratings(folder / "ratings.csv")
    mean, median = mean_and_median(answers, len(IDS))
    orders_compared = {
        "rankings": orders["hra-g", "fitted"],
        "ratings, mean": mean,
        "ratings, median": median,
        "ratings as judgments": penalised_optimum(judgments_from_ratings(answers), "hra-g", IDS),
    }
    damaged = [scores for (corruption, _), scores in model.items() if corruption != CLEAN]
    _against_ratings(result, orders_compared, damaged)
    if model:
        by_recipe = {method: orders[method, "recipe"] for method in METHODS}
        _at_every_level(result, by_recipe, mean, model)
    return result


def _orders(
    folder: Path, result: Result, say: Callable[[str], None]
) -> dict[tuple[str, str], FloatArray]:
    """Fit every method: as the authors did, each answer an annotator, and properly."""
    wins = read_wins(folder / "judgments.csv", IDS, "entry")
    judgments = read_pairs(folder / "judgments.csv")
    found: dict[tuple[str, str], FloatArray] = {}
    for method in METHODS:
        say(f"dots: {method}")
        found[method, "recipe"] = recipe_scores(method, wins, recipe.DOTS[method])
        found[method, "fitted"] = penalised_optimum(judgments, method, IDS)
    for method in BASELINES:
        say(f"dots: {method}")
        try:
            fitted = aggregate(judgments, method, features="identity", warn=False)
        except OptionError as error:  # an extra is not installed: the page says so
            result.blocks.append(Text(f"{NAMES[method]} is not here: {error}", "caveat"))
            continue
        found[method, "fitted"] = aligned(fitted.scores, fitted.item_ids, IDS)
    return found


def _model_scores(
    folder: Path, result: Result, *, quick: bool, say: Callable[[str], None]
) -> ModelScores:
    """Count the dots at every level of every corruption (three of each when in a hurry)."""
    found: ModelScores = {}
    try:
        found[CLEAN, 0.0] = counts(folder, CLEAN, 0.0)
        result.pictures = examples(folder)
        for corruption in CORRUPTIONS:
            steps = levels(corruption)
            for level in [steps[0], steps[len(steps) // 2], steps[-1]] if quick else steps:
                say(f"dots: counting contours, {corruption} {level:g}")
                found[corruption, level] = counts(folder, corruption, level)
    except OptionError as error:
        said = f"Radar charts and the model's scores of Dots are not here: {error}"
        result.blocks.append(Text(said, "caveat"))
    return found


def nearest(model: ModelScores) -> tuple[str, float]:
    """Find the level whose scores are nearest to those that the paper must have had."""
    wanted = {
        metric: float(printed("dots", "hra-g", metric, "model"))
        for metric in ("tau_b", "wasserstein", "mse")
    }

    def off(values: FloatArray) -> float:
        found = compare(values, TRUTH, centred=True)
        return sum(abs(found[metric] / value - 1.0) for metric, value in wanted.items())

    return min((key for key in model if key[0] != CLEAN), key=lambda key: off(model[key]))


def _compare(
    result: Result, method: str, kind: str, consensus: FloatArray, scores: FloatArray | None
) -> None:
    """Fill a method's row of the table, all centred, and of the same table, nothing centred."""
    vectors = {"consensus": consensus}
    if scores is not None:
        vectors |= {"model": scores, "calibrated": project(consensus, scores)[0]}
    found = {}
    for name, values in vectors.items():
        uncentred = compare(values, TRUTH)
        found[name] = compare(values, TRUTH, centred=True)
        found[name] |= {metric + UNCENTRED: uncentred[metric] for metric in _SHIFTED}

    def remark(metric: str, vector: str) -> tuple[str, bool]:
        if metric.startswith("kl"):
            return _KL, False
        if method in BASELINES:
            if vector != "consensus":
                return _NOT_PRINTED if vector == "calibrated" else "", True
            return (_FOOTING, False) if metric in _SHIFTED else (_SETTINGS, True)
        if vector != "consensus":
            return _UNKNOWN, False
        if kind == "fitted":
            return REFITTED, True
        return _CROWD_TCV if method == "crowd-tcv" else "", True

    for metrics in (METRICS, [metric + UNCENTRED for metric in _SHIFTED]):
        result.compare(("dots", method, kind), found, metrics, remark)


def read_ratings(path: Path) -> list[Answer]:
    """Read every estimate that a participant gave."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            (row["annotator"], row["entry"], int(row["item"]), float(row["rating"]))
            for row in csv.DictReader(file)
        ]


def mean_and_median(answers: list[Answer], n_items: int) -> tuple[FloatArray, FloatArray]:
    """Return the mean and the median estimate of each item.

    Examples
    --------
    >>> mean_and_median([("u", "1", 1, 40.0), ("v", "2", 1, 60.0), ("w", "3", 1, 500.0)], 1)
    (array([200.]), array([60.]))
    """
    of_item: list[list[float]] = [[] for _ in range(n_items)]
    for _, _, item, rating in answers:
        of_item[item - 1].append(rating)
    return np.array([np.mean(r) for r in of_item]), np.array([np.median(r) for r in of_item])


def judgments_from_ratings(answers: list[Answer]) -> Judgments:
    """Compare the items of each question by their estimates, equal ones as a tie.

    Only who was put above whom is kept: exactly what the rankings tell.

    Examples
    --------
    >>> rows = [("u", "1", 1, 40.0), ("u", "1", 2, 60.0), ("u", "1", 3, 60.0), ("u", "2", 1, 9.0)]
    >>> judgments_from_ratings(rows).n_judgments
    3
    """
    questions: dict[str, list[Answer]] = {}
    for answer in answers:
        questions.setdefault(answer[1], []).append(answer)
    rows = [
        (who, str(left), str(right), "left" if a > b else "right" if b > a else "tie")
        for question in questions.values()
        for (who, _, left, a), (_, _, right, b) in combinations(question, 2)
    ]
    names = ("annotator", "left", "right", "outcome")
    columns = zip(*rows, strict=True)
    return read_pairs({n: np.array(c, dtype=object) for n, c in zip(names, columns, strict=True)})


def _against_ratings(
    result: Result, orders: dict[str, FloatArray], damaged: list[FloatArray]
) -> None:
    """Compare the rankings with the ratings, averaged and as judgments, fitted alike."""
    taus = {
        name: np.array([kendall(project(order, scores)[0], TRUTH)[1] for scores in damaged])
        for name, order in orders.items()
    }
    own = {name: compare(order, TRUTH) for name, order in orders.items()}
    rows: list[list[str | float]] = []
    for name, found in own.items():
        wins = f"at {np.sum(taus['rankings'] > taus[name])} of {len(damaged)} levels"
        shown = "–" if name == "rankings" or not damaged else wins
        rows.append([name, *(found[m] for m in ("tau_a", "tau_b", "spearman")), shown])
    result.show(
        "Rankings against ratings (Dots)",
        "Rankings, and ratings in three ways; the rankings and the ratings as judgments are both "
        "aggregated by HRA-G, fitted.",
        ("order", "tau-a", "tau-b", "spearman", "calibration by rankings has the higher tau-b"),
        rows,
    )
    rankings, mean, same = (
        own[name]["tau_b"] for name in ("rankings", "ratings, mean", "ratings as judgments")
    )
    share = (same - mean) / (rankings - mean)
    said = f"Of the difference in tau-b between rankings and mean ratings, {share:.0%} comes from "
    result.blocks.append(Text(said + "how the ratings were averaged, not from asking for them."))


def _at_every_level(
    result: Result, orders: dict[str, FloatArray], rating: FloatArray, model: ModelScores
) -> None:
    """Calibrate by each ranking and by the mean rating, at every level; draw the radar charts."""

    def measured(values: FloatArray) -> dict[str, float]:
        return compare(values, TRUTH, centred=True)

    by_model = {level: measured(scores) for level, scores in model.items()}
    by_rate = {level: measured(project(rating, scores)[0]) for level, scores in model.items()}
    found = {
        (method, *level): {
            "model": by_model[level],
            "consensus": own,
            "rank": measured(project(consensus, scores)[0]),
            "rate": by_rate[level],
        }
        for method, consensus in orders.items()
        for own in [measured(consensus)]
        for level, scores in model.items()
    }
    names = ("method", "corruption", "level", "vector", *_OF_LEVELS)
    rows = [
        (*place, vector, *(values[metric] for metric in _OF_LEVELS))
        for place, vectors in found.items()
        for vector, values in vectors.items()
    ]
    result.tables["levels"] = {
        name: np.array(column, dtype=object if isinstance(column[0], str) else np.float64)
        for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    # What a radar chart shows: the paper's s_p, s*, ŝ (Rank) and ŝ (Rate).
    series = {"model": "model", "consensus": "consensus", "rank": "by rank", "rate": "by rate"}
    for method in orders:
        for kind in CORRUPTIONS:
            mine = {level: v for (m, c, level), v in found.items() if (m, c) == (method, kind)}
            result.figures[f"radar-{method}-{kind.lower()}"] = radar(
                f"{NAMES[method]}, {kind.lower().replace('_', ' ')}",
                [f"{level:g}" for level in mine],
                {
                    label: [v[name]["tau_b"] for v in mine.values()]
                    for name, label in series.items()
                },
            )
    heads = tuple(metric.replace("_", "-") for metric in _OF_LEVELS)
    damaged = [level for level in model if level[0] != CLEAN]
    result.show(
        "Calibration by rank, at how many levels it is better",
        f"At how many of {len(damaged)} levels calibration by the rank of each method (recipe) is "
        "better than calibration by the mean rating (the paper's Rate), and than the model itself. "
        "The noise of LOCAL_NOISE is random: another seed moves a few levels.",
        ("method", *(f"{head}: rate / model" for head in heads)),
        [
            [NAMES[m], *(_wins([found[m, *level] for level in damaged], x) for x in _OF_LEVELS)]
            for m in orders
        ],
    )
    result.show(
        "Tau-b at every level",
        "Of the model, calibrated by rate, and calibrated by the rank of each method (more metrics "
        "in levels.csv).",
        ("corruption", "level", "model", "rate", *(NAMES[method] for method in orders)),
        [
            [
                *(corruption, f"{level:g}"),
                by_model[corruption, level]["tau_b"],
                by_rate[corruption, level]["tau_b"],
                *(found[method, corruption, level]["rank"]["tau_b"] for method in orders),
            ]
            for corruption, level in model
        ],
    )


def _wins(found: list[dict[str, dict[str, float]]], metric: str) -> str:
    """Count where calibration by rank is better than by rate, and than the model."""
    sign = -1.0 if metric in _LOWER_IS_BETTER else 1.0
    by_rate, by_model = (
        sum(sign * (each["rank"][metric] - each[than][metric]) > 0.0 for each in found)
        for than in ("rate", "model")
    )
    return f"{by_rate} / {by_model}"
