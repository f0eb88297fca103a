"""RQ3: what ranking errors do to the calibrated scores.

As published, the experiment has no judgments and no truth: an isotonic fit of corrupted data is
compared with the corrupted data themselves. The one that the question needs is beside it: real
model scores and a real truth, an order corrupted by more and more inversions, errors against the
truth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from aggcal._core.arrays import BoolArray, FloatArray, IntArray
from aggcal.calibration.project import project
from aggcal.metrics import kendall
from aggcal.pages.document import Text
from paper.plots import lines
from paper.reading_level import load, ridge_model
from paper.result import Cell, Result

_ITEMS, _SD, _TARGETS = 50, 5.0, 50
_FLAT = 1e-3
"""The fit is flat when its variance is so small a part of what it was."""


def inversions(values: FloatArray) -> int:
    """Count the pairs that are the wrong way round.

    Examples
    --------
    >>> inversions(np.array([3.0, 1.0, 2.0]))
    2
    """
    return int(np.count_nonzero((values[:, None] < values[None, :]) & _later(len(values))))


@lru_cache(maxsize=1)
def _later(n: int) -> BoolArray:
    """Mark the pairs whose first place comes after the second: made once for many orders."""
    return np.tri(n, k=-1, dtype=bool)


def corrupted(order: FloatArray, target: int, random: np.random.Generator) -> FloatArray:
    """Swap random neighbours of a ranking until it has so many inversions.

    Examples
    --------
    >>> found = corrupted(np.arange(10.0), 7, np.random.default_rng(0))
    >>> inversions(found)
    7
    """
    values: FloatArray = np.sort(order)
    for _ in range(target):
        # Only a swap of neighbours in order adds exactly one inversion.
        upward: IntArray = np.flatnonzero(values[:-1] < values[1:])
        if not len(upward):
            break
        k = int(upward[random.integers(len(upward))])
        values[k], values[k + 1] = values[k + 1], values[k]
    return values


def run(folder: Path, *, quick: bool, say: Callable[[str], None]) -> Result:
    """Run the published experiment and the one that the question needs."""
    result = Result()
    say("rq3: as published")
    _published(result, repeats=2 if quick else 30)
    say("rq3: against the truth")
    _against_truth(result, folder, repeats=1 if quick else 20)
    return result


def _published(result: Result, *, repeats: int) -> None:
    most = _ITEMS * (_ITEMS - 1) // 2
    targets = np.linspace(0, most, _TARGETS).round().astype(np.int64)
    totals = {name: np.zeros(_TARGETS) for name in ("mse", "blocks", "tau_b", "variance")}
    x = np.arange(float(_ITEMS))
    for seed in range(repeats):
        random = np.random.default_rng(seed)
        clean = x + _SD * random.standard_normal(_ITEMS)
        for k, target in enumerate(targets):
            y = corrupted(clean, int(target), random)
            fit, block = project(x, y)
            totals["mse"][k] += float(np.mean(np.square(fit - y))) / repeats
            totals["tau_b"][k] += kendall(fit, y)[1] / repeats if np.ptp(fit) > 0.0 else 0.0
            totals["blocks"][k] += float(block.max()) / repeats
            totals["variance"][k] += float(fit.var()) / repeats
    shares = {
        name.replace("_", "-"): values / (np.abs(values).max() or 1.0)
        for name, values in totals.items()
    }
    result.figures["rq3-published"] = lines(
        "RQ3 as published", targets.astype(float), shares, ("inversions", "each over its largest")
    )
    for name, values in totals.items():
        for k in (0, _TARGETS // 2, _TARGETS - 1):
            note = (
                f"at {targets[k]} inversions; the paper prints a figure only, and measures "
                "against the corrupted input itself"
            )
            row = ("rq3", "atc", "recipe", name, "calibrated")
            result.cells.append(Cell(*row, values[k], note=note))
    flat = targets[totals["variance"] <= _FLAT * totals["variance"][0]][0]
    lowest = totals["tau_b"].min()
    said = (
        f"The published experiment, run again: its fit is flat from {flat} of {most:,} inversions "
    )
    said += f"on, and the lowest mean tau-b of the fit with its own input is {lowest:.2f}."
    result.blocks.append(Text(said))


def _against_truth(result: Result, folder: Path, *, repeats: int) -> None:
    study = load(folder)
    trained, known, _ = ridge_model(study, split=0)
    held = np.ones(len(study.ids), dtype=bool)
    held[known] = False
    truth = study.truth - study.truth.mean()
    noise = 2.0 * np.random.default_rng(1).standard_normal(len(truth))
    models = {
        "paper": ("the paper's model", truth, study.model),
        "trained": ("a trained model", study.truth[held], trained[held]),
        "good": ("a good model (simulated)", truth, truth + noise),
    }
    result.show(
        "Errors of the ranking, against the truth (Reading Level)",
        "MSE, centred, of the projection onto the true ranking with more and more of its pairs "
        "inverted; and from which share on it is worse than the model, and than a constant.",
        (
            *("model scores", "model", "perfect ranking", "half inverted", "constant"),
            *("worse than the model from", "worse than a constant from"),
        ),
        [_stops_helping(result, label, case, repeats) for label, case in models.items()],
    )


def _stops_helping(
    result: Result, label: str, case: tuple[str, FloatArray, FloatArray], repeats: int
) -> list[str | float]:
    """Corrupt the true ranking more and more, and find where its projection stops helping."""
    name, truth, model = case
    shares = np.linspace(0.0, 1.0, 21)
    raw, constant = _centred_mse(model, truth), float(np.var(truth))
    errors = np.mean([_errors(truth, model, shares, seed) for seed in range(repeats)], axis=0)
    worse = {limit: shares[errors > limit][:1] for limit in (raw, constant)}
    result.figures[f"rq3-truth-{label}"] = lines(
        f"Error against the truth, {name}",
        100.0 * shares,
        {
            "calibrated": errors,
            "model": np.full(len(shares), raw),
            "a constant": np.full(len(shares), constant),
        },
        ("pairs of the ranking that are inverted (per cent)", "MSE"),
        mark=100.0 * float(worse[raw][0]) if len(worse[raw]) else None,
    )
    half = len(shares) // 2
    for k in (0, half // 2, half):
        note = f"with {shares[k]:.0%} of all pairs inverted, against the truth"
        row = ("rq3", f"atc-{label}", "fitted", "mse", "calibrated")
        result.cells.append(Cell(*row, errors[k], note=note))
    first = [f"{share[0]:.0%}" if len(share) else "never" for share in worse.values()]
    return [name, raw, float(errors[0]), float(errors[half]), constant, *first]


def _errors(truth: FloatArray, model: FloatArray, shares: FloatArray, seed: int) -> FloatArray:
    """Return the MSE of the projection at each share of inverted pairs."""
    n, random = len(truth), np.random.default_rng(seed)
    # Ties in the truth are broken at random: a ranking has none.
    ranked = np.argsort(truth + 1e-6 * random.standard_normal(n))
    errors = np.empty(len(shares))
    for k, share in enumerate(shares):
        order = np.empty(n)
        order[ranked] = _shuffled(n, int(share * (n * (n - 1) // 2)), random)
        errors[k] = _centred_mse(project(order, model)[0], truth)
    return errors


def _centred_mse(values: FloatArray, truth: FloatArray) -> float:
    return float(np.var(values - truth))


def _shuffled(n: int, target: int, random: np.random.Generator) -> FloatArray:
    """Return a permutation with about so many inversions: places blurred by noise of a width.

    Swapping neighbours one by one would take as many steps as there are inversions.
    """
    places = np.arange(float(n))
    most = n * (n - 1) // 2
    if target <= 0:
        return places
    turned = target > most // 2
    wanted = most - target if turned else target
    low, high = 0.0, 1e3 * n
    noise = random.standard_normal(n)
    for _ in range(40):
        width = 0.5 * (low + high)
        found = np.argsort(np.argsort(places + width * noise)).astype(np.float64)
        if inversions(found) < wanted:
            low = width
        else:
            high = width
    return found[::-1].copy() if turned else found
