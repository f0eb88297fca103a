"""Style control and ties beside the peers that have them: the same coefficients, and times.

    python benchmarks/terms_peers.py [--battles N] [--seed S]

Simulates battles of 30 models on 200 prompts, where longer and more richly formatted answers win
more than they should and a quarter of the battles are ties. Everyone maximises the same likelihood:
Bradley-Terry with ties as halves and two covariates, without a penalty. scikit-learn is called as
FastChat's notebook on style control does it (a design matrix, ties as one row each way). evalica
and choix know no covariates: they are held against the plain fit, choix without the ties. The peers
run in the environment that stage1.py makes for them. Times are seconds of all processors for one
fit with covariates, after one on a small study that warms compilers up; those of plain fits are in
stage1.py. Ties that come at random, counted as halves, pull everything towards 0 for everyone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = Path(__file__).with_name("results") / "terms-peers.md"
MODELS, PROMPTS = 30, 200
TRUE = (0.5, 0.25)
Study = dict[str, Any]
Answer = tuple[Any, Any]


def study(battles: int, seed: int) -> Study:
    """Simulate battles; `x` are the covariates of every model's answer to every prompt."""
    rng = np.random.default_rng(seed)
    scores, x = rng.normal(size=MODELS), rng.normal(size=(PROMPTS, MODELS, 2))
    x[:, :, 0] += 0.7 * scores
    left = rng.integers(0, MODELS, battles)
    right = (left + rng.integers(1, MODELS, battles)) % MODELS
    prompt = rng.integers(0, PROMPTS, battles)
    gap = scores[left] - scores[right] + (x[prompt, left] - x[prompt, right]) @ TRUE
    drawn, tie = rng.random(battles), rng.random(battles) < 0.25
    won = np.where(tie, 0.5, (drawn < 1.0 / (1.0 + np.exp(-gap))).astype(float))
    return {"left": left, "right": right, "prompt": prompt, "outcome": won, "x": x}


def differences(data: Study) -> Any:
    """Return the covariates of the left answer minus those of the right."""
    return data["x"][data["prompt"], data["left"]] - data["x"][data["prompt"], data["right"]]


def aggcal_fit(data: Study, *, control: bool, ties: bool = True) -> Answer:
    """Fit by aggcal."""
    import aggcal

    keep = (data["outcome"] != 0.5) | ties
    text = [np.array([f"{sign}{k}" for k in range(PROMPTS)]) for sign in "mp"]
    words = np.array(["right", "tie", "left"])[(2 * data["outcome"][keep]).astype(int)]
    table = {
        "annotator": np.full(int(keep.sum()), "anyone"),
        "left": text[0][data["left"][keep]],
        "right": text[0][data["right"][keep]],
        "outcome": words,
        "prompt": text[1][data["prompt"][keep]],
    }
    judgments = aggcal.read_judgments(table, context="prompt" if control else None)
    what = None
    if control:
        at = np.stack(np.divmod(np.arange(PROMPTS * MODELS), MODELS))
        values = data["x"].reshape(-1, 2)
        ids = text[0][at[1]].astype(object), text[1][at[0]].astype(object)
        what = aggcal.Control(ids[0], values, ("length", "style"), ids[1])
    started = time.process_time()
    terms = aggcal.Terms(ties="halves", position="off", context="errors", control=what)
    found = aggcal.methods.BTL(prior=None, terms=terms).fit(judgments)
    spent = time.process_time() - started
    at_ = {str(one): k for k, one in enumerate(found.item_ids)}
    scores = np.array([found.scores[at_[f"m{k}"]] for k in range(MODELS)])
    beta = np.zeros(0)
    if what is not None and found.effects is not None and found.effects.control is not None:
        beta = found.effects.control.values / what.matrix.std(axis=0)
    return (scores, beta), spent


def arena_rank(data: Study, *, control: bool) -> Answer:
    """Fit by arena-rank's contextual model, or its plain one."""
    import jax.numpy as jnp
    import pandas as pd
    from arena_rank.models.bradley_terry import BradleyTerry
    from arena_rank.models.contextual_bradley_terry import ContextualBradleyTerry
    from arena_rank.utils.data_utils import ContextualPairDataset, PairDataset

    started = time.process_time()
    if control:
        rows = ContextualPairDataset(
            competitors=list(range(MODELS)),
            pairs=jnp.stack([jnp.asarray(data["left"]), jnp.asarray(data["right"])], axis=1),
            outcomes=jnp.asarray(data["outcome"]),
            features=jnp.asarray(differences(data)),
            weights=jnp.ones(len(data["left"])),
        )
        model = ContextualBradleyTerry(MODELS, 2, reg=0.0, ftol=1e-14, gtol=1e-10)
        model.fit(rows)
        beta = np.asarray(model.params["coeffs"])
    else:
        names = np.array(["model_b", "tie", "model_a"])[(2 * data["outcome"]).astype(int)]
        frame = pd.DataFrame({"model_a": data["left"], "model_b": data["right"], "winner": names})
        model = BradleyTerry(MODELS, ftol=1e-14, gtol=1e-10)
        model.fit(PairDataset.from_pandas(frame))
        beta = np.zeros(0)
    return (np.asarray(model.params["ratings"]), beta), time.process_time() - started


def fastchat(data: Study) -> Answer:
    """Fit as FastChat's style control does: logistic regression, a tie as a row each way."""
    from sklearn.linear_model import LogisticRegression

    started = time.process_time()
    size = len(data["left"])
    x = np.zeros((size, MODELS + 2))
    rows = np.arange(size)
    x[rows, data["left"]], x[rows, data["right"]] = 1.0, -1.0
    x[:, MODELS:] = differences(data)
    both = np.concatenate([x, x])
    y = np.concatenate([data["outcome"] >= 0.5, data["outcome"] > 0.5])
    model = LogisticRegression(C=1e8, fit_intercept=False, tol=1e-8, max_iter=1000)
    found = model.fit(both, y).coef_[0]
    return (found[:MODELS], found[MODELS:]), time.process_time() - started


def evalica(data: Study) -> Answer:
    """Fit by evalica, ties as halves."""
    import evalica as library
    import pandas as pd

    names = (library.Winner.Y, library.Winner.Draw, library.Winner.X)
    won = [names[int(2 * one)] for one in data["outcome"]]
    started = time.process_time()
    found = library.bradley_terry(
        data["left"], data["right"], won,
        index=pd.Index(range(MODELS)), tolerance=1e-12, limit=100_000,
    )  # fmt: skip
    scores = np.log(found.scores.reindex(range(MODELS)).to_numpy())
    return (scores, np.zeros(0)), time.process_time() - started


def choix(data: Study) -> Answer:
    """Fit by choix, which knows no ties."""
    import choix as library

    keep = data["outcome"] != 0.5
    first = data["outcome"][keep] == 1.0
    left, right = data["left"][keep], data["right"][keep]
    started = time.process_time()
    pairs = list(zip(np.where(first, left, right), np.where(first, right, left), strict=True))
    scores = library.ilsr_pairwise(MODELS, pairs, tol=1e-8, max_iter=1000)
    return (scores, np.zeros(0)), time.process_time() - started


FITS: dict[str, Callable[[Study], Answer]] = {
    "aggcal, control": lambda data: aggcal_fit(data, control=True),
    "arena-rank, control": lambda data: arena_rank(data, control=True),
    "FastChat's way, control": fastchat,
    "aggcal, plain": lambda data: aggcal_fit(data, control=False),
    "arena-rank, plain": lambda data: arena_rank(data, control=False),
    "evalica, plain": evalica,
    "aggcal, no ties": lambda data: aggcal_fit(data, control=False, ties=False),
    "choix, no ties": choix,
}


def fit_one(name: str, battles: int, seed: int) -> None:
    """Fit in this process, after a small study, and print the answer as JSON."""
    FITS[name](study(2_000, seed + 1))
    (scores, beta), seconds = FITS[name](study(battles, seed))
    scores = np.asarray(scores) - np.mean(scores)
    print(json.dumps({"scores": scores.tolist(), "beta": np.asarray(beta).tolist(), "s": seconds}))


def main() -> None:
    """Run everyone on one study and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--battles", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--fit", choices=list(FITS), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.fit:
        fit_one(asked.fit, asked.battles, asked.seed)
        return
    from stage1 import install_peers

    peers, found = install_peers(), {}
    for name in FITS:
        python = Path(sys.executable) if name.startswith("aggcal") else peers
        command = [str(python), __file__, "--fit", name]
        command += ["--battles", str(asked.battles), "--seed", str(asked.seed)]
        with tempfile.TemporaryDirectory() as elsewhere:
            done = subprocess.run(
                command, check=True, capture_output=True, text=True, cwd=elsewhere
            )
        found[name] = json.loads(done.stdout.splitlines()[-1])
        print(name, f"{found[name]['s']:.2f} s", file=sys.stderr)
    head = (
        f"{asked.battles:,} battles of {MODELS} models on {PROMPTS} prompts, a quarter of them "
        f"ties; true coefficients {TRUE[0]} and {TRUE[1]}. `python benchmarks/terms_peers.py`"
    )
    lines = [
        head,
        "",
        "| fit | length | style | furthest score from aggcal's | CPU seconds | times aggcal's |",
        "|---|---|---|---|---|---|",
    ]
    for name, one in found.items():
        ours = found[f"aggcal, {name.rpartition(', ')[2]}"]
        apart = np.abs(np.subtract(one["scores"], ours["scores"])).max()
        beta = " | ".join(f"{b:.6f}" for b in one["beta"]) or "– | –"
        times = f"{one['s']:.2f} | {one['s'] / ours['s']:.1f}" if one["beta"] else "– | –"
        lines.append(f"| {name} | {beta} | {apart:.1e} | {times} |")
    text = "\n".join(lines)
    print(text)
    RESULTS.write_text(text + "\n")


if __name__ == "__main__":
    main()
