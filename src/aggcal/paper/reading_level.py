"""Reading Level: Table 1, the scaled consensus, the violins, and a model really trained."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, TextArray
from aggcal._core.records import dataclass
from aggcal._core.tables import aligned, as_text
from aggcal.aggregation import aggregate
from aggcal.calibration import calibrate
from aggcal.calibration.atc import project
from aggcal.data.judgments import Judgments
from aggcal.data.scores import Scores
from aggcal.io.scores import read_item_columns
from aggcal.metrics import compare
from aggcal.models.links import link
from aggcal.paper import published
from aggcal.paper.cells import REFITTED, table_cells
from aggcal.paper.optimum import penalised_optimum
from aggcal.paper.pairs import read_pairs
from aggcal.paper.plots import violins
from aggcal.paper.recipe import (
    Recipe,
    Wins,
    alternating_steps,
    crowd_alternations,
    homogeneous_optimum,
)
from aggcal.paper.result import Result
from aggcal.registry import LAPLACE

_RECIPE = Recipe(virtual=10.0)
_STABLE = Recipe(virtual=10.0, step=5e-4, steps=6000)
"""A tenth of the authors' step, ten times as often: it converges."""

_METRICS = ("tau_a", "tau_b", "spearman", "wasserstein", "ks", "mse")
_NOT_CONVERGENT = ("hra-g", "hra-e")
_THEIRS = "from the authors' own consensus scores: with their step the fit does not converge"
_REASONS = {
    ("hra-e", "mse"): "the authors' own scores give the row's other cells, but not the printed MSE",
    ("btl", "mse"): "no setting found gives the printed MSE together with the other cells of BTL",
}
_CROWD_TCV = (
    "the recipe, run again, gives this; the row was printed from settings or code that we do not "
    "have"
)


@dataclass(frozen=True, eq=False)
class Study:
    """The judgments, the truth and the paper's model scores, item by item."""

    judgments: Judgments
    wins: Wins
    ids: TextArray
    truth: FloatArray
    model: FloatArray
    theirs: dict[str, FloatArray]
    """The authors' own consensus scores."""


def load(folder: Path) -> Study:
    """Read the study, rows as they stand in the file."""
    names = ("truth", "s_p", "s_star_hra_g", "s_star_hra_e", "s_star_hra_n")
    ids, columns = read_item_columns(folder / "items.csv", names)
    return Study(
        read_pairs(folder / "judgments.csv"),
        wins_of(folder / "judgments.csv", ids, "annotator"),
        ids,
        columns["truth"],
        columns["s_p"],
        {f"hra-{k}": columns[f"s_star_hra_{k}"] for k in "gen"},
    )


def wins_of(path: Path, ids: TextArray, annotator: str) -> Wins:
    """Read rows in their order, nothing merged and nothing left out, as the authors did."""
    import csv

    place = {item: k for k, item in enumerate(ids)}
    people: dict[str, int] = {}
    codes: list[tuple[int, int, int]] = []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            who = people.setdefault(row[annotator], len(people))
            codes.append((who, place[row["winner"]], place[row["loser"]]))
    u, w, lost = (np.array(column, dtype=np.int64) for column in zip(*codes, strict=True))
    return Wins(u, w, lost, len(ids))


def recipe_scores(method: str, wins: Wins, recipe: Recipe = _RECIPE) -> FloatArray:
    """Run a method as the authors did on this data."""
    logistic, normal, laplace = (link(name) for name in ("logistic", "normal", "laplace"))
    root = sqrt(2.0)
    runs: dict[str, Callable[[], FloatArray]] = {
        "hra-g": lambda: alternating_steps(wins, logistic, recipe)[0],
        "hra-e": lambda: alternating_steps(wins, laplace, recipe, forget_slope_ridge=True)[0],
        "hra-n": lambda: alternating_steps(wins, normal, recipe)[0],
        "btl": lambda: homogeneous_optimum(wins, logistic, recipe),
        "tcv": lambda: homogeneous_optimum(wins, normal, recipe),
        "crowd-bt": lambda: crowd_alternations(wins, logistic, recipe)[0],
        "crowd-tcv": lambda: crowd_alternations(
            wins, normal, recipe, width=root, slack_gradient=True
        )[0],
    }
    return runs[method]()


def run(folder: Path, *, quick: bool, say: Callable[[str], None]) -> Result:
    """Reproduce everything about Reading Level."""
    study, result = load(folder), Result()
    for method in published.METHODS:
        say(f"reading-level: {method}")
        mine = recipe_scores(method, study.wins)
        if method.startswith("hra"):
            _rerun(result, study, method, mine, quick=quick)
        if method in _NOT_CONVERGENT:
            # Only the authors' own numbers give the authors' table.
            result.consensus[f"reading-level-{method}-rerun"] = (study.ids, mine)
            mine = study.theirs[method]
        scores = {
            "recipe": mine,
            "fitted": aligned(*penalised_optimum(study.judgments, method), study.ids),
        }
        for kind, consensus in scores.items():
            result.consensus[f"reading-level-{method}-{kind}"] = (study.ids, consensus)
            _tables(result, study, method, kind, consensus)
        result.figures[f"violin-{method}"] = _violin(study, method, mine)
    gap = np.abs(result.consensus["reading-level-hra-n-recipe"][1] - study.theirs["hra-n"])
    result.facts["hra_n_off"] = float(gap.max())
    result.facts["spread_of_truth"] = float(np.var(study.truth))
    result.facts["sizes"] = (len(study.ids), study.wins.n_annotators, len(study.wins.winner))
    say("reading-level: a model that was really trained")
    result.facts["trained"] = trained_model(study, splits=2 if quick else 20)
    return result


def _rerun(result: Result, study: Study, method: str, scores: FloatArray, *, quick: bool) -> None:
    """Keep what the recipe gives when it is run again, and with a step that converges."""
    runs = {f"{_RECIPE.steps} steps of {_RECIPE.step:g}": scores}
    if not quick:
        runs[f"{_STABLE.steps} steps of {_STABLE.step:g}"] = recipe_scores(
            method, study.wins, _STABLE
        )
    rows = result.facts.setdefault("reruns", [])
    for steps, consensus in runs.items():
        vectors = {"consensus": consensus, "calibrated": project(consensus, study.model)[0]}
        found = {
            vector: compare(values, study.truth, centred=True) for vector, values in vectors.items()
        }
        rows.append({"method": method, "steps": steps} | found)


def _tables(result: Result, study: Study, method: str, kind: str, consensus: FloatArray) -> None:
    """Fill the method's row of Table 1, and of the table of the scaled consensus."""
    vectors = {
        "consensus": consensus,
        "model": study.model,
        "calibrated": project(consensus, study.model)[0],
    }
    found = {
        vector: compare(values, study.truth, centred=True) for vector, values in vectors.items()
    }

    def remark(metric: str, vector: str) -> tuple[str, bool]:
        if vector == "model":
            return "", True
        if kind == "fitted":
            return REFITTED, True
        if method == "crowd-tcv":
            return _CROWD_TCV, True
        first = _THEIRS if method in _NOT_CONVERGENT else ""
        return _REASONS.get((method, metric), first), True

    result.cells += table_cells(
        ("reading-level", method, kind),
        found,
        published.READING_LEVEL[method],
        vectors=published.VECTORS,
        remark=remark,
        metrics=_METRICS,
    )
    low, high = float(study.truth.min()), float(study.truth.max())
    share = (consensus - consensus.min()) / np.ptp(consensus)
    # Only this vector is compared as it is: it has the truth's own range.
    scaled = {"scaled": compare(low + share * (high - low), study.truth)}
    result.cells += table_cells(
        ("scaled", method, kind),
        scaled | found,
        published.SCALED[method],
        vectors=published.SCALED_VECTORS,
        remark=remark,
        metrics=("wasserstein", "ks"),
    )


def _violin(study: Study, method: str, consensus: FloatArray) -> str:
    groups = {
        "truth": study.truth,
        "consensus": consensus,
        "model": study.model,
        "calibrated": project(consensus, study.model)[0],
    }
    centred = {name: values - values.mean() for name, values in groups.items()}
    return violins(f"Reading Level, {published.NAMES[method]}", centred, "score, centred")


def trained_model(study: Study, *, splits: int) -> dict[str, Any]:
    """Train a ridge regression on part of the truth, and calibrate it by the other annotators.

    The documents themselves are not public, so features are made from a third of the annotators
    (how often a document was called harder, by all and by careful ones, how often it was judged),
    who then have no part in the consensus. A fifth of the documents have their level for training;
    the errors are those on the rest, centred.

    Returns
    -------
    dict
        ``splits``, and for each vector the ``mean`` of each metric over random splits, the ``sd``
        of its MSE, and in how many splits its MSE is below the model's (``better``).
    """
    totals: dict[str, list[dict[str, float]]] = {}
    for split in range(splits):
        lent, known = _split(study, split)
        rows = _kept(study, ~lent[study.wins.annotator])
        consensus = aggregate(rows, "hra-g", warn=False).quantify(LAPLACE.name)
        model, _ = ridge_model(study, split)
        scores = Scores(study.ids, model)
        train = set(study.ids[known])
        anchors = dict(zip(study.ids[known], study.truth[known], strict=True))
        made = {
            "atc": calibrate(scores, consensus, method="atc", warn=False),
            "fused": calibrate(scores, consensus, method="fused", warn=False),
            "fused, anchors": calibrate(
                scores, consensus, method="fused", anchors=anchors, warn=False
            ),
        }
        held = np.array([i not in train for i in study.ids])
        found = {
            "model": model,
            "consensus": aligned(consensus.scores, consensus.item_ids, study.ids),
        }
        for name, calibration in made.items():
            found[name] = aligned(calibration.calibrated, calibration.item_ids, study.ids)
        both = held & np.logical_and.reduce([np.isfinite(v) for v in found.values()])
        for name, values in found.items():
            metrics = compare(values[both], study.truth[both], centred=True)
            totals.setdefault(name, []).append(metrics)
    return {
        "splits": splits,
        "rows": {name: _over(rows, totals["model"]) for name, rows in totals.items()},
    }


def _split(study: Study, split: int) -> tuple[np.ndarray, IntArray]:
    """Choose the annotators who are lent to the model, and the documents whose level it sees."""
    random = np.random.default_rng(split)
    lent = random.random(study.wins.n_annotators) < 1.0 / 3.0
    return lent, random.permutation(len(study.ids))[: len(study.ids) // 5]


def ridge_model(study: Study, split: int) -> tuple[FloatArray, IntArray]:
    """Train a ridge regression; return its scores and the documents whose level it was shown."""
    lent, known = _split(study, split)
    return _ridge(_features(study, lent), study.truth, known), known


def _over(rows: list[dict[str, float]], model: list[dict[str, float]]) -> dict[str, Any]:
    errors = np.array([row["mse"] for row in rows])
    return {
        "mean": {metric: float(np.mean([row[metric] for row in rows])) for metric in _METRICS},
        "sd": float(errors.std()),
        "better": int(np.sum(errors < [row["mse"] for row in model])),
    }


def _kept(study: Study, rows: np.ndarray) -> Judgments:
    wins, ids = study.wins, study.ids
    kept = rows & (wins.winner != wins.loser)
    return read_pairs(
        {
            "annotator": as_text(wins.annotator[kept]),
            "winner": ids[wins.winner[kept]],
            "loser": ids[wins.loser[kept]],
        }
    )


def _features(study: Study, lent: np.ndarray) -> FloatArray:
    wins, n = study.wins, len(study.ids)
    rows = lent[wins.annotator]
    w, lost = wins.winner[rows], wins.loser[rows]
    won, given = _counts(w, n), _counts(w, n) + _counts(lost, n)
    share = (won + 1.0) / (given + 2.0)
    # Against how strong opponents: the mean share of those it beat and of those it lost to.
    beaten = np.bincount(w, share[lost], n) / np.maximum(won, 1.0)
    stronger = np.bincount(lost, share[w], n) / np.maximum(given - won, 1.0)
    return np.column_stack([share, beaten, stronger, np.log1p(given)])


def _counts(codes: IntArray, n: int) -> FloatArray:
    return np.bincount(codes, minlength=n).astype(np.float64)


def _ridge(features: FloatArray, truth: FloatArray, known: IntArray) -> FloatArray:
    x = (features - features.mean(axis=0)) / features.std(axis=0)
    level, y = float(truth[known].mean()), truth[known]
    inside = x[known].T @ x[known] + 5.0 * np.eye(x.shape[1])
    return np.asarray(level + x @ np.linalg.solve(inside, x[known].T @ (y - level)))
