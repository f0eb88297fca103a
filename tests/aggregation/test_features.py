"""The baselines: their optima, their features, and what they refuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

import aggcal
from aggcal._core.arrays import FloatArray, sums
from aggcal.data.features import Kernel
from aggcal.errors import FeatureError, InputError, KernelWarning, OptionError, TableError
from aggcal.simulation import Simulation
from conftest import Command

NAMES = ("gppl", "rank-svm", "barcw")
KERNEL = Kernel(1.7, 0.8)


def tau(scores: FloatArray, truth: Any) -> float:
    return float(stats.kendalltau(scores, truth).statistic)


def plain_loss(judgments: aggcal.Judgments, f: FloatArray) -> FloatArray:
    """−log-likelihood of each judgment, straight from SciPy's normal distribution."""
    gap = (f[judgments.left] - f[judgments.right]) / np.sqrt(2.0)
    p = judgments.outcome
    both = p * stats.norm.logcdf(gap) + (1.0 - p) * stats.norm.logcdf(-gap)
    return np.asarray(-judgments.weight * both)


@pytest.fixture(scope="module")
def small() -> aggcal.Judgments:
    """Twelve items, ties and weights among the judgments."""
    random = np.random.default_rng(5)
    left, right = random.integers(0, 6, 150), random.integers(6, 12, 150)
    return aggcal.read_judgments(
        {
            "annotator": random.integers(0, 5, 150),
            "left": left,
            "right": right,
            "outcome": random.choice([0.0, 0.5, 1.0, 0.3], 150),
            "weight": random.choice([1.0, 2.5], 150),
        }
    )


@pytest.fixture(scope="module")
def places() -> FloatArray:
    return np.random.default_rng(6).normal(size=(12, 2))


@pytest.fixture(scope="module")
def features(small: aggcal.Judgments, places: FloatArray) -> aggcal.Features:
    return aggcal.Features(small.item_ids, places, ("x", "y"))


# ---------------------------------------------------------------------------- gppl


@pytest.mark.parametrize("given", ["features", "identity"])
def test_gppl_agrees_with_an_independent_solver(
    given: str, small: aggcal.Judgments, features: aggcal.Features
) -> None:
    """The same objective in f itself, with an inverse of K, by SciPy."""
    if given == "features":
        kernel = Kernel(1.7, 0.8)
        found = aggcal.methods.GPPL(features, kernel).fit(small)
        scaled = features.of(small.item_ids)
        apart = np.square(scaled[:, None] - scaled[None]).sum(axis=2)
        inverse = np.linalg.inv(1.7 * (np.exp(-apart / (2 * 0.8**2)) + 1e-8 * np.eye(12)))
    else:
        found = aggcal.methods.GPPL("identity", Kernel(1.7)).fit(small)
        inverse = np.eye(12) / 1.7

    def value(f: FloatArray) -> float:
        return float(plain_loss(small, f).sum() + 0.5 * f @ inverse @ f)

    best = minimize(value, np.zeros(12), method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(found.scores, best.x, atol=2e-5)
    assert found.objective == pytest.approx(best.fun, abs=1e-7)
    assert found.log_likelihood == pytest.approx(-plain_loss(small, found.scores).sum())
    assert found.convergence is not None
    assert found.convergence.converged
    assert found.convergence.gradient_norm <= 1e-10


def test_with_the_identity_kernel_gppl_is_a_thurstone_model_with_a_prior(
    small: aggcal.Judgments,
) -> None:
    """f = √2·s: Φ((f_i − f_j)/√2) = Φ(s_i − s_j), and the prior variance of s is half of f's."""
    found = aggcal.methods.GPPL("identity", Kernel(1.7)).fit(small)
    plain = aggcal.methods.TCV(prior=aggcal.Prior(np.sqrt(1.7 / 2.0), 0.5)).fit(small)
    np.testing.assert_allclose(found.scores, np.sqrt(2.0) * plain.scores, atol=1e-8)


def squared_distances(x: FloatArray) -> FloatArray:
    return np.asarray(np.square(x[:, None] - x[None]).sum(axis=2))


def information(judgments: aggcal.Judgments, f: FloatArray) -> FloatArray:
    """Minus the second derivatives of the log-likelihood, by finite differences."""

    def gradient(x: FloatArray) -> FloatArray:
        gap = (x[judgments.left] - x[judgments.right]) / np.sqrt(2.0)
        mills = [np.exp(stats.norm.logpdf(s) - stats.norm.logcdf(s)) for s in (gap, -gap)]
        p = judgments.outcome
        pull = judgments.weight * (p * mills[0] - (1.0 - p) * mills[1]) / np.sqrt(2.0)
        n = judgments.n_items
        return sums(judgments.left, pull, n) - sums(judgments.right, pull, n)

    steps = 1e-5 * np.eye(judgments.n_items)
    return np.array([(gradient(f - step) - gradient(f + step)) / 2e-5 for step in steps])


def smooth_study(
    random: np.random.Generator,
) -> tuple[aggcal.Judgments, aggcal.Features, FloatArray]:
    """Sixty items on a line whose score is a wave; each is judged four times."""
    x = np.linspace(-2.0, 2.0, 60)
    latent = 2.0 * np.sin(2.0 * x)
    i = np.repeat(np.arange(60), 2)
    j = (i + random.integers(1, 60, len(i))) % 60
    won = random.random(len(i)) < stats.norm.cdf((latent[i] - latent[j]) / np.sqrt(2.0))
    names = np.array([f"item {k:02}" for k in range(60)], dtype=object)
    judgments = aggcal.read_judgments(
        {
            "annotator": random.integers(0, 5, len(i)),
            "winner": names[np.where(won, i, j)],
            "loser": names[np.where(won, j, i)],
        }
    )
    return judgments, aggcal.Features(names, x[:, None], ("x",)), latent


@pytest.mark.parametrize("given", ["features", "identity"])
def test_the_chosen_kernel_has_the_largest_evidence(
    given: str, random: np.random.Generator
) -> None:
    """The Laplace evidence written out, with log |I + KW|, for kernels beside the chosen one."""
    judgments, features, _ = smooth_study(random)
    choice: Any = features if given == "features" else "identity"
    squares, whole = squared_distances(features.of(judgments.item_ids)), np.eye(judgments.n_items)

    def evidence(logarithms: FloatArray) -> float:
        kernel = Kernel(*np.exp(logarithms))
        fit, prior = aggcal.methods.GPPL(choice, kernel).fit(judgments), kernel.matrix(squares)
        penalty = 0.5 * fit.scores @ np.linalg.inv(prior) @ fit.scores
        curvature = information(judgments, fit.scores)
        _, log_det = np.linalg.slogdet(whole + prior @ curvature)
        assert fit.log_likelihood is not None
        return float(fit.log_likelihood - penalty - 0.5 * log_det)

    chosen = aggcal.methods.GPPL(choice).fit(judgments)
    assert chosen.kernel is not None
    assert not [w for w in chosen.warnings if isinstance(w, KernelWarning)]
    point = chosen.kernel.logarithms
    for step in 0.1 * np.eye(len(point)):
        here, more, less = (evidence(point + sign * step) for sign in (0.0, 1.0, -1.0))
        assert here > max(more, less)


def test_an_open_ended_kernel_is_called_out() -> None:
    """Every pair once each way round: the less the scores vary, the better."""
    rows = [("u", f"{a}", f"{b}") for a in range(6) for b in range(6) if a != b]
    found = aggcal.aggregate(rows, "gppl", features="identity", warn=False)
    said = [w for w in found.warnings if isinstance(w, KernelWarning)]
    assert len(said) == 1
    assert "do not determine the signal variance" in str(said[0])
    np.testing.assert_allclose(found.scores, 0.0, atol=1e-10)


# ---------------------------------------------------------------------------- rank-svm


@pytest.mark.parametrize("given", ["features", "identity"])
def test_rank_svm_agrees_with_an_independent_solver(
    given: str, small: aggcal.Judgments, features: aggcal.Features
) -> None:
    x = features.of(small.item_ids) if given == "features" else np.eye(12)
    found = aggcal.methods.RankSVM(features if given == "features" else "identity").fit(small)

    def value(w: FloatArray) -> float:
        gap, p = (x[small.left] - x[small.right]) @ w, small.outcome
        short = p * np.maximum(0.0, 1.0 - gap) ** 2 + (1.0 - p) * np.maximum(0.0, 1.0 + gap) ** 2
        return float(0.5 * w @ w + small.weight @ short)

    best = minimize(value, np.zeros(x.shape[1]), method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(found.scores, x @ best.x, atol=1e-5)
    assert found.objective == pytest.approx(best.fun, rel=1e-9)


def test_one_judgment_is_enough_for_every_baseline() -> None:
    for method in NAMES:
        found = aggcal.aggregate([("u", "a", "b")], method, features="identity", warn=False)
        assert found.items["item"].tolist() == ["a", "b"]


# ---------------------------------------------------------------------------- barcw


@pytest.fixture(scope="module")
def crowd() -> tuple[aggcal.Judgments, FloatArray]:
    """Half of the twenty annotators ("spam ...") answer at random."""
    random = np.random.default_rng(11)
    latent = random.normal(size=25)
    who = np.repeat(np.arange(20), 40)
    i = random.integers(0, 25, len(who))
    j = (i + random.integers(1, 25, len(who))) % 25
    chance = stats.norm.cdf(2.0 * (latent[i] - latent[j]) / np.sqrt(2.0))
    won = random.random(len(who)) < np.where(who < 10, chance, 0.5)
    items = np.array([f"{k:02}" for k in range(25)], dtype=object)
    people = np.array([f"{'good' if u < 10 else 'spam'} {u:02}" for u in range(20)], dtype=object)
    judgments = aggcal.read_judgments(
        {
            "annotator": people[who],
            "winner": items[np.where(won, i, j)],
            "loser": items[np.where(won, j, i)],
        }
    )
    return judgments, latent


def test_barcw_hardly_listens_to_those_who_guess(
    crowd: tuple[aggcal.Judgments, FloatArray],
) -> None:
    judgments, latent = crowd
    found = aggcal.aggregate(judgments, "barcw", features="identity", warn=False)
    spam = np.array([name.startswith("spam") for name in found.annotator_ids])
    assert found.reliabilities[spam].max() < 0.1
    assert found.reliabilities[~spam].min() > 0.9
    assert ((found.reliabilities > 0.0) & (found.reliabilities <= 1.0)).all()
    assert found.random_reliability == 0.0
    assert found.reversed_ids == []
    plain = aggcal.aggregate(judgments, "gppl", features="identity", warn=False)
    assert tau(found.scores, latent) > tau(plain.scores, latent) + 0.02
    assert (plain.reliabilities == 1.0).all()


def test_barcw_reaches_the_optimum_of_its_whole_objective(
    crowd: tuple[aggcal.Judgments, FloatArray],
) -> None:
    judgments, _ = crowd
    variance = 2.0
    found = aggcal.methods.BARCW("identity", Kernel(variance)).fit(judgments)
    n, m = judgments.n_items, judgments.n_annotators

    def value(theta: FloatArray) -> float:
        f, share = theta[:n], 1.0 / (1.0 + np.exp(-theta[n]))
        own = np.bincount(judgments.annotator, plain_loss(judgments, f), m)
        given = np.bincount(judgments.annotator, judgments.weight, m)
        chance = np.logaddexp(np.log(share) - own, np.log(1.0 - share) - given * np.log(2.0))
        prior = 0.5 * f @ f / variance - np.log(share) - np.log(1.0 - share)
        return float(prior - chance.sum())

    start = np.append(found.scores, 0.0)
    best = minimize(value, start, method="BFGS", options={"gtol": 1e-6})
    np.testing.assert_allclose(found.scores, best.x[:n], atol=1e-4)
    assert found.objective == pytest.approx(best.fun, abs=1e-6)
    record = found.convergence
    assert record is not None
    assert record.converged
    assert record.gradient_norm <= 1e-8
    share = 1.0 / (1.0 + np.exp(-best.x[n]))
    losses = np.bincount(judgments.annotator, plain_loss(judgments, best.x[:n]), m)
    guesses = np.log(2.0) * np.bincount(judgments.annotator, judgments.weight, m)
    odds = share / (1.0 - share) * np.exp(guesses - losses)
    np.testing.assert_allclose(found.reliabilities, odds / (1.0 + odds), atol=1e-4)


# ---------------------------------------------------------------------------- all three


@pytest.mark.parametrize("method", NAMES)
def test_the_same_every_time_and_in_any_order(
    method: str, small: aggcal.Judgments, features: aggcal.Features
) -> None:
    one = aggcal.aggregate(small, method, features=features, warn=False)
    again = aggcal.aggregate(small, method, features=features, warn=False)
    np.testing.assert_array_equal(one.scores, again.scores)
    np.testing.assert_array_equal(one.reliabilities, again.reliabilities)
    back = slice(None, None, -1)
    table = {
        "item": features.item_ids[back],
        "y": 100.0 + 7.0 * features.matrix[back, 1],
        "x": features.matrix[back, 0],
        "constant": np.ones(12),
    }
    other = aggcal.aggregate(small, method, features=table, warn=False)
    np.testing.assert_allclose(other.scores, one.scores, atol=1e-6)


def test_uncertainty_of_each(study: Simulation) -> None:
    judgments = aggcal.read_judgments(study.judgments)
    machine = aggcal.aggregate(judgments, "rank-svm", features="identity", warn=False)
    assert machine.uncertainty is None
    drawn = machine.quantify("bootstrap", draws=10)
    assert drawn.uncertainty is not None
    assert (drawn.uncertainty.se > 0.0).all()
    process = aggcal.aggregate(judgments, "gppl", features="identity", warn=False)
    assert process.order_probability(*process.items["item"][[0, -1]]) > 0.99
    with pytest.raises(OptionError, match="cannot place single items"):
        process.place(aggcal.read_judgments([("u", "new", judgments.item_ids[0])]))


# ---------------------------------------------------------------------------- refusals


@pytest.mark.parametrize("method", NAMES)
def test_without_features_they_refuse_to_run(method: str) -> None:
    with pytest.raises(OptionError, match="features=FILE, or features='identity'"):
        aggcal.aggregate([("u", "a", "b")], method)


@pytest.mark.parametrize("method", ["hra-g", "btl", "crowd-bt"])
def test_features_for_a_method_without_use_for_them_are_refused(method: str) -> None:
    with pytest.raises(OptionError, match=f"{method} does not use features"):
        aggcal.aggregate([("u", "a", "b")], method, features="identity")
    with pytest.raises(OptionError, match="give them to BTL itself"):
        aggcal.aggregate([("u", "a", "b")], aggcal.methods.BTL(), features="identity")


BAD_FEATURES: dict[str, tuple[Any, type[InputError], str]] = {
    "item without features": ([("a", 1.0)], FeatureError, "1 item of the judgments has no row"),
    "no number": ([("a", 1.0), ("b", "big")], FeatureError, "row 2, item 'b': the feature 'x1'"),
    "blank": ([("a", 1.0, 2.0), ("b", 1.0, None)], FeatureError, "'x2' is missing"),
    "infinite": ([("a", 1.0), ("b", "inf")], FeatureError, "not a finite number"),
    "too large": ([("a", 1.0), ("b", 1e60)], FeatureError, "is too large"),
    "twice": ([("a", 1.0), ("b", 2.0), ("a", 3.0)], FeatureError, "duplicate item 'a'"),
    "no item column": ({"code": ["a"], "x": [1.0]}, TableError, "'item' missing"),
    "no other column": ({"item": ["a", "b"]}, TableError, "no column besides 'item'"),
    "all alike": ([("a", 1.0), ("b", 1.0)], FeatureError, "tell none apart"),
}


@pytest.mark.parametrize("name", list(BAD_FEATURES))
def test_bad_features_are_refused_in_words(name: str) -> None:
    given, kind, said = BAD_FEATURES[name]
    with pytest.raises(kind, match=said):
        aggcal.aggregate([("u", "a", "b")], "gppl", features=given)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: aggcal.methods.GPPL("none"),  # type: ignore[arg-type]  # on purpose
        lambda: aggcal.methods.RankSVM("identity", cost=0.0),
        lambda: Kernel(0.0),
        lambda: aggcal.methods.GPPL("identity", KERNEL).fit(
            aggcal.read_judgments([("u", "a", "b")])
        ),
        lambda: aggcal.aggregate([("u", "a", "b")], "gppl", features="identity", prior=None),
    ],
)
def test_impossible_options_are_refused(wrong: Any) -> None:
    with pytest.raises(OptionError):
        wrong()


def test_too_many_items_for_a_matrix_are_refused() -> None:
    n = 3001
    codes = np.arange(n - 1, dtype=np.int32)
    judgments = aggcal.Judgments.of_codes(np.zeros(n - 1, dtype=np.int32), codes, codes + 1)
    with pytest.raises(OptionError, match="up to 3,000 items"):
        aggcal.methods.GPPL("identity").fit(judgments)


def test_column_names_mean_nothing_to_the_reader() -> None:
    table = {"Item": ["a", "b"], "rowid": [1, 2], '"; DROP': [3, 4], "_blank": [5, 6]}
    found = aggcal.read_features(table)
    assert found.names == ("rowid", '"; DROP', "_blank")
    np.testing.assert_array_equal(found.matrix, [[1, 3, 5], [2, 4, 6]])


# ---------------------------------------------------------------------------- the command


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "judgments.csv").write_text(
        "annotator,winner,loser\nann,c,a\nann,b,a\nbob,c,b\nbob,a,b\neve,c,a\n"
    )
    (tmp_path / "scores.csv").write_text("item,score\na,1\nb,2\nc,2.5\n")
    (tmp_path / "features.csv").write_text("item,length,rare words\na,1,0.5\nb,2,0.1\nc,3,0.4\n")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--method", "gppl"), "--features identity"),
        (("--features", "features.csv"), "hra-g does not use features"),
        (("--method", "barcw", "--features", "nowhere.csv"), "nowhere.csv: no such file"),
        (("--method", "gppl", "--features", "text.csv"), "text.csv: line 3, item 'b': the feature"),
        (("--method", "gppl", "--features", "index.csv"), "a column has no name"),
        (("--method", "gppl", "--features", "features.csv", "--prior", "auto"), "leave prior out"),
    ],
)
def test_the_command_says_what_to_do(
    options: tuple[str, ...], said: str, files: Path, command: Command
) -> None:
    (files / "text.csv").write_text("item,length\na,1\nb,long\nc,3\n")
    (files / "index.csv").write_text(",item,length\n0,a,1\n1,b,2\n2,c,3\n")
    done = command("aggregate", "judgments.csv", *options, "-o", "out", "--quiet")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (files / "out").exists()
