"""Bradley–Terry with ties, order effects and covariates: known outputs and an independent solve."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import aggcal
from aggcal import Terms
from aggcal.aggregation.consensus import Consensus
from aggcal.methods import BTL

HERE = Path(__file__).parent / "published"
Vector = np.ndarray


def counted(name: str) -> aggcal.Judgments:
    """Read a published table as judgments; its columns are left, right, wins, wins and ties."""
    rows = []
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith(("#", "left")):
            left, right, *counts = line.split(",")
            for outcome, number in zip(("left", "right", "tie"), map(int, counts), strict=False):
                rows += [("anyone", left, right, outcome)] * number
    return aggcal.read_judgments(rows)


def worths(consensus: Consensus) -> dict[str, float]:
    share = np.exp(consensus.scores)
    return dict(zip(consensus.item_ids.tolist(), (share / share.sum()).tolist(), strict=True))


def gap_errors(consensus: Consensus, first: str) -> list[float]:
    """Return the standard errors of the differences from one item."""
    assert consensus.uncertainty is not None
    matrix = consensus.uncertainty.covariance.matrix  # type: ignore[attr-defined]
    at = consensus.item_ids.tolist().index(first)
    variance = np.diag(matrix) + matrix[at, at] - 2.0 * matrix[at]
    return [float(v**0.5) for k, v in enumerate(variance) if k != at]


def test_baseball_as_bradley_terry_2_prints_it() -> None:
    """Its own test holds these numbers against Table 10.11 of Agresti (2002)."""
    baseball = counted("baseball.csv")
    plain = BTL(prior=None).fit(baseball)
    ahead = plain.scores - plain.scores[plain.item_ids.tolist().index("Baltimore")]
    assert np.sort(ahead).round(2).tolist() == [0.0, 0.68, 1.11, 1.25, 1.29, 1.44, 1.58]
    assert np.round(gap_errors(plain, "Baltimore"), 1).tolist() == [0.3] * 6
    home = BTL(prior=None, terms=Terms(position="on")).fit(baseball)
    shares = sorted(round(share, 3) for share in worths(home).values())
    assert shares == [0.044, 0.088, 0.137, 0.157, 0.164, 0.190, 0.220]
    assert home.effects is not None
    assert home.effects.position is not None
    assert round(home.effects.position.common, 3) == 0.302


def test_puddings_as_plackett_luce_prints_them() -> None:
    """The vignette stops after seven iterations, as Davidson (1970) did: three digits are right."""
    found = BTL(prior=None, terms=Terms(ties="davidson")).fit(counted("pudding.csv"))
    printed = {"1": 0.1389750, "2": 0.1729960, "3": 0.1618192, "4": 0.1653960, "5": 0.1587648}
    assert worths(found) == pytest.approx(printed | {"6": 0.2020490}, abs=5e-4)
    assert found.effects is not None
    ready = found.effects.readiness
    assert ready is not None
    assert np.exp(ready.common) == pytest.approx(0.7466951, abs=5e-4)
    assert round(ready.common_se, 4) == 0.0825
    assert found.log_likelihood is not None
    assert round(-2.0 * found.log_likelihood, 1) == 1619.4
    errors = [0.1872050, 0.1935076, 0.1881999, 0.1926938, 0.1923830]
    assert gap_errors(found, "1") == pytest.approx(errors, abs=1e-4)


def test_parties_as_psychotools_prints_them() -> None:
    """Its btmodel() is what psychotree fits in every node; the trees' own need unpublished rows."""
    found = BTL(prior=None).fit(counted("parties.csv")).quantify("laplace")
    items = found.item_ids.tolist()
    ahead = dict(zip(items, found.scores - found.scores[items.index("FDP")], strict=True))
    printed = {"none": -0.3756, "Linke": -0.6161, "Gruene": 1.1858, "SPD": 0.8131}
    assert ahead == pytest.approx(printed | {"CDU/CSU": 0.1756, "FDP": 0.0}, abs=5.1e-5)
    errors = {"none": 0.0890, "Linke": 0.0910, "Gruene": 0.0951, "SPD": 0.0907, "CDU/CSU": 0.0875}
    ours = dict(zip((i for i in items if i != "FDP"), gap_errors(found, "FDP"), strict=True))
    assert ours == pytest.approx(errors, abs=6e-5)
    assert found.log_likelihood is not None
    assert round(found.log_likelihood, -1) == -1720  # three digits are printed


def study(seed: int, ties: bool) -> tuple[aggcal.Judgments, aggcal.Control]:
    random = np.random.default_rng(seed)
    n, contexts, rows = 7, 5, 900
    scores, x = random.normal(0.0, 1.0, n), random.normal(0.0, 1.0, (contexts, n))
    left = random.integers(n, size=rows)
    right = (left + random.integers(1, n, rows)) % n
    at = random.integers(contexts, size=rows)
    eta = scores[left] - scores[right] + 0.4 * (x[at, left] - x[at, right]) + 0.3
    odds = np.stack([np.exp(0.5 * eta), np.exp(-0.5 * eta), np.full(rows, 0.8 * ties)], axis=1)
    steps = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    answer = (random.random(rows)[:, None] > steps[:, :2]).sum(axis=1)
    table = {
        "annotator": [f"u{u}" for u in random.integers(4, size=rows)],
        "left": [f"i{i}" for i in left],
        "right": [f"i{i}" for i in right],
        "outcome": [("left", "right", "tie")[a] for a in answer],
        "prompt": [f"p{c}" for c in at],
    }
    ids = [(f"i{i}", f"p{c}", 100 + 20 * x[c, i]) for c in range(contexts) for i in range(n)]
    control = aggcal.read_control(ids, context="prompt")
    return aggcal.read_judgments(table, context="prompt"), control


def davidson(eta: Vector, nu: float) -> tuple[Vector, Vector, Vector]:
    top = np.stack([0.5 * eta, -0.5 * eta, np.full(len(eta), nu)])
    top = np.exp(top - top.max(axis=0))
    left, right, tie = top / top.sum(axis=0)
    return left, right, tie


def rao_kupper(eta: Vector, nu: float) -> tuple[Vector, Vector, Vector]:
    cut = np.exp(nu)
    left, right = 1.0 / (1.0 + np.exp(cut - eta)), 1.0 / (1.0 + np.exp(cut + eta))
    return left, right, 1.0 - left - right


Model = Callable[[Vector, float], tuple[Vector, Vector, Vector]]


@pytest.mark.parametrize(("name", "model"), [("davidson", davidson), ("rao-kupper", rao_kupper)])
def test_an_independent_solve_finds_the_same(name: str, model: Model) -> None:
    """The objective is written afresh, row by row, and minimised by SciPy."""
    judgments, control = study(3, ties=True)
    terms = Terms(ties=name, position="on", control=control)  # type: ignore[arg-type]
    prior = aggcal.Prior(1.3, 0.5)
    found = BTL(prior=prior, terms=terms).fit(judgments)
    n, outcome = judgments.n_items, np.asarray(judgments.outcome)
    value = {
        (item, context): v
        for item, context, v in zip(
            control.item_ids, np.asarray(control.context_ids), control.matrix[:, 0], strict=True
        )
    }
    assert judgments.context is not None
    assert judgments.context_ids is not None
    where = judgments.context_ids[judgments.context]
    sides = [judgments.item_ids[side] for side in (judgments.left, judgments.right)]
    x = [np.array([value[pair] for pair in zip(side, where, strict=True)]) for side in sides]
    gap = (x[0] - x[1]) / np.std(control.matrix[:, 0])

    def objective(z: Vector) -> float:
        s, lean, beta, nu = z[:n], z[n], z[n + 1], z[n + 2]
        eta = s[judgments.left] - s[judgments.right] + lean + beta * gap
        left, right, tie = model(eta, nu)
        chance = np.where(outcome == 1.0, left, np.where(outcome == 0.0, right, tie))
        loss = -float(np.asarray(judgments.weight) @ np.log(chance))
        penalty = s @ s / prior.score_sd**2 + lean**2 + (beta / 10.0) ** 2 + ((nu + 1.0) / 3.0) ** 2
        return loss + 0.5 * float(penalty)

    best = minimize(objective, np.zeros(n + 3), method="BFGS", options={"gtol": 1e-7}).x
    for _ in range(3):  # BFGS stops at the rounding of differences: finish by Newton's method
        best = best - np.linalg.solve(second(objective, best), first(objective, best))
    effects = found.effects
    assert effects is not None
    assert effects.position is not None
    assert effects.readiness is not None
    assert effects.control is not None
    ours = [effects.position.common, effects.control.values[0], effects.readiness.common]
    assert np.abs(found.scores - best[:n]).max() < 1e-6
    assert np.abs(np.array(ours) - best[n:]).max() < 1e-6
    assert found.objective == pytest.approx(objective(best), abs=1e-8)
    inverse = np.linalg.inv(second(objective, best))
    errors = [effects.position.common_se, float(effects.control.se[0]), effects.readiness.common_se]
    assert errors == pytest.approx(np.sqrt(np.diag(inverse))[n:], rel=0.02)


def first(f: Callable[[Vector], float], z: Vector, h: float = 1e-4) -> Vector:
    """Differentiate, to fourth order."""
    found = np.zeros(len(z))
    for k, step in enumerate(h * np.eye(len(z))):
        near, far = f(z + step) - f(z - step), f(z + 2 * step) - f(z - 2 * step)
        found[k] = (8.0 * near - far) / (12.0 * h)
    return found


def second(f: Callable[[Vector], float], z: Vector, h: float = 1e-3) -> Vector:
    steps = h * np.eye(len(z))
    return np.array([(first(f, z + step) - first(f, z - step)) / (2.0 * h) for step in steps])


def test_what_the_data_lack_changes_nothing() -> None:
    judgments, _ = study(4, ties=False)
    plain = BTL().fit(judgments)
    assert plain.effects is None
    same = BTL(terms=Terms(ties="davidson", position="off")).fit(judgments)
    assert same.scores.tobytes() == plain.scores.tobytes()
    tied, _ = study(4, ties=True)
    assert BTL().fit(tied).effects is None
    assert aggcal.aggregate(tied, method="btl", warn=False).effects is None


def test_probabilities_are_those_of_the_model() -> None:
    judgments, control = study(5, ties=True)
    terms = Terms(ties="davidson", position="on", control=control)
    found = aggcal.aggregate(judgments, method="btl", terms=terms, warn=False)
    chances = found.outcome_probabilities(judgments)
    assert chances.sum(axis=1) == pytest.approx(1.0)
    outcome, weight = np.asarray(judgments.outcome), np.asarray(judgments.weight)
    for column, value in enumerate((1.0, 0.0, 0.5)):
        # At the optimum, ties and left answers are as many as expected, up to shrinkage.
        seen = float(weight[outcome == value].sum())
        assert float(weight @ chances[:, column]) == pytest.approx(seen, rel=0.03)


def test_categories_are_fitted_where_they_were_read() -> None:
    random = np.random.default_rng(6)
    rows = [("u", f"i{a}", f"i{b}", "left" if random.random() < 0.7 else "right", f"g{k % 2}")
            for k, (a, b) in enumerate((a, b) for a in range(6) for b in range(a + 1, 6))
            for _ in range(6)]  # fmt: skip
    columns = dict(
        zip(
            ("annotator", "left", "right", "outcome", "topic"), zip(*rows, strict=True), strict=True
        )
    )
    judgments = aggcal.read_judgments(columns, by="topic")
    found = aggcal.aggregate(judgments, method="btl", warn=False)
    assert found.effects is not None
    assert [column.name for column in found.effects.categories] == ["topic"]
    with pytest.raises(aggcal.AggcalError, match="need a prior"):
        BTL(prior=None).fit(judgments)


def test_refusals_name_what_to_do() -> None:
    judgments, _ = study(7, ties=True)
    with pytest.raises(aggcal.AggcalError, match="no axis"):
        BTL(terms=Terms(bridge=True))
    found = BTL(terms=Terms(ties="davidson")).fit(judgments)
    assert found.quantify("bootstrap", draws=10).uncertainty is not None


def test_no_maximum_is_said() -> None:
    rows = [("u", "a", "b", "left"), ("u", "a", "b", "tie"), ("u", "b", "c", "left")]
    found = BTL(prior=None, terms=Terms(ties="davidson")).fit(aggcal.read_judgments(rows))
    assert any(type(each).__name__ == "NoMaximumWarning" for each in found.warnings)
