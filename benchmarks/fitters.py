"""One fit of one library, timed: run by stage1.py in the environment that has the library.

    python fitters.py NAME DATA WARMUP RESULT REPEATS

DATA and WARMUP are prefixes of .npy files (annotator, winner, loser as int32 codes); the scores go
to RESULT.npy, the seconds and the peak memory to standard output as JSON. What is timed starts at
the integer codes and ends at the scores, in the settings that bring each library to the same
optimum, the unpenalised maximum of the Bradley-Terry likelihood; HRA is fitted by the joint mode,
as its peers fit theirs. Imports and compilers warm up on
WARMUP first.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

warnings.filterwarnings("ignore")
Fitter = Callable[[Any, Any, Any, int], Any]
LONG_ENOUGH = 0.5
"""Seconds that repeated fits take together at least, with any library; the least of them counts."""


def aggcal_btl(annotator: Any, winner: Any, loser: Any, n: int) -> Any:
    import aggcal

    judgments = aggcal.Judgments.of_codes(annotator, winner, loser)
    found = aggcal.aggregate(judgments, aggcal.methods.BTL(prior=None, tolerance=1e-6), warn=False)
    return found.scores


def aggcal_hra(annotator: Any, winner: Any, loser: Any, n: int) -> Any:
    import aggcal

    judgments = aggcal.Judgments.of_codes(annotator, winner, loser)
    found = aggcal.aggregate(
        judgments, aggcal.methods.HRA(tolerance=1e-8, estimator="mode"), warn=False
    )
    if found.convergence is None or not found.convergence.converged:
        raise SystemExit("not converged")
    return found.scores


def evalica(annotator: Any, winner: Any, loser: Any, n: int) -> Any:
    import evalica as library
    import pandas as pd

    won = [library.Winner.X] * len(winner)
    found = library.bradley_terry(
        winner, loser, won, index=pd.Index(range(n)), tolerance=1e-9, limit=100_000
    )
    return np.log(found.scores.reindex(range(n)).to_numpy())


def choix_ilsr(annotator: Any, winner: Any, loser: Any, n: int) -> Any:
    import choix

    return choix.ilsr_pairwise(n, list(zip(winner, loser, strict=True)), tol=1e-6, max_iter=1000)


def choix_newton(annotator: Any, winner: Any, loser: Any, n: int) -> Any:
    import choix

    pairs = list(zip(winner, loser, strict=True))
    return choix.opt_pairwise(n, pairs, alpha=1e-9, method="Newton-CG", tol=1e-7)


def design(winner: Any, loser: Any, n: int) -> tuple[Any, Any]:
    """Return every judgment as a row +1, -1; every other one turned round to have both classes."""
    from scipy.sparse import csr_matrix

    rows = np.arange(len(winner))
    sign = np.where(rows % 2 == 0, 1.0, -1.0)
    data, columns = np.concatenate([sign, -sign]), np.concatenate([winner, loser])
    shape = (len(winner), n)
    return csr_matrix((data, (np.concatenate([rows, rows]), columns)), shape=shape), sign > 0


def scikit_learn(annotator: Any, winner: Any, loser: Any, n: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    x, y = design(winner, loser, n)
    model = LogisticRegression(
        C=1e8, fit_intercept=False, solver="newton-cg", tol=1e-8, max_iter=1000
    )
    return model.fit(x, y).coef_[0]


def statsmodels(annotator: Any, winner: Any, loser: Any, n: int) -> Any:
    import statsmodels.api as sm

    x, y = design(winner, loser, n)
    # The last item is the reference: the design has no full rank otherwise.
    found = sm.GLM(y.astype(float), x[:, :-1].toarray(), family=sm.families.Binomial()).fit()
    return np.append(found.params, 0.0)


def arena_rank(annotator: Any, winner: Any, loser: Any, n: int) -> Any:
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.utils.data_utils import PairDataset

    frame = pd.DataFrame({"model_a": winner, "model_b": loser, "winner": "model_a"})
    data = PairDataset.from_pandas(frame)
    model = BradleyTerry(n_competitors=n, ftol=1e-14, gtol=1e-10)
    model.fit(data)
    return np.asarray(model.params["ratings"])


def crowd_kit(annotator: Any, winner: Any, loser: Any, n: int) -> Any:
    import pandas as pd
    from crowdkit.aggregation import BradleyTerry

    frame = pd.DataFrame({"worker": annotator, "left": winner, "right": loser, "label": winner})
    found = BradleyTerry(n_iter=10_000, tol=1e-9).fit_predict(frame)
    return np.log(found.reindex(range(n)).to_numpy())


def crowd_kit_noisy(annotator: Any, winner: Any, loser: Any, n: int) -> Any:
    import pandas as pd
    from crowdkit.aggregation import NoisyBradleyTerry

    frame = pd.DataFrame({"worker": annotator, "left": winner, "right": loser, "label": winner})
    found = NoisyBradleyTerry(n_iter=1000, tol=1e-8).fit_predict(frame)
    return np.log(np.maximum(found.reindex(range(n)).to_numpy(), 1e-300))


FITTERS: dict[str, Fitter] = {
    "aggcal btl": aggcal_btl,
    "aggcal hra-g": aggcal_hra,
    "evalica": evalica,
    "choix ilsr": choix_ilsr,
    "choix newton": choix_newton,
    "scikit-learn": scikit_learn,
    "statsmodels": statsmodels,
    "arena-rank": arena_rank,
    "crowd-kit": crowd_kit,
    "crowd-kit noisy": crowd_kit_noisy,
}


def load(prefix: str) -> tuple[Any, Any, Any, int]:
    annotator, winner, loser = (np.load(f"{prefix}-{part}.npy") for part in ("u", "w", "l"))
    return annotator, winner, loser, int(max(winner.max(), loser.max())) + 1


def main(name: str, data: str, warmup: str, result: str, repeats: int) -> None:
    fit = FITTERS[name]
    fit(*load(warmup))
    rows = load(data)
    seconds: list[float] = []
    swept = [0.0]
    if name.startswith("aggcal"):
        count_bytes(swept)
    # A few fits of milliseconds would be over before the processor is up to speed.
    while len(seconds) < repeats or (repeats > 1 and sum(seconds) < LONG_ENOUGH):
        swept[0] = 0.0
        began = time.perf_counter()
        scores = fit(*rows)
        seconds.append(time.perf_counter() - began)
    np.save(result, np.asarray(scores, dtype=np.float64))
    measured = {"seconds": min(seconds), "gigabytes": peak_gigabytes(), "swept": swept[0]}
    print(json.dumps(measured))


def count_bytes(swept: list[float]) -> None:
    """Add up in ``swept`` the bytes of rows that each of aggcal's sweeps has to read and write.

    Two ids are read; an evaluation also reads what was answered, and writes what a product reads.
    What is gathered from the scores is not counted.
    """
    from aggcal.aggregation.native import NativeAnnotators, NativeTape

    evaluate, product = NativeAnnotators._at_modes, NativeTape.product  # noqa: SLF001

    def evaluate_(self: Any, rows: Any, *rest: Any) -> Any:
        swept[0] += len(rows) * 48
        return evaluate(self, rows, *rest)

    def product_(self: Any, vector: Any) -> Any:
        swept[0] += len(self.rows) * 16
        return product(self, vector)

    NativeAnnotators._at_modes = evaluate_  # type: ignore[method-assign,assignment]  # noqa: SLF001
    NativeTape.product = product_  # type: ignore[method-assign]


def peak_gigabytes() -> float:
    """Return this process's own peak; ``ru_maxrss`` may be that of the one that forked it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    line = next(row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
    return int(line.split()[1]) / 1e6


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4], int(sys.argv[5]))
