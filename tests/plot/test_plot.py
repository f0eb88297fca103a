"""Figures: what is drawn is what was found, for few items and for many, whatever their ids."""

from __future__ import annotations

import builtins
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.collections import FillBetweenPolyCollection, LineCollection, PathCollection

import aggcal
from aggcal import plot
from aggcal._core.arrays import FloatArray
from aggcal.errors import OptionError
from aggcal.plot import MOST_LABELS
from aggcal.simulation import simulate

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    yield
    plt.close("all")


def studied(items: int, **options: Any) -> tuple[aggcal.Judgments, aggcal.Assessment]:
    made = simulate(items=items, annotators=9, judgments=20 * items, reversed_share=0.2, seed=5)
    judgments = aggcal.read_judgments(made.judgments)
    return judgments, aggcal.assess(judgments, made.scores, warn=False, **options)


@pytest.fixture(scope="module")
def small() -> tuple[aggcal.Judgments, aggcal.Assessment]:
    return studied(12)


@pytest.fixture(scope="module")
def large() -> tuple[aggcal.Judgments, aggcal.Assessment]:
    return studied(700)


def of(assessment: aggcal.Assessment) -> tuple[aggcal.Consensus, aggcal.Calibration]:
    assert assessment.consensus is not None
    assert assessment.calibration is not None
    return assessment.consensus, assessment.calibration


def drawn(ax: Axes, kind: type) -> list[Any]:
    # A band and dots are collections of the same family: exactly this kind, no other.
    return [part for part in ax.collections if type(part) is kind]


def segments(ax: Axes) -> FloatArray:
    (lines,) = drawn(ax, LineCollection)
    return np.array(lines.get_segments())


def texts(labels: list[Any]) -> list[str]:
    return [text.get_text() for text in labels]


def test_consensus_draws_every_item_with_its_interval(
    small: tuple[aggcal.Judgments, aggcal.Assessment],
) -> None:
    consensus, _ = of(small[1])
    known, order = consensus.uncertainty, consensus.order
    assert known is not None
    ax = plot.consensus(consensus)
    (dots,) = drawn(ax, PathCollection)
    np.testing.assert_array_equal(dots.get_offsets()[:, 0], consensus.scores[order])
    np.testing.assert_allclose(segments(ax)[:, 0, 0], known.low[order])
    np.testing.assert_allclose(segments(ax)[:, 1, 0], known.high[order])
    assert texts(ax.get_yticklabels()) == list(consensus.item_ids[order])
    assert ax.yaxis_inverted()


def test_many_items_have_a_band_and_few_labels(
    large: tuple[aggcal.Judgments, aggcal.Assessment],
) -> None:
    consensus, _ = of(large[1])
    known, order = consensus.uncertainty, consensus.order
    assert known is not None
    ax = plot.consensus(consensus)
    (dots,) = drawn(ax, PathCollection)
    assert len(dots.get_offsets()) == 700
    (band,) = drawn(ax, FillBetweenPolyCollection)
    reached = set(band.get_paths()[0].vertices[:, 0].tolist())
    assert set(np.minimum(known.low, consensus.scores).tolist()) <= reached
    assert set(np.maximum(known.high, consensus.scores).tolist()) <= reached
    shown = texts(ax.get_yticklabels())
    assert len(shown) == MOST_LABELS
    assert shown[0] == consensus.item_ids[order[0]]
    assert shown[-1] == consensus.item_ids[order[-1]]


def test_without_uncertainty_there_are_only_dots() -> None:
    _, assessment = studied(8, uncertainty=None)
    ax = plot.consensus(of(assessment)[0])
    assert not drawn(ax, LineCollection)


def test_reliabilities_have_their_intervals_and_reversed_ones_are_red(
    small: tuple[aggcal.Judgments, aggcal.Assessment],
) -> None:
    consensus, _ = of(small[1])
    table = consensus.annotator_columns()
    ax = plot.reliabilities(consensus)
    (dots,) = drawn(ax, PathCollection)
    np.testing.assert_array_equal(dots.get_offsets()[:, 0], table["reliability"])
    np.testing.assert_array_equal(segments(ax)[:, 0, 0], table["reliability_low"])
    np.testing.assert_array_equal(segments(ax)[:, 1, 0], table["reliability_high"])
    red = (dots.get_facecolors() == mpl.colors.to_rgba("#d1242f")).all(axis=1)
    assert list(table["annotator"][red]) == [
        who for who in table["annotator"] if who in consensus.reversed_ids
    ]
    assert red.any()


def test_calibration_has_a_dot_an_item_and_a_step_a_block(
    small: tuple[aggcal.Judgments, aggcal.Assessment],
) -> None:
    _, calibration = of(small[1])
    ax = plot.calibration(small[1])
    (model,) = drawn(ax, PathCollection)
    np.testing.assert_array_equal(model.get_offsets()[:, 1], calibration.model)
    moves, steps = (np.array(lines.get_segments()) for lines in drawn(ax, LineCollection))
    assert len(moves) == 12
    assert len(steps) == calibration.blocks
    # The steps meet, cover all items, and are as wide as their blocks.
    np.testing.assert_array_equal(steps[1:, 0, 0], steps[:-1, 1, 0])
    np.testing.assert_array_equal(
        steps[:, 1, 0] - steps[:, 0, 0], np.bincount(calibration.block)[1:]
    )
    for (begin, height), (end, _) in steps:
        inside = calibration.calibrated[round(begin - 0.5) : round(end - 0.5)]
        np.testing.assert_array_equal(inside, height)
    (band,) = drawn(ax, FillBetweenPolyCollection)
    assert calibration.low is not None
    assert set(calibration.low.tolist()) <= set(band.get_paths()[0].vertices[:, 1].tolist())


def test_items_in_only_one_table_are_left_out_of_the_figure() -> None:
    order = {"a": 5, "no score": 4, "b": 3, "c": 2}
    found = aggcal.calibrate({"a": 1.0, "b": 3.0, "c": 2.0, "new": 9.0}, order, warn=False)
    ax = plot.calibration(found)
    (model,) = drawn(ax, PathCollection)
    assert model.get_offsets().tolist() == [[1, 1.0], [3, 3.0], [4, 2.0]]
    assert len(drawn(ax, LineCollection)[1].get_segments()) == found.blocks


def test_calibrators_that_do_not_pool_have_dots(
    small: tuple[aggcal.Judgments, aggcal.Assessment],
) -> None:
    consensus, calibration = of(small[1])
    scores = dict(zip(calibration.item_ids, calibration.model.tolist(), strict=True))
    found = aggcal.calibrate(scores, consensus, method="fused", warn=False)
    _, fused = drawn(plot.calibration(found), PathCollection)
    np.testing.assert_array_equal(fused.get_offsets()[:, 1], found.calibrated)


def test_without_scores_there_is_no_calibration_to_draw() -> None:
    with pytest.raises(OptionError, match="nothing was calibrated"):
        plot.calibration(aggcal.assess([("ann", "a", "b")], warn=False))


@pytest.mark.parametrize("size", ["exact", "grouped"])
def test_the_matrix_counts_every_judgment_from_both_sides(
    large: tuple[aggcal.Judgments, aggcal.Assessment], size: str
) -> None:
    judgments = studied(50)[0] if size == "exact" else large[0]
    counts = plot.comparisons(judgments).images[0].get_array()
    assert counts is not None
    whole = np.ma.filled(counts, 0.0)
    assert whole.shape == ((50, 50) if size == "exact" else (400, 400))
    np.testing.assert_array_equal(whole, whole.T)
    assert whole.sum() == 2 * judgments.n_judgments


FIGURES: dict[str, Callable[..., Axes]] = {name: getattr(plot, name) for name in plot.__all__}


def subject(name: str, judgments: aggcal.Judgments, result: aggcal.Assessment) -> Any:
    if name == "comparisons":
        return judgments
    if name == "methods":
        return aggcal.compare_methods(judgments, ["btl"], folds=2)
    return result if name == "calibration" else result.consensus


NEEDS = {"comparisons": "judgments", "calibration": "calibration"}


def test_every_figure_takes_every_result_that_has_its_part(
    small: tuple[aggcal.Judgments, aggcal.Assessment],
) -> None:
    judgments, result = small
    consensus, calibration = of(result)
    order: Any = dict(zip(consensus.item_ids, consensus.scores, strict=True))
    results: dict[str, tuple[Any, set[str]]] = {
        "assessment": (result, {"judgments", "consensus", "calibration"}),
        "consensus": (consensus, {"judgments", "consensus"}),
        "calibration": (calibration, {"judgments", "consensus", "calibration"}),
        "calibrated alone": (
            aggcal.calibrate(order, order, warn=False),
            {"calibration"},
        ),
        "suggestions": (aggcal.suggest_pairs(judgments, n=2), {"judgments", "consensus"}),
        "comparison": (subject("methods", *small), {"judgments", "methods"}),
        "simulation": (simulate(items=5, annotators=3, judgments=40, seed=1), {"judgments"}),
        "judgments": (judgments, {"judgments"}),
        "rows": ([("ann", "a", "b"), ("bob", "b", "a")], {"judgments"}),
        "scores": (aggcal.Scores.of({"a": 1.0}), set()),
        "check": (aggcal.check(judgments, quick=True, with_precision=False), set()),
        "prediction": (calibration.predict({"new": 3.0}), set()),
    }
    for name, (given, known) in results.items():
        for figure, draw in FIGURES.items():
            part = figure if figure == "methods" else NEEDS.get(figure, "consensus")
            if part in known:
                assert isinstance(draw(given), Axes), (name, figure)
                plt.close("all")
            else:
                with pytest.raises(OptionError, match="; give "):
                    draw(given)


def test_methods_are_drawn_as_they_were_measured(
    small: tuple[aggcal.Judgments, aggcal.Assessment],
) -> None:
    found = aggcal.compare_methods(small[0], ["btl", "tcv", "hra-g:plain"], folds=2)
    ax = plot.methods(found)
    away = [one.differences["log_loss"] for one in found.measured]
    (dots,) = drawn(ax, PathCollection)
    np.testing.assert_array_equal(dots.get_offsets()[:, 0], [each.value for each in away])
    np.testing.assert_allclose(segments(ax)[:, 0, 0], [each.low for each in away])
    assert texts(ax.get_yticklabels()) == [one.label for one in found.measured]


@pytest.mark.parametrize("name", FIGURES)
def test_hostile_ids_are_drawn_as_text(name: str) -> None:
    ids = ["$\\frac{$", "x" * 10_000, "_hidden", "two\nlines", "$a$", "%s {x}"]
    rows = [(w, a, b) for w in ids[:4] for k, a in enumerate(ids) for b in ids[:k]]
    judgments = aggcal.read_judgments(rows)
    result = aggcal.assess(judgments, {i: float(k) for k, i in enumerate(ids)}, warn=False)
    ax = FIGURES[name](subject(name, judgments, result))
    ax.figure.canvas.draw()
    assert max(map(len, texts([*ax.get_yticklabels(), *ax.texts]))) <= 24


@pytest.mark.parametrize("name", FIGURES)
def test_figures_go_where_they_are_sent(
    small: tuple[aggcal.Judgments, aggcal.Assessment], name: str
) -> None:
    _, (_, mine) = plt.subplots(1, 2)
    assert FIGURES[name](subject(name, *small), ax=mine) is mine
    assert len(plt.get_fignums()) == 1


@pytest.mark.parametrize("name", FIGURES)
def test_without_matplotlib_the_remedy_is_named(
    small: tuple[aggcal.Judgments, aggcal.Assessment], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = builtins.__import__

    def absent(module: str, *rest: Any) -> Any:
        if module.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named '{module}'")
        return known(module, *rest)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(OptionError, match=r"plots need matplotlib; pip install 'aggcal\[plot\]'"):
        FIGURES[name](subject(name, *small))


def test_matplotlib_is_not_imported_before_a_figure_is_drawn() -> None:
    code = "import sys, aggcal; aggcal.plot.consensus; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
