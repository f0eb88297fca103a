"""How much hangs on whom: one Newton step against fits that really leave annotators out."""

from dataclasses import replace

import numpy as np
import pytest

import aggcal
from aggcal._core.arrays import FloatArray
from aggcal.advice.advising import advise
from aggcal.advice.influence import Influence, matched
from aggcal.aggregation.consensus import Consensus
from aggcal.data.judgments import Judgments
from aggcal.simulation import SimulatedTerms

Fit = tuple[Judgments, Consensus]
TIED = SimulatedTerms(ties="davidson", position=0.4)


def fit(method: str, **study: object) -> Fit:
    rows = aggcal.read_judgments(aggcal.simulate(**study).judgments)  # type: ignore[arg-type]
    return rows, aggcal.aggregate(rows, method, warn=False)


@pytest.fixture(scope="module", params=["hra-g", "btl", "crowd-bt", "ties"])
def fitted(request: pytest.FixtureRequest) -> Fit:
    study = {"items": 12, "annotators": 6, "judgments": 300, "seed": 3}
    if request.param == "ties":
        return fit("hra-g", terms=TIED, **study)
    return fit(request.param, **study)


def moved(fitted: Fit) -> tuple[FloatArray, FloatArray]:
    """How far scores move without each annotator: by one step, and by fits."""
    step, exact = (aggcal.influence(*fitted, exact=exact) for exact in (0, 99))
    assert exact.exact.all()
    assert not step.exact.any()
    return step.shifts.toarray(), exact.shifts.toarray()


def test_one_step_is_near_what_fits_say(fitted: Fit) -> None:
    step, exact = moved(fitted)
    assert np.corrcoef(step.ravel(), exact.ravel())[0, 1] > 0.97
    slope = float(np.sum(step * exact) / np.sum(step * step))
    assert 0.85 < slope < 1.2


def test_one_step_of_equal_annotators_is_nearly_exact() -> None:
    step, exact = moved(fit("btl", items=10, annotators=8, judgments=400, seed=2))
    assert np.linalg.norm(step - exact) < 0.08 * np.linalg.norm(exact)


def test_many_items_move_each_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, consensus = fit("btl", items=30, annotators=10, judgments=900, seed=7)
    together = aggcal.influence(rows, consensus, exact=0)
    monkeypatch.setattr("aggcal.advice.influence.MOST_ITEMS", 10)
    apart = aggcal.influence(rows, consensus, exact=0)
    assert together.joint
    assert not apart.joint
    assert np.corrcoef(together.size, apart.size)[0, 1] > 0.9
    mine, theirs = (found.item_columns() for found in (together, apart))
    assert np.mean(mine["decided_by"] == theirs["decided_by"]) > 0.7
    assert np.abs(mine["rank_without"] - theirs["rank_without"]).mean() < 1.0
    # Fits take the place of estimates here, too.
    assert aggcal.influence(rows, consensus, exact=2).exact.sum() == 2


def test_mean_and_spread_are_conventions() -> None:
    scores = np.array([3.0, 1.0, 0.0, -4.0])
    assert matched(2.0 + 0.5 * scores, scores) == pytest.approx(np.zeros(4))
    # Of two items the distance is all there is, and an order turned round stays so.
    assert matched(np.array([-1.0, 1.0]), np.array([0.5, -0.5])).tolist() == [-1.0, 1.0]
    assert np.argmax(scores + matched(-1.8 * scores, scores)) == 3


@pytest.fixture(scope="module")
def decided() -> Influence:
    """One annotator alone puts b first."""
    rows = [("ann", "a", "b"), ("bob", "a", "b"), ("cy", "a", "c"), ("bob", "b", "c")]
    rows += [("eve", "b", "a")] * 6 + [("dan", "b", "c")] * 2
    return aggcal.influence(rows * 3, aggcal.aggregate(rows * 3, "btl", warn=False))


def test_who_decides_the_first_place(decided: Influence) -> None:
    columns = decided.annotators["annotator"], decided.annotators["leader_without"]
    table = dict(zip(*columns, strict=True))
    assert table["eve"] == "a"
    assert decided.annotators["annotator"][0] == "eve"
    assert "eve" in str(decided)
    assert decided.exact.all()


def test_advice_says_it_unless_there_are_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, consensus = fit("btl", items=5, annotators=4, judgments=60, seed=1)
    found = advise(rows, consensus=consensus)
    assert found is not None
    assert found.influence is not None
    assert not found.influence.exact.any()
    assert found.to_dict()["influence"]["largest"]["annotator"] in consensus.annotator_ids
    monkeypatch.setattr("aggcal.advice.advising._ESTIMATED", 10)
    few = advise(rows, consensus=consensus)
    asked = advise(rows, consensus=consensus, influence=True)
    assert few is not None
    assert few.influence is None
    assert asked is not None
    assert asked.influence is not None
    assert asked.influence.exact.all()


def test_what_cannot_be_told_is_refused() -> None:
    rows, consensus = fit("btl", items=5, annotators=4, judgments=60, seed=1)
    with pytest.raises(aggcal.AggcalError, match="does not tell what each judgment"):
        aggcal.influence(rows, replace(consensus, quantifier=None))
    with pytest.raises(aggcal.AggcalError, match="give 0 or more"):
        aggcal.influence(rows, exact=-1)


@pytest.mark.parametrize(
    "rows",
    [
        [("ann", "a", "b")],
        [("ann", "a", "b"), ("bob", "b", "a")],
        [("ann", "a", "b"), ("bob", "c", "d")],
        [("ann", "a", "b", 0.5), ("bob", "b", "c", 0.5)],
    ],
)
def test_the_smallest_studies(rows: list[tuple[object, ...]]) -> None:
    found = aggcal.influence(rows)
    assert np.isfinite(found.size).all()
    assert len(found.items["item"]) == len(found.consensus.item_ids)
