"""The paper, reproduced: the cells that can be are, and the page tells the others."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from aggcal.aggregation.links import link
from aggcal.errors import OptionError
from aggcal.io.items import read_item_columns
from aggcal.metrics import kendall
from conftest import MadeOnce
from paper import dots, pictures
from paper.__main__ import main
from paper.dots import judgments_from_ratings, mean_and_median, read_ratings
from paper.pictures import CLEAN, counts
from paper.reading_level import load
from paper.recipe import DOTS, READING_LEVEL, alternating_steps, read_wins, recipe_scores
from paper.reproduce import reproduce
from paper.result import Cell
from paper.rq3 import corrupted, inversions

SEVEN = ("hra-g", "hra-e", "hra-n", "crowd-bt", "crowd-tcv", "btl", "tcv")
BASELINES = ("gppl", "rank-svm", "barcw")
TRUTH = np.arange(50.0, 80.0)


def silent(_: str) -> None:
    """Say nothing."""


@pytest.fixture(scope="module", autouse=True)
def counted_once() -> Iterator[None]:
    """Count the contours of a level once: the counts know nothing of what was run before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dots, "counts", cache(counts))
        yield


@pytest.fixture(scope="module")
def page(made_once: MadeOnce, data_folder: Path) -> Path:
    pytest.importorskip("cv2", reason="needs OpenCV: pip install 'aggcal[reproduce]'")
    assert (data_folder / "dots").is_dir()
    return made_once("page", lambda folder: reproduce("all", folder, quick=True, say=silent))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def consensus(page: Path, name: str) -> np.ndarray:
    return read_item_columns(page / "consensus" / f"{name}.csv", ("score",))[1]["score"]


def counted(data_folder: Path) -> dict[tuple[str, float], np.ndarray]:
    """Contours counted by someone else, with another release of OpenCV."""
    found: dict[tuple[str, float], np.ndarray] = {}
    for row in table(data_folder / "dots" / "model_scores.csv"):
        scores = found.setdefault((row["corruption"], float(row["level"])), np.zeros(30))
        scores[int(row["item"]) - 1] = float(row["s_p"])
    return found


@pytest.mark.slow
def test_the_recipe_gives_the_authors_own_scores(reading_level: Path) -> None:
    study = load(reading_level)
    np.testing.assert_allclose(
        recipe_scores("hra-n", study.wins, READING_LEVEL["hra-n"]),
        study.theirs["hra-n"],
        atol=5.1e-7,
    )


def test_a_cell_is_reproduced_only_within_its_tolerance() -> None:
    def status(printed: str, ours: float, *, comparable: bool = True) -> str:
        row = ("dots", "btl", "recipe", "mse", "model")
        return Cell(*row, ours, printed, comparable=comparable).status

    assert status("0.375", 0.3741) == "reproduced"
    assert status("0.375", 0.3739) == "differs"
    assert status("0.37", 0.3749) == "reproduced"
    assert status("0.37", 0.3751) == "differs"
    assert status("0.375", 0.375, comparable=False) == "not comparable"
    assert status("", 0.375) == "new"


@pytest.mark.slow
def test_every_cell_that_can_be_is_reproduced(page: Path) -> None:
    rows = table(page / "cells.csv")
    assert set(rows[0]) >= {
        "experiment", "method", "metric", "vector", "kind", "published", "ours", "tolerance",
        "status",
    }  # fmt: skip
    assert {row["kind"] for row in rows} == {"recipe", "fitted"}
    assert {row["experiment"] for row in rows} == {"reading-level", "scaled", "dots", "rq3"}
    # Nothing but the paper's own digits may set a tolerance.
    assert {row["tolerance"] for row in rows if row["published"]} == {"0.001", "0.005"}

    def bad(experiment: str, *, vector: str | None = None) -> set[tuple[str, str, str]]:
        return {
            (row["method"], row["metric"], row["vector"])
            for row in rows
            if (row["experiment"], row["kind"]) == (experiment, "recipe")
            and row["published"]
            and row["metric"] != "kl"
            and vector in (None, row["vector"])
            and abs(float(row["ours"]) - float(row["published"])) > float(row["tolerance"]) + 1e-9
        }

    others = {"consensus", "calibrated"}
    crowd_tcv = {("crowd-tcv", m, v) for m in ("tau_b", "wasserstein", "mse") for v in others}
    mse = {(method, "mse", vector) for method in ("hra-e", "btl") for vector in others}
    assert bad("reading-level") == crowd_tcv | mse
    assert {method for method, _, _ in bad("scaled")} == {"crowd-tcv"}
    assert bad("dots", vector="consensus") == {
        ("crowd-tcv", "wasserstein", "consensus"),
        ("crowd-tcv", "mse", "consensus"),
    }
    for row in rows:
        if row["status"] in ("differs", "not comparable"):
            assert row["note"], row
        if row["status"] == "reproduced":
            assert abs(float(row["ours"]) - float(row["published"])) < 0.00501


@pytest.mark.slow
def test_the_uncentred_table_is_what_plain_arithmetic_gives(page: Path, data_folder: Path) -> None:
    isotonic = pytest.importorskip("sklearn.isotonic")
    ours = {
        (row["method"], row["kind"], row["vector"], row["metric"]): float(row["ours"])
        for row in table(page / "cells.csv")
        if row["experiment"] == "dots"
    }

    def expected(values: np.ndarray) -> dict[str, float]:
        return {
            "mse_uncentred": float(np.mean((values - TRUTH) ** 2)),
            "mse": float(np.var(values - TRUTH)),
            # Samples of one size: the distance is that of their sorted values.
            "wasserstein_uncentred": float(np.abs(np.sort(values) - TRUTH).mean()),
        }

    damaged = [s for (kind, _), s in counted(data_folder).items() if kind != "LOCAL_NOISE"]
    error = ours["btl", "recipe", "model", "mse_uncentred"]
    model = min(damaged, key=lambda s: abs(expected(s)["mse_uncentred"] - error))
    runs = [(method, kind) for method in SEVEN for kind in ("recipe", "fitted")]
    for method, kind in runs + [(method, "fitted") for method in BASELINES]:
        scores = consensus(page, f"dots-{method}-{kind}")
        fit = isotonic.IsotonicRegression().fit_transform(scores, model)
        for vector, values in (("consensus", scores), ("model", model), ("calibrated", fit)):
            for metric, value in expected(values).items():
                found = ours[method, kind, vector, metric]
                assert found == pytest.approx(value, rel=1e-6), (method, kind, vector, metric)


@pytest.mark.slow
def test_rank_beats_rate_at_every_level_of_the_page(page: Path) -> None:
    found = {
        (row["method"], row["corruption"], row["level"], row["vector"]): float(row["tau_b"])
        for row in table(page / "levels.csv")
    }
    places = {place[:3] for place in found}
    assert {corruption for _, corruption, _ in places} == {CLEAN, *pictures.CORRUPTIONS}
    for place in places:
        assert found[*place, "rank"] > found[*place, "rate"], place


@pytest.mark.slow
def test_the_page_is_whole(page: Path) -> None:
    html, text = (page / "index.html").read_text(), (page / "index.md").read_text()
    wanted = [f"RQ{k}" for k in range(1, 7)]
    wanted += [f"Figure {k}," for k in range(1, 13)] + [f"Table {k}," for k in range(1, 5)]
    wanted += ["all centred", "nothing centred", "Rank-SVM", "BARCW", "GPPL", "8.658", "4236.16"]
    for words in wanted:
        assert words in html, words
        assert words in text, words
    assert "://" not in html.replace("http://www.w3.org", "")
    drawn = {path.name for path in (page / "figures").iterdir()}
    for method in SEVEN:
        assert f"violin-{method}.svg" in drawn
        for corruption in pictures.CORRUPTIONS:
            assert f"radar-{method}-{corruption.lower()}.svg" in drawn
    assert drawn >= {"rq3-published.svg", "rq3-truth-paper.svg", "corruption-whiteout.png"}


class Quoted:
    """The numbers of a run, as the page's static text quotes them."""

    def __init__(self, page: Path) -> None:
        self.found: dict[str, dict[str, float]] = {}
        for row in table(page / "cells.csv"):
            place = " ".join(row[name] for name in ("experiment", "kind", "metric", "vector"))
            self.found.setdefault(place, {})[row["method"]] = float(row["ours"])

    def span(self, place: str, methods: tuple[str, ...] = SEVEN, digits: int = 3) -> str:
        """Write the lowest and the highest number of some methods."""
        values = [self.found[place][method] for method in methods]
        return f"{min(values):,.{digits}f} to {max(values):,.{digits}f}"

    def wins(self, where: str, metrics: str, than: str) -> str:
        """Count the methods whose calibrated scores are better than another vector."""
        *first, last = (
            str(sum(self._better(f"{where} {metric}", m, than, m) for m in SEVEN))
            for metric in metrics.split()
        )
        return f"{', '.join(first)} and {last}" if first else last

    def ahead(self, metric: str, others: tuple[str, ...]) -> str:
        """Count the HRA methods whose calibrated scores are better than those of all others."""
        places = [f"reading-level {kind} {metric}" for kind in ("recipe", "fitted")]
        one, two = (
            sum(all(self._better(place, m, "calibrated", o) for o in others) for m in SEVEN[:3])
            for place in places
        )
        return f"{one} and {two} of 3"

    def _better(self, place: str, method: str, than: str, other: str) -> bool:
        mine = self.found[f"{place} calibrated"][method]
        gap = mine - self.found[f"{place} {than}"][other]
        return gap > 0.0 if place.endswith(("tau_a", "tau_b", "spearman")) else gap < 0.0


@pytest.mark.slow
def test_the_answers_quote_what_every_run_gives(page: Path, data_folder: Path) -> None:
    run = Quoted(page)
    hra, simple, others = SEVEN[:3], ("btl", "tcv"), SEVEN[3:]
    reading = load(data_folder / "reading_level")
    answers = read_ratings(data_folder / "dots" / "ratings.csv")
    ratings = [rating for *_, rating in answers]
    mean, median = (kendall(order, TRUTH)[1] for order in mean_and_median(answers, 30))
    wins = read_wins(data_folder / "dots" / "judgments.csv", dots.IDS, "entry")
    participants = {who for who, *_ in answers}
    reliability = alternating_steps(wins, link("logistic"), DOTS["hra-g"])[1]
    baselines = ", ".join(
        f"{name} {run.found['dots fitted tau_b consensus'][method]:.3f}"
        for name, method in zip(("GPPL", "Rank-SVM", "BARCW"), BASELINES, strict=True)
    )
    read, recipe = "reading-level recipe", "dots recipe"
    said = [
        f"the model in {run.wins(read, 'wasserstein ks mse', 'model')} of 7 methods",
        f"the consensus in {run.wins(read, 'wasserstein ks mse', 'consensus')} (by Wasserstein",
        f"MSE {run.found[read + ' mse model']['hra-g']:.2f}) and a constant has "
        f"{np.var(reading.truth):.3f}; the calibrated scores have "
        + run.span(read + " mse calibrated"),
        f"the model in {run.wins(read, 'tau_b tau_a spearman', 'model')} of 7 methods by tau-b",
        f"below the consensus's in {run.wins('reading-level fitted', 'mse', 'consensus')} of 7",
        f"{run.span(read + ' tau_b consensus', hra)}, that of BTL and TCV "
        + run.span(read + " tau_b consensus", simple),
        f"properly, {run.span('reading-level fitted tau_b consensus', hra)} and "
        + run.span("reading-level fitted tau_b consensus", simple),
        f"{run.ahead('wasserstein', others)} HRA methods beat all four others by Wasserstein",
        f"{run.ahead('ks', others)} by KS",
        f"{run.ahead('mse', simple)} beat both BTL and TCV by MSE",
        f"as published in {run.wins('scaled recipe', 'wasserstein ks', 'scaled')} of 7",
        f"fitted in {run.wins('scaled fitted', 'wasserstein ks', 'scaled')} of 7",
        f"HRA-E's consensus has {run.found[recipe + ' tau_b consensus']['hra-e']:.3f}",
        f"tau-b of {mean:.3f} with the truth, the consensus of the rankings (recipe) "
        + run.span(recipe + " tau_b consensus"),
        f"({min(ratings):g} to {max(ratings):g} dots)",
        f"the median rating has {median:.3f}",
        f"an MSE of {run.span(recipe + ' mse_uncentred consensus', digits=0)}, the baselines "
        + run.span("dots fitted mse_uncentred consensus", BASELINES, 0),
        f"centred, {run.span(recipe + ' mse consensus', digits=2)} and "
        + run.span("dots fitted mse consensus", BASELINES, 2),
        f"In order (tau-b): {baselines}; the seven methods, fitted, "
        + run.span("dots fitted tau_b consensus"),
        (
            f"{len(reading.wins.winner):,} of {reading.wins.n_annotators} annotators on "
            f"{len(reading.ids)} documents"
        ),
        (
            f"{wins.n_annotators:,} answers of the {len(participants)} participants "
            f"({len(wins.winner):,} judgments)"
        ),
        f"between {reliability.min():.3f} and {reliability.max():.3f}",
    ]
    text = (page / "index.md").read_text()
    assert [words for words in said if words not in text] == []


@pytest.mark.slow
def test_a_part_is_the_same_as_in_the_whole(page: Path, tmp_path: Path) -> None:
    reproduce("dots", tmp_path, quick=True, say=silent)
    made = [path for path in tmp_path.rglob("*") if path.parent.name in ("consensus", "figures")]
    assert len(made) > 40
    for path in [*made, tmp_path / "levels.csv"]:
        assert path.read_bytes() == (page / path.relative_to(tmp_path)).read_bytes(), path.name


@pytest.mark.slow
def test_without_opencv_the_page_says_so(
    data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert data_folder.is_dir()

    def missing() -> None:
        raise OptionError("counting dots in pictures needs OpenCV.")

    monkeypatch.setattr(pictures, "opencv", missing)
    monkeypatch.setattr(dots, "counts", counts)
    reproduce("dots", tmp_path, quick=True, say=silent)
    assert not (tmp_path / "levels.csv").exists()
    for name in ("index.html", "index.md"):
        assert "counting dots in pictures needs OpenCV" in (tmp_path / name).read_text()


def test_contours_are_counted_as_elsewhere(data_folder: Path) -> None:
    pytest.importorskip("cv2", reason="needs OpenCV: pip install 'aggcal[reproduce]'")
    elsewhere = counted(data_folder)
    for corruption, level in (("BLUR", 2.0), ("LOCAL_BLUR", 0.5), ("WHITEOUT", 0.8)):
        found = counts(data_folder / "dots", corruption, level)
        np.testing.assert_array_equal(found, elsewhere[corruption, level])
    clean = counts(data_folder / "dots", CLEAN, 0.0)
    assert np.abs(clean - TRUTH).max() < 2.0


def test_ratings_have_the_order_that_is_known_of_them(data_folder: Path) -> None:
    from scipy.stats import kendalltau

    answers = read_ratings(data_folder / "dots" / "ratings.csv")
    mean, median = mean_and_median(answers, 30)
    assert kendalltau(mean, TRUTH).statistic == pytest.approx(0.834, abs=5e-4)
    known = table(data_folder / "dots" / "items.csv")
    np.testing.assert_allclose(mean, [float(row["mean_rating"]) for row in known], atol=1e-6)
    np.testing.assert_array_equal(median, [float(row["median_rating"]) for row in known])
    # As many as the rankings give: every pair of every question.
    assert judgments_from_ratings(answers).n_judgments == 8700


def test_corruption_has_the_wanted_inversions(random: np.random.Generator) -> None:
    for target in (0, 1, 17, 45):
        assert inversions(corrupted(np.arange(10.0), target, random)) == target


def test_an_unknown_experiment_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["tea-leaves", "-o", "out"])
    assert ended.value.code == 2
    assert "tea-leaves" in capsys.readouterr().err


def test_a_file_of_the_user_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "index.html").write_text("mine")
    assert main(["rq3", "-o", str(tmp_path)]) == 2
    assert "index.html" in capsys.readouterr().err
    assert (tmp_path / "index.html").read_text() == "mine"
