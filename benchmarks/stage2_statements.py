"""Whether what Stage 2 says is true: coverage of its intervals, and sentences about a stated sd.

    python benchmarks/stage2_statements.py [STUDIES]

Studies with a known truth and a known posterior of the consensus (normal, so that Stage 1 is exact
and only Stage 2 is measured). Prints for each shape: the share of items whose interval holds what
the calibrated score would be for the exact consensus, the mean width (in sd of the truth), and the
share of items whose interval has no width although their rank is uncertain. Then, where the stated
model sd is true: how often the sd is called too large, how often the 95% limit of the projection's
error holds, and how often "likely to hurt" is right.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np

from aggcal._core.arrays import FloatArray
from aggcal._core.tables import as_text
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.calibration.calibrators import find
from aggcal.calibration.inputs import Inputs
from aggcal.calibration.intervals import calibrated_intervals
from aggcal.calibration.says import contradictions, projection_risk

SD = 10.0
"""Of the truth, in the model's units."""

MODELS = {"good": 0.1, "fair": 1.0, "poor": 3.0, "made of the consensus": None}
"""Errors of the model, in sd of the truth."""


@dataclass(frozen=True)
class Study:
    """An exact consensus, what is known of it, and the truth."""

    exact: FloatArray
    inputs: Inputs
    truth: FloatArray


def study(
    items: int, error: float, model: float | None, seed: int, *, level: float, stated: bool
) -> Study:
    """Make a study whose judgments leave errors of this sd, in sd of the truth."""
    random = np.random.default_rng([seed, items])
    exact = random.standard_normal(items)
    shared = random.standard_normal(items)
    noise = np.diag((error * random.uniform(0.6, 1.4, items)) ** 2)
    noise += 0.2 * error**2 * np.outer(shared, shared)
    seen = exact + random.multivariate_normal(np.zeros(items), noise)
    posterior = np.linalg.inv(np.eye(items) + np.linalg.inv(noise))
    estimate = posterior @ np.linalg.solve(noise, seen)
    truth = 50.0 + SD * exact
    sd = SD * (0.3 if model is None else model)
    scores = truth + sd * random.standard_normal(items)
    if model is None:
        scores = 50.0 + SD * np.tanh(estimate)
    ids = as_text(range(items))
    known = np.full(items, sd**2) if stated else None
    made = Inputs(
        ids, scores, estimate, DenseCovariance(posterior), np.ones(items), known, None, None, level,
        seed,
    )  # fmt: skip
    return Study(exact, made, truth)


def covered(method: str, made: Study) -> tuple[float, float, float]:
    """Return coverage, width, and the share of intervals that should have one and do not."""
    inputs, calibrator = made.inputs, find(method)
    values = calibrator.calibrate(inputs)
    found = calibrated_intervals(calibrator, inputs, values)
    if found.low is None or found.high is None:
        return np.nan, 0.0, np.nan
    if inputs.covariance is None:
        return np.nan, 0.0, np.nan
    target = calibrator.on_exact(inputs, values)(made.exact)
    known = Uncertainty.of("laplace", inputs.level, inputs.consensus, inputs.covariance)
    wide = found.high - found.low
    slack = 1e-9 * SD
    inside = (found.low - slack <= target) & (target <= found.high + slack)
    flat = (wide <= slack) & (known.rank_low < known.rank_high)
    return float(inside.mean()), float(wide.mean()) / SD, float(flat.mean())


def coverage(studies: int, level: float, methods: tuple[str, ...]) -> None:
    print(f"\nlevel {level:g}: covered, width, no width though the rank is uncertain")
    for method in methods:
        for items in (3, 4, 10, 25, 60):
            for error in (0.1, 1.0):
                row = []
                for name, model in MODELS.items():
                    many = max(6, studies * 10 // items)
                    cells = [
                        covered(
                            method,
                            study(items, error, model, k, level=level, stated=method == "safe"),
                        )
                        for k in range(many)
                    ]
                    row.append("{} {:.2f} {:.2f} {:.3f}".format(name, *np.nanmean(cells, axis=0)))
                print(f"{method:5} {items:3} items, error {error:g}: " + "; ".join(row), flush=True)


def statements(studies: int) -> None:
    print(
        "\nstated sd is true: called too large; error within its 95% limit; said to hurt, and did"
    )
    print("nothing stated: said to hurt, and did; mean simulated share of harm, and share harmed")
    for items in (6, 25, 60):
        for error in (0.1, 0.5, 1.5):
            for model in (0.1, 0.3, 1.0):
                told = [_told(items, error, model, k) for k in range(studies)]
                columns = np.array(told, dtype=np.float64).T
                called, within, said, hurt, warned, harmed, likely, also = columns
                print(
                    f"{items:3} items, error {error:g}, model {model:g}: {called.mean():.3f}; "
                    f"{np.nanmean(within):.2f}; {said.mean():.2f}, {_share(hurt, said)} | "
                    f"{warned.mean():.2f}, {_share(harmed, warned)}; "
                    f"{np.nanmean(likely):.2f}, {also.mean():.2f}",
                    flush=True,
                )


def _share(of: FloatArray, among: FloatArray) -> str:
    chosen = of[among > 0.0]
    return f"{chosen.mean():.2f}" if len(chosen) else "-"


def _told(items: int, error: float, model: float, seed: int) -> tuple[float, ...]:
    known = study(items, error, model, seed, level=0.95, stated=True)
    plain = study(items, error, model, seed, level=0.95, stated=False)
    made, alone = known.inputs, plain.inputs
    projected = made.projected[0]
    loss = float(np.mean(np.square(projected - known.truth)))
    own = float(np.mean(np.square(made.model - known.truth)))
    limit = projection_risk(made).at_most
    said = bool(find("atc").warnings(made, None))
    warned = bool(find("atc").warnings(alone, None))
    called = any("too large" in str(w) for w in contradictions(made))
    likely = alone.hurts
    within = np.nan if limit is None else loss <= limit
    return called, within, said, loss > own, warned, loss > own, likely, loss > own


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    statements(number)
    coverage(number, 0.9, ("atc", "safe", "fused"))
    coverage(number, 0.95, ("atc",))
