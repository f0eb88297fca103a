"""Ratings as ratings: the families, the fit, and what is said of those who rated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau

import aggcal
from aggcal.aggregation.families import RELIABILITY
from aggcal.aggregation.graded import (
    ABOVE,
    BELOW,
    LENIENCY,
    USE,
    Gaussian,
    Marks,
    Ordinal,
)
from aggcal.aggregation.rows import GAP
from aggcal.errors import DividedWarning

ROWS = 40


def _theta(random: np.random.Generator) -> dict[str, Any]:
    return {
        RELIABILITY: random.normal(1.0, 0.3, ROWS),
        LENIENCY: random.normal(size=ROWS),
        USE: np.exp(random.normal(0.0, 0.3, ROWS)),
    }


def _gaussian(random: np.random.Generator) -> tuple[Any, ...]:
    one, weight = np.ones(ROWS), random.random(ROWS) + 0.5
    marks = Marks(weight, random.normal(size=ROWS), one, one)
    return Gaussian(precision=1.3), {GAP: random.normal(size=ROWS)}, _theta(random), marks


def _ordinal(random: np.random.Generator) -> tuple[Any, ...]:
    level, one = random.integers(3, size=ROWS), np.ones(ROWS)
    above, below = (level < 2) * one, (level > 0) * one
    low = random.normal(size=ROWS)
    moved = {
        GAP: random.normal(size=ROWS),
        BELOW: low * below,
        ABOVE: (low + random.random(ROWS) + 0.1) * above,
    }
    return Ordinal(), moved, _theta(random), Marks(one + random.random(ROWS), one, above, below)


@pytest.mark.parametrize("made", [_gaussian, _ordinal])
def test_derivatives_of_families_are_finite_differences(made: Any) -> None:
    family, moved, theta, answers = made(np.random.default_rng(0))

    def at(name: str, step: float) -> Any:
        both = [{**values} for values in (moved, theta)]
        for values in both:
            if name in values:
                values[name] = values[name] + step
        return family.terms(*both, answers)

    terms, step = family.terms(moved, theta, answers), 1e-5
    variables = *family.channels, *family.names
    for one in variables:
        up, down = at(one, step), at(one, -step)
        assert (up.loss - down.loss) / (2 * step) == pytest.approx(terms.score[one], abs=1e-6)
        for two in variables:
            pair = (one, two) if (one, two) in terms.curvature else (two, one)
            slope = (up.score[two] - down.score[two]) / (2 * step)
            assert slope == pytest.approx(terms.curvature[pair], abs=1e-6)


def reviews(
    seed: int,
    *,
    papers: int = 40,
    reviewers: int = 20,
    each: int = 5,
    leniency: float = 1.0,
    noise: float = 0.0,
    turned: int = 0,
    points: int = 10,
) -> tuple[dict[str, list[Any]], np.ndarray]:
    """Return made-up reviews and the quality of each paper."""
    random = np.random.default_rng(seed)
    quality, own = random.normal(size=papers), leniency * random.normal(size=reviewers)
    spread = np.exp(noise * random.normal(size=reviewers) - noise**2)
    sign = np.where(np.arange(reviewers) < turned, -1.0, 1.0)
    table: dict[str, list[Any]] = {"annotator": [], "item": [], "rating": []}
    order = [random.permutation(reviewers) for _ in range(papers)]
    for paper, who in enumerate(order):
        for u in who[:each].tolist():
            heard = sign[u] * quality[paper] + own[u] + spread[u] * random.normal()
            mark = np.round(0.55 * points + 0.18 * points * heard)
            table["annotator"].append(f"r{u:02d}")
            table["item"].append(f"p{paper:02d}")
            table["rating"].append(float(np.clip(mark, 1, points)))
    return table, quality


def _tau(consensus: aggcal.Consensus, quality: np.ndarray) -> float:
    index = [int(str(name)[1:]) for name in consensus.item_ids]
    return float(kendalltau(consensus.scores, quality[index])[0])


def test_ratings_say_more_than_the_pairs_that_they_imply() -> None:
    gains = []
    for seed in range(6):
        table, quality = reviews(seed, papers=60, reviewers=30, each=3, leniency=0.5)
        judgments = aggcal.read_judgments(table)
        taus = [
            _tau(aggcal.aggregate(each, warn=False), quality)
            for each in (judgments, judgments.as_pairs())
        ]
        gains.append(taus[0] - taus[1])
    assert np.mean(gains) > 0.02


def test_leniency_is_in_points_and_taken_out() -> None:
    table, quality = reviews(1, each=10, leniency=1.0)
    table["rating"] = [
        rating - 2.0 * (who == "r03") if rating > 2.0 else rating
        for who, rating in zip(table["annotator"], table["rating"], strict=True)
    ]
    consensus = aggcal.aggregate(table, warn=False)
    raters = consensus.raters
    assert raters is not None
    assert 1.0 < raters.leniency_sd < 3.0
    assert (raters.lowest, raters.highest, raters.lowest_best) == (1.0, 10.0, False)
    assert {"leniency", "leniency_low", "leniency_high"} <= {*consensus.annotator_columns()}
    assert _tau(consensus, quality) > 0.7


def test_reliability_and_noise_are_fitted_where_the_data_ask() -> None:
    alike = aggcal.aggregate(reviews(2)[0], warn=False)
    assert alike.raters is not None
    assert alike.raters.noise is None
    assert (alike.reliabilities == 1.0).all()
    table, quality = reviews(2, each=10, noise=0.8)
    unequal = aggcal.aggregate(table, warn=False)
    assert unequal.raters is not None
    assert unequal.raters.noise is not None
    assert unequal.reliabilities.std() > 0.2
    assert _tau(unequal, quality) > 0.75


def test_a_reversed_reviewer_is_named_and_turned_round() -> None:
    table, quality = reviews(3, each=10, turned=2)
    consensus = aggcal.aggregate(table, warn=False)
    assert set(consensus.reversed_ids) == {"r00", "r01"}
    assert _tau(consensus, quality) > 0.75


def test_the_other_end_is_the_best_where_the_user_says_so() -> None:
    table, _ = reviews(4)
    up = aggcal.aggregate(table, warn=False)
    marks = table | {"rating": [11.0 - rating for rating in table["rating"]]}
    down = aggcal.aggregate(aggcal.read_judgments(marks, order="lowest"), warn=False)
    assert down.scores == pytest.approx(up.scores, abs=1e-6)
    assert down.raters is not None
    assert down.raters.to_dict()["best"] == "lowest"
    words = ["a", "b", "c", "d", "e"]
    labels = table | {"rating": [words[int((10.0 - r) // 2)] for r in table["rating"]]}
    named = aggcal.read_judgments(labels, order=words)
    assert named.ratings is not None
    assert named.ratings.labels == tuple(words)
    assert kendalltau(aggcal.aggregate(named, warn=False).scores, up.scores)[0] > 0.8


@pytest.mark.parametrize("values", [2, 5, 101])
def test_any_scale_is_fitted(values: int) -> None:
    table, quality = reviews(5, points=100)
    step = 99.0 / (values - 1)
    table["rating"] = [1.0 + step * np.round((r - 1.0) / step) for r in table["rating"]]
    consensus = aggcal.aggregate(table, warn=False)
    assert consensus.raters is not None
    assert consensus.convergence is not None
    assert consensus.convergence.converged
    assert _tau(consensus, quality) > (0.35 if values == 2 else 0.5)


def test_errors_cover_and_claims_hold() -> None:
    covered, wrong = [], 0
    for seed in range(10, 18):
        table, quality = reviews(seed)
        consensus = aggcal.aggregate(table, warn=False).quantify(level=0.9)
        known, claims = consensus.uncertainty, consensus.claims()
        assert known is not None
        assert claims is not None
        assert claims.above is not None
        true = quality[[int(str(name)[1:]) for name in consensus.item_ids]]
        true = true - true.mean()
        scale = float(consensus.scores @ true / (true @ true))
        covered.append(np.mean((known.low <= scale * true) & (scale * true <= known.high)))
        wrong += bool((claims.above & (true[:, None] < true)).any())
    assert np.mean(covered) > 0.86
    assert wrong <= 2


def test_what_ratings_cannot_do_is_refused_or_done_with_pairs(tmp_path: Path) -> None:
    table, _ = reviews(6)
    judgments = aggcal.read_judgments(table)
    with pytest.raises(aggcal.AggcalError, match="ratings are fitted on one machine"):
        aggcal.aggregate(judgments, engine="dask")
    pairs = aggcal.aggregate(judgments, "btl", warn=False)
    assert pairs.raters is None
    assert pairs.n_judgments == judgments.n_judgments
    explicit = aggcal.aggregate(judgments, terms=aggcal.Terms(ties="davidson"), warn=False)
    assert explicit.raters is None
    kept = judgments.without("r00")
    assert kept.ratings is not None
    assert len(kept.ratings) == sum(who != "r00" for who in table["annotator"])
    some = judgments.of_rows(np.arange(len(judgments.count)) % 2 == 0)
    assert some.ratings is None
    found = aggcal.check(judgments)
    assert not {"separation", "one-way"} & {each.code for each in found.findings}
    assert len(aggcal.suggest_pairs(judgments, n=2).left) == 2
    assert aggcal.compare_methods(judgments, ["hra-g"]).chosen
    assert aggcal.influence(judgments).annotators is not None
    files = aggcal.assess(judgments, warn=False).save(tmp_path / "out")
    written = {path.name: path for path in files}
    assert "leniency" in written["annotators.csv"].read_text().splitlines()[0]
    assert "Leniency differs by" in written["report.md"].read_text()
    assert "40 items rated by 20 annotators" in written["report.md"].read_text()


def test_a_bootstrap_and_later_judgments_use_the_ratings() -> None:
    table, _ = reviews(7, papers=12, reviewers=8)
    judgments = aggcal.read_judgments(table)
    consensus = aggcal.aggregate(judgments, warn=False)
    drawn = consensus.quantify("bootstrap", draws=10)
    assert drawn.uncertainty is not None
    assert np.isfinite(drawn.uncertainty.se).all()
    chances = consensus.judgment_probabilities(judgments)
    assert ((chances > 0.0) & (chances < 1.0)).all()
    again = aggcal.aggregate(judgments, start=consensus, warn=False)
    assert again.scores == pytest.approx(consensus.scores, abs=0.03)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"criterion": ["clarity", "style"]}, "on 2 criteria"),
        ({"rating": [5.0]}, "all of them are equal"),
    ],
)
def test_ratings_that_are_not_on_one_scale_are_compared(more: dict[str, Any], says: str) -> None:
    table, _ = reviews(8)
    number = len(table["item"])
    for name, values in more.items():
        table[name] = (values * number)[:number]
    judgments = aggcal.read_judgments(table)
    assert judgments.ratings is None
    assert any(says in note for note in judgments.notes)


def test_ratings_that_are_added_are_fitted_with_the_others() -> None:
    table, _ = reviews(9)
    half = len(table["item"]) // 2
    parts = [{name: values[part] for name, values in table.items()}
             for part in (slice(0, half), slice(half, None))]  # fmt: skip
    both = aggcal.add_judgments(*map(aggcal.read_judgments, parts))
    assert both.ratings is not None
    assert len(both.ratings) == len(table["item"])
    assert sum("kept as such" in note for note in both.notes) == 1
    mixed = aggcal.add_judgments(both, [("r01", "p01", "p02")])
    assert mixed.n_judgments == both.n_judgments + 1


def test_an_engine_refuses_a_file_of_ratings_as_it_does_ratings_in_memory(tmp_path: Path) -> None:
    file = tmp_path / "reviews.csv"
    file.write_text("annotator,item,rating\nann,p,1\nann,q,3\nbob,p,2\nbob,q,3\n")
    with pytest.raises(aggcal.AggcalError, match="ratings are fitted on one machine"):
        aggcal.aggregate(str(file), engine="dask")


def test_notes_of_ratings_say_nothing_of_the_pairs_that_they_imply() -> None:
    table, _ = reviews(11, papers=8, reviewers=5)
    table = {name: [*values, values[0]] for name, values in table.items()}
    table["weight"] = [0.0 if who == "r01" else 2.0 for who in table["annotator"]]
    judgments = aggcal.read_judgments(table)
    assert judgments.ratings is not None
    *others, last = judgments.notes
    assert last.endswith("of annotators with one item only, or of weight 0, left out")
    assert not [note for note in others if "pair" in note or "mean" in note]
    assert any("the mean" in note for note in aggcal.read_judgments(table, by="weight").notes)


def test_a_scale_of_labels_is_told_by_its_labels(tmp_path: Path) -> None:
    table, _ = reviews(12, papers=8, reviewers=5, points=3)
    words = ["good", "fair", "poor"]
    table["rating"] = [words[3 - int(rating)] for rating in table["rating"]]
    judgments = aggcal.read_judgments(table, order=words)
    raters = aggcal.aggregate(judgments, warn=False).raters
    assert raters is not None
    assert (raters.lowest, raters.highest, raters.lowest_best) == ("poor", "good", False)
    assert "on a scale from 'poor' to 'good';" in str(raters)
    aggcal.assess(judgments, warn=False).save(tmp_path / "out")
    assert "from 'poor' to 'good'" in (tmp_path / "out" / "report.md").read_text()


def test_raters_who_contradict_each_other_half_and_half_leave_open_which_way_is_up() -> None:
    random = np.random.default_rng(3)
    rows = [
        (f"r{u}", f"p{i}", float(np.clip(round((i if u < 3 else 7 - i) + 1.5 * noise), 0, 7)))
        for u in range(6)
        for i, noise in enumerate(random.normal(size=8))
    ]
    names = ("annotator", "item", "rating")
    table = {
        name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    consensus = aggcal.aggregate(table, warn=False)
    assert any(isinstance(warning, DividedWarning) for warning in consensus.warnings)
    assert not consensus.reversed_ids
