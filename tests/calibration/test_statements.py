"""Stage 2 says nothing that contradicts what it was told, where that is true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal._core.tables import aligned, as_text
from aggcal.advice.check.data import same_source
from aggcal.advice.guarantees import guarantees
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.calibration.calibrators import Atc, find
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.intervals import Intervals, calibrated_intervals
from aggcal.calibration.project import project
from aggcal.calibration.says import contradictions, noise_conditions, projection_risk
from aggcal.registry.literals import CalibratorName
from aggcal.simulation import simulate


def study(
    items: int, error: float, sd: float, seed: int, *, level: float = 0.9, stated: bool = False
) -> tuple[FloatArray, Inputs]:
    """Return an exact consensus of sd 1, and a posterior of it with a model in units of 10."""
    random = np.random.default_rng([seed, items])
    exact = random.standard_normal(items)
    noise = np.square(error * random.uniform(0.6, 1.4, items))
    seen = exact + np.sqrt(noise) * random.standard_normal(items)
    estimate, posterior = seen / (1.0 + noise), np.diag(noise / (1.0 + noise))
    model = 50.0 + 10.0 * exact + sd * random.standard_normal(items)
    known = np.full(items, sd**2) if stated else None
    return exact, Inputs(
        as_text(range(items)), model, estimate, DenseCovariance(posterior), np.ones(items), known,
        None, None, level, seed,
    )  # fmt: skip


def intervals(inputs: Inputs, method: str) -> Intervals:
    calibrator = find(method)
    return calibrated_intervals(calibrator, inputs, calibrator.calibrate(inputs))


def ends(inputs: Inputs, method: str = "atc") -> tuple[FloatArray, FloatArray]:
    found = intervals(inputs, method)
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


# -------------------------------------------------------------------------- intervals


@pytest.mark.parametrize(("items", "error", "sd"), [(3, 1.0, 1.0), (4, 0.3, 10.0), (12, 0.5, 1.0)])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_an_uncertain_rank_has_an_interval_with_a_width(
    items: int, error: float, sd: float, level: float
) -> None:
    for seed in range(12):
        _, inputs = study(items, error, sd, seed, level=level)
        low, high = ends(inputs)
        assert inputs.covariance is not None
        known = Uncertainty.of("laplace", level, inputs.consensus, inputs.covariance)
        open_ended = known.rank_low < known.rank_high
        assert (high[open_ended] > low[open_ended]).all(), seed


def test_a_certain_order_leaves_nothing_open() -> None:
    _, inputs = study(5, 1e-6, 1.0, 1)
    low, high = ends(inputs)
    np.testing.assert_array_equal(low, high)


def test_scores_that_no_order_changes_get_no_interval() -> None:
    _, inputs = study(5, 1.0, 1.0, 1)
    flat = replace(inputs, model=np.full(5, 7.0))
    assert intervals(flat, "atc").low is None
    for seed in range(5):  # three items are too few for safe to move anything
        _, inputs = study(3, 1.0, 30.0, seed, stated=True)
        assert intervals(inputs, "safe").low is None


@pytest.mark.parametrize(
    ("items", "error", "sd"), [(4, 1.0, 10.0), (10, 1.5, 10.0), (25, 0.5, 20.0)]
)
def test_intervals_cover_the_projection_onto_the_exact_order(
    items: int, error: float, sd: float
) -> None:
    """Plugging in the estimated error of the model covered 0.76 to 0.90 of these, at 0.9."""
    inside = []
    for seed in range(300 // items):
        exact, inputs = study(items, error, sd, seed)
        low, high = ends(inputs)
        target = project(exact, inputs.model)[0]
        inside.append(np.mean((low - 1e-9 <= target) & (target <= high + 1e-9)))
    assert 0.85 <= np.mean(inside) <= 1.0


def test_scores_made_of_the_consensus_do_not_make_intervals_shrink() -> None:
    """The model then agrees by construction, which says nothing about the exact order."""
    inside = []
    for seed in range(10):
        exact, inputs = study(25, 1.0, 1.0, seed)
        made = replace(inputs, model=np.tanh(inputs.consensus))
        assert made.dependent
        low, high = ends(made)
        target = project(exact, made.model)[0]
        inside.append(np.mean((low - 1e-9 <= target) & (target <= high + 1e-9)))
        assert (high > low).all()
    assert np.mean(inside) > 0.8, "it was 0.1"


def test_check_notes_scores_made_of_the_judgments_and_no_others() -> None:
    for seed in range(4):
        study = simulate(items=30, annotators=10, judgments=300, model_sd=0.01, seed=seed)
        consensus = aggcal.aggregate(study.judgments, warn=False)
        assert same_source(consensus, aggcal.read_scores(study.scores)) == []
        (found,) = same_source(consensus, aggcal.Scores(consensus.item_ids, consensus.scores * 2.0))
        assert found.severity == "note"
        assert "independent" in found.message


# ------------------------------------------------------------------------- a stated sd


def test_the_risk_is_estimated_without_bias_and_its_limit_holds() -> None:
    random = np.random.default_rng(3)
    truth, order = np.repeat(np.arange(6.0), 5), np.arange(30.0)
    off, gained, within = [], [], []
    for _ in range(400):
        model = truth + 2.0 * random.standard_normal(30)
        inputs = Inputs(
            as_text(range(30)), model, order, None, np.ones(30), np.full(30, 4.0), None, None,
            0.9, 0,
        )  # fmt: skip
        projected, found = inputs.projected[0], projection_risk(inputs)
        loss = float(np.mean(np.square(projected - truth)))
        own = float(np.mean(np.square(model - truth)))
        off.append((found.excess - (loss - own)) / found.excess_se)
        gained.append(found.excess - (loss - own))
        within.append(found.at_most is None or loss <= found.at_most)
        assert found.estimate >= 0.0
        assert not found.hurts
    assert abs(np.mean(gained)) < 3.0 * np.std(gained) / 20.0
    assert np.std(off) == pytest.approx(1.0, abs=0.2)
    assert np.mean(within) > 0.9


def test_a_true_sd_is_never_contradicted() -> None:
    """It was "0 for the annotators, 0.06 for the model", "check its unit", and risks below 0."""
    for items in (6, 25):
        for error in (0.2, 1.5):
            for sd in (1.5, 10.0):
                for seed in range(6):
                    _, inputs = study(items, error, sd, seed, stated=True)
                    assert inputs.moments.noise == pytest.approx(sd**2)
                    said = [*contradictions(inputs), *Atc().warnings(inputs, None)]
                    assert not any("unit" in str(w) for w in said)
                    assert projection_risk(inputs).estimate >= 0.0


@pytest.mark.parametrize("method", ["atc", "fused", "safe"])
def test_the_sentences_hold_the_stated_sd(method: CalibratorName) -> None:
    words = set()
    for seed in range(5):
        made = simulate(items=20, annotators=8, judgments=160, model_sd=1.5, seed=seed)
        consensus = aggcal.aggregate(made.judgments, warn=False)
        found = aggcal.calibrate(made.scores, consensus, method=method, model_sd=1.5, warn=False)
        said = guarantees(consensus, found)["unidentified"].says
        words.add("not distinguishable from 0" in said)
        assert "the model's error is 1.5, as stated" in said
        assert "typically 0" not in said.replace("typically 0.", "")
        if method == "atc":
            value = guarantees(consensus, found)["sure"].values["sure"]
            assert value is not None
            assert value >= 0.0
        assert not any("unit" in str(w) for w in found.warnings)
    assert True in words


def test_an_sd_that_is_impossible_is_called_so() -> None:
    for items in (10, 40):
        _, inputs = study(items, 0.3, 3.0, 2, stated=True)
        wrong = replace(inputs, variances=np.full(items, 300.0**2))
        (found,) = contradictions(wrong)
        assert "Check its unit" in str(found)


# ------------------------------------------------------------------ same judgments


@pytest.mark.parametrize(("method", "items"), [("btl", 40), ("btl", 100), ("hra-g", 40)])
def test_nobody_says_that_a_perfect_model_of_a_sparse_study_was_made_from_it(
    method: str, items: int
) -> None:
    """Few judgments hardly tell the scale on which a model is near: its share of them may be luck.

    Twelve of these studies were told so before, and that the condition of independence is not met.
    """
    careful = 0
    for seed in range(8):
        random = np.random.default_rng(seed)
        truth = random.normal(scale=3.0, size=items)
        i = random.integers(0, items, items)
        j = (i + random.integers(1, items, items)) % items
        first = random.random(items) < 1.0 / (1.0 + np.exp(truth[j] - truth[i]))
        above, below = np.where(first, i, j), np.where(first, j, i)
        rows = [(f"u{k % 5}", f"i{above[k]}", f"i{below[k]}") for k in range(items)]
        consensus = aggcal.aggregate(rows, method, warn=False)
        model = aggcal.Scores(
            consensus.item_ids,
            np.array([2.0 * truth[int(x[1:])] + 5.0 for x in consensus.item_ids]),
        )
        assert same_source(consensus, model) == []
        inputs = aggcal.calibrate(model, consensus, warn=False).inputs
        assert noise_conditions(inputs)[2].holds is None
        careful += inputs.dependent
    assert careful >= 3 or method != "btl"


def test_scores_made_from_the_same_judgments_are_found_and_others_are_not() -> None:
    """Win rates and perfect models both agree with it; only the first share its errors."""
    found: dict[str, int] = {"same": 0, "rates": 0, "exact": 0, "noisy": 0, "bent": 0}
    for seed in range(8):
        random = np.random.default_rng(seed)
        study = simulate(items=20, annotators=10, judgments=300, seed=seed)
        judgments = aggcal.read_judgments(study.judgments)
        consensus = aggcal.aggregate(judgments, warn=False)
        truth = aligned(study.latent, study.item_ids, judgments.item_ids)
        won, lost = judgments.wins_and_losses
        models = {
            "same": aggcal.aggregate(judgments, "btl", warn=False).scores,
            "rates": won / (won + lost),
            "exact": 2.0 * truth + 5.0,
            "noisy": truth + random.normal(0.0, 0.3, 20),
            "bent": -np.exp(-truth),
        }
        for name, values in models.items():
            scores = aggcal.Scores(judgments.item_ids, values)
            inputs = aggcal.calibrate(scores, consensus, warn=False).inputs
            found[name] += inputs.dependent
    assert found["same"] >= 7
    assert found["rates"] >= 6
    assert found["exact"] + found["noisy"] + found["bent"] == 0
