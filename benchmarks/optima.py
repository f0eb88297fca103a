"""How often a fit ends in a worse optimum than the best that many random starts find.

    python benchmarks/optima.py [--studies 200] [--starts 40] [--only mode] [--output FILE]

Small adversarial studies: 5 to 8 items, 3 to 10 annotators who judge unequally much, some reversed,
some guessing, some separated from the others by answers that never contradict each other. A fit
*misses* where a random start leads to an objective that is lower by more than 0.001 (0.05 with the
annotators integrated out: spreads settle to a tolerance, which moved the objective of one and the
same optimum by 0.02). The joint mode is looked for by
SciPy's L-BFGS over all parameters, on an objective written here from the definitions; with the
annotators integrated out the package's own iteration is started at random scores. A miss counts as
*told* if the fit came with a warning that another order fits as well, or that it did not converge.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from one_core import on_one_core_each
from scipy.optimize import minimize
from scipy.special import expit, log_expit, ndtr

import aggcal
from aggcal._core.arrays import FloatArray, sums
from aggcal.aggregation.empirical import Model, Problem, fit
from aggcal.aggregation.estimate import Quantify
from aggcal.aggregation.rows import Plan, rows_by_plan
from aggcal.data.judgments import Judgments
from aggcal.errors import ConvergenceWarning, DividedWarning
from aggcal.registry.literals import Estimator

HEAD = """\
Fits that end in a worse optimum than the best of {starts} random starts, in {studies} small
adversarial studies of each row; written by `benchmarks/optima.py`, first seed {first}."""
METHODS = ("hra-g", "crowd-bt", "crowd-tcv")
CLOSE: dict[Estimator, float] = {"mode": 1e-3, "marginal": 0.05}


def study(seed: int) -> Judgments:
    """Make a small study in which annotators contradict each other."""
    random = np.random.default_rng([seed, 8])
    n, m = int(random.integers(5, 9)), int(random.integers(3, 11))
    latent = random.choice([0.5, 1.0, 2.0, 4.0]) * random.standard_normal(n)
    kinds = random.choice(
        ["honest", "reversed", "guessing", "separated", "separated, reversed"],
        size=m,
        p=random.dirichlet([2.0, 2.0, 1.0, 1.0, 1.0]),
    )
    rows = []
    for u, kind in enumerate(kinds):
        each = int(random.choice([2, 4, 8, 15, 40]))
        slope = {"honest": 1.0, "reversed": -1.0, "guessing": 0.0}.get(str(kind), 30.0)
        slope *= -1.0 if str(kind).endswith("d, reversed") else 1.0
        slope *= float(np.exp(0.4 * random.standard_normal()))
        for _ in range(each):
            i, j = random.choice(n, size=2, replace=False)
            wins = random.random() < expit(slope * (latent[i] - latent[j]))
            rows.append((f"u{u}", f"i{i if wins else j}", f"i{j if wins else i}"))
    return aggcal.read_judgments(rows)


Fitted = aggcal.methods.HRA | aggcal.methods.CrowdBT | aggcal.methods.CrowdTCV


def aggregator(method: str, estimator: Estimator) -> Fitted:
    """Return what fits a method."""
    if method == "hra-g":
        return aggcal.methods.HRA(estimator=estimator)
    if method == "crowd-bt":
        return aggcal.methods.CrowdBT(estimator=estimator)
    return aggcal.methods.CrowdTCV(estimator=estimator)


Value = Callable[[FloatArray], tuple[float, FloatArray]]


def definition(method: str, judgments: Judgments) -> Value:
    """Return minus the log posterior of scores and annotators, as published, and its gradient.

    Annotators are reliabilities γ of prior N(1, 0.5²), or log-odds of η of prior Beta(4, 1).
    """
    rows = rows_by_plan(judgments, Plan(wins=True))
    owner, weight = rows.owner, rows.answers.weight
    n, m = rows.n_items, rows.n_annotators

    def gathered(flow: FloatArray) -> FloatArray:
        return sums(rows.left, flow, n) - sums(rows.right, flow, n)

    def hra(x: FloatArray) -> tuple[float, FloatArray]:
        scores, slopes = x[:n], x[n:]
        gap = scores[rows.left] - scores[rows.right]
        pull = weight * expit(-slopes[owner] * gap)
        loss = -weight @ log_expit(slopes[owner] * gap)
        slope = np.concatenate(
            [
                scores - gathered(pull * slopes[owner]),
                4.0 * (slopes - 1.0) - np.bincount(owner, pull * gap, m),
            ]
        )
        return float(loss + scores @ scores / 2.0 + 2.0 * np.sum((slopes - 1.0) ** 2)), slope

    def crowd(x: FloatArray) -> tuple[float, FloatArray]:
        scores, odds, sd = x[:n], x[n:], 1.0
        gap = scores[rows.left] - scores[rows.right]
        ahead, density = expit(gap), expit(gap) * expit(-gap)
        if method == "crowd-tcv":
            # The normal link: Φ(d/√2), and a prior as wide in proportion to the link's sd.
            sd = 6**0.5 / np.pi
            ahead, density = ndtr(gap / 2**0.5), np.exp(-(gap**2) / 4.0) / (4.0 * np.pi) ** 0.5
        eta = expit(odds)
        told = np.maximum(eta[owner] * ahead + (1.0 - eta[owner]) * (1.0 - ahead), 1e-300)
        loss = -weight @ np.log(told) - 3.0 * log_expit(odds).sum()
        in_eta = np.bincount(owner, weight * (2.0 * ahead - 1.0) / told, m)
        slope = np.concatenate(
            [
                scores / sd**2 - gathered(weight * (2.0 * eta[owner] - 1.0) * density / told),
                -in_eta * eta * (1.0 - eta) - 3.0 * (1.0 - eta),
            ]
        )
        return float(loss + scores @ scores / (2.0 * sd**2)), slope

    return hra if method == "hra-g" else crowd


def random_optimum(method: str, judgments: Judgments, starts: int, seed: int) -> float:
    """Return the lowest joint mode that L-BFGS finds from random starts."""
    random, value = np.random.default_rng([seed, 9]), definition(method, judgments)
    n, m = judgments.n_items, judgments.n_annotators
    best = np.inf
    for _ in range(starts):
        scores = random.choice([0.3, 1.0, 3.0]) * random.standard_normal(n)
        annotators = 2.0 * random.standard_normal(m)
        begin = np.concatenate([scores, annotators])
        found = minimize(value, begin, jac=True, method="L-BFGS-B", options={"maxiter": 500})
        best = min(best, float(found.fun))
    return best


def random_marginal(model: Model, starts: int, seed: int) -> float:
    """Return the lowest cost that empirical Bayes settles at from random starts."""
    random, best = np.random.default_rng([seed, 9]), np.inf
    for _ in range(starts):
        sd = model.default_sd * random.choice([0.3, 1.0, 3.0])
        begin = sd * random.standard_normal(model.rows.n_items)
        result = fit(Problem(model), model.first_state(begin))
        if result.convergence.converged:
            best = min(best, result.cost)
    return best


def missed(task: tuple[str, Estimator, int, int]) -> tuple[float, bool]:
    """Return by how much a fit's objective is above the best, and whether it warned."""
    method, estimator, starts, seed = task
    warnings.simplefilter("ignore")
    judgments = study(seed)
    consensus = aggregator(method, estimator).fit(judgments)
    if consensus.objective is None:
        raise RuntimeError("the fit has no objective")
    told = any(isinstance(w, DividedWarning | ConvergenceWarning) for w in consensus.warnings)
    if estimator == "mode":
        return consensus.objective - random_optimum(method, judgments, starts, seed), told
    own = consensus.quantifier
    if not isinstance(own, Quantify) or own.integrated is None:
        raise TypeError("the annotators were not integrated out")
    best = random_marginal(own.integrated.problem.model, starts, seed)
    return own.integrated.cost - best, told


def main() -> None:
    """Run all methods and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--starts", type=int, default=40)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--first", type=int, default=0, help="seed of the first study")
    parser.add_argument("--only", default="", help="only this estimator")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    lines = [
        HEAD.format(**vars(options)),
        "",
        "| method | estimator | missed | of these, without a warning | furthest above the best |",
        "|---|---|---|---|---|",
    ]
    print("\n".join(lines), flush=True)
    with on_one_core_each(options.processes) as pool:
        for estimator, close in CLOSE.items():
            for method in METHODS:
                if options.only not in estimator:
                    continue
                seeds = range(options.first, options.first + options.studies)
                tasks = [(method, estimator, options.starts, seed) for seed in seeds]
                found = list(pool.map(missed, tasks))
                off = {s: one for s, one in zip(seeds, found, strict=True) if one[0] > close}
                lines.append(
                    f"| {method} | {estimator} | {len(off)} "
                    f"| {sum(not told for _, told in off.values())} "
                    f"| {max((gap for gap, _ in off.values()), default=0.0):.3f} |"
                )
                print(lines[-1], *off, flush=True)
    if options.output is not None:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
