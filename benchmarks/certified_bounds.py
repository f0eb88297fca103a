"""How many pairs are certified without a matrix of the covariance, beside one and the old bound.

    python benchmarks/certified_bounds.py [--output FILE]

Beyond 400 items pairs are certified by a bound on the variance of their gap, unless scores depend
on each other much; `matrix` says so. Columns are shares of all pairs that are certified at .95, by
the matrix, by the bound and by (se_i + se_j)²; then the least and the mean of the bound over the
variance, of all pairs, and how far standard errors without a matrix are off (their sd, in percent).
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np

import aggcal
from aggcal._core.arrays import BoolArray, FloatArray
from aggcal.aggregation.uncertainty.matrix_free import MatrixFreeCovariance
from aggcal.simulation import simulate

STUDIES = (
    (600, 30_000, 30), (1_000, 20_000, 50), (1_000, 100_000, 50), (2_000, 20_000, 50),
    (2_000, 100_000, 100), (2_000, 100_000, 2_000), (3_000, 60_000, 300),
)  # fmt: skip
"""Items, judgments and annotators."""
HEAD = """\
Shares of pairs certified at 0.95 by the matrix, by the bound that takes its place beyond 400 items,
and by (se_i + se_j)²; the bound over the variance of a gap, over all pairs; the error of standard
errors. Pairs of items are drawn at random; one study a row. Written by
`python benchmarks/certified_bounds.py`.

| items × annotators × judgments | matrix | bound | se_i + se_j | least | mean | errors of se |
|---|---|---|---|---|---|---|"""


def row(items: int, judgments: int, annotators: int) -> str:
    """Return the line of one study."""
    study = simulate(items=items, annotators=annotators, judgments=judgments)
    consensus = aggcal.aggregate(study.judgments, warn=False).quantify()
    known = consensus.uncertainty
    name = f"| {items:,} × {annotators:,} × {judgments:,} | "
    if known is None or not isinstance(known.covariance, MatrixFreeCovariance):
        return name + "matrix | | | | | |"
    exact = known.covariance.dense()
    if exact is None:
        raise RuntimeError("there are too many items")
    every, other = np.arange(items), ~np.eye(items, dtype=bool)
    gaps = known.scores[:, None] - known.scores
    bound = known.covariance.gap_bound(every[:, None], every)
    actual = exact.gap_variance(every[:, None], every)
    se = np.sqrt(exact.variances)
    critical_value = known.certified().critical_value
    shares = [
        f"{share(gaps, variance, critical_value):.1%}"
        for variance in (actual, bound, np.square(se[:, None] + se))
    ]
    ratio = bound[other] / actual[other]
    off = float(np.std(np.sqrt(known.covariance.variances) / se))
    return name + " | ".join([*shares, f"{ratio.min():.3f}", f"{ratio.mean():.3f}", f"{off:.1%} |"])


def share(gaps: FloatArray, variances: FloatArray, critical_value: float) -> float:
    """Return the share of pairs whose gap is large enough."""
    certified: BoolArray = gaps > critical_value * np.sqrt(variances)
    return float(np.count_nonzero(certified)) / (len(gaps) * (len(gaps) - 1) / 2)


def main() -> None:
    """Print the table, and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [HEAD]
    print(HEAD)
    for study in STUDIES:
        lines.append(row(*study))
        print(lines[-1], flush=True)
    if options.output is not None:
        options.output.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
