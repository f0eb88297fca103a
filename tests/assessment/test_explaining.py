"""One item explained: its numbers are the judgments', and what would change its rank does."""

from pathlib import Path

import numpy as np
import pytest

import aggcal
from aggcal.aggregation.consensus import Consensus
from aggcal.assessment import Assessment
from aggcal.data.judgments import Judgments
from documents import visible

STUDY = aggcal.simulate(items=12, annotators=6, judgments=300, seed=4)


@pytest.fixture(scope="module")
def result() -> Assessment:
    return aggcal.assess(STUDY.judgments, STUDY.scores, warn=False).with_advice()


@pytest.fixture(scope="module")
def folder(result: Assessment, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("explained") / "out"
    result.save(out)
    return out


def test_comparisons_are_those_of_the_judgments(result: Assessment) -> None:
    rows = STUDY.judgments
    for item in ("item-03", "item-12"):
        found = aggcal.explain(result, item)
        for one in found.data["comparisons"]:
            beat = (rows["winner"] == item) & (rows["loser"] == one["item"])
            lost = (rows["loser"] == item) & (rows["winner"] == one["item"])
            assert (one["won"], one["lost"], one["tied"]) == (beat.sum(), lost.sum(), 0)
        told = found.data["record"]
        assert told["won"] == (rows["winner"] == item).sum()
        assert sum(one["lost"] for one in found.data["comparisons"]) == told["lost"]


def test_a_folder_says_the_same(result: Assessment, folder: Path) -> None:
    here, there = aggcal.explain(result, "item-05"), aggcal.explain(folder, "item-05")
    assert str(here) == str(there)
    again = aggcal.explain(folder, "item-05", STUDY.judgments)
    assert again.data["comparisons"] == here.data["comparisons"]
    assert there.data["numbers"]["decided_by"] == here.data["numbers"]["decided_by"]


def test_the_row_of_the_report_says_the_same(result: Assessment) -> None:
    page = visible(result.report("html"))
    said = aggcal.explain(result, str(result.items["item"][1])).data["changes"]
    assert len(said) == 3
    assert "What would change its rank" in page
    for sentence in said:
        assert sentence in page


def test_an_unknown_item_is_answered_with_the_nearest(result: Assessment, folder: Path) -> None:
    for where in (result, folder):
        with pytest.raises(
            aggcal.AggcalError, match=r"not in the results \(did you mean 'item-05'"
        ):
            aggcal.explain(where, "item05")


def test_other_judgments_are_refused(folder: Path) -> None:
    rows = [("u", "item-01", "item-02")]
    with pytest.raises(aggcal.AggcalError, match="has 1 judgments, the results were made from 300"):
        aggcal.explain(folder, "item-05", rows)
    with pytest.raises(aggcal.AggcalError, match="'x' are not in the results"):
        aggcal.explain(folder, "item-05", [("u", "x", "item-02")])


def more(rows: Judgments, winner: str, loser: str, number: int) -> list[tuple[str, str, str]]:
    """The same judgments, and so many answers more, by each annotator in turn."""
    whole = [
        (str(rows.annotator_ids[u]), str(rows.item_ids[a]), str(rows.item_ids[b]))
        for u, a, b, n in zip(rows.annotator, rows.left, rows.right, rows.count, strict=True)
        for _ in range(n)
    ]
    ids = rows.annotator_ids
    return whole + [(str(ids[k % len(ids)]), winner, loser) for k in range(number)]


def leads(consensus: Consensus, one: str, other: str) -> bool:
    score = dict(zip(consensus.item_ids, consensus.scores, strict=True))
    return bool(score[one] > score[other])


@pytest.mark.parametrize("method", ["btl", "hra-g"])
def test_so_many_answers_change_the_rank(method: str) -> None:
    """About so many: half of them do not, and half as many again do."""
    rows = aggcal.read_judgments(STUDY.judgments)
    result = aggcal.assess(rows, method=method, warn=False)
    fit, changes = result.consensus, result.comparisons["swaps"]
    assert fit is not None
    assert changes[0][0][1] == "down"
    for k, found in enumerate(changes[:6]):
        item = str(fit.item_ids[fit.order[k]])
        for other, way, number in found[:1]:
            winner, loser = (item, other) if way == "up" else (other, item)
            assert not leads(fit, winner, loser)
            for times, there in ((1.5, True), (0.5, False)):
                answers = int(np.ceil(times * number)) if there else int(times * (number - 1))
                again = aggcal.aggregate(
                    more(rows, winner, loser, answers), method, start=fit, warn=False
                )
                assert leads(again, winner, loser) is there


TIED = [(who, *pair) for who in ("ann", "bob") for pair in ("ab", "ac", "bd", "cd")]


@pytest.mark.parametrize("rest", [[], [("ann", "x", "y"), ("bob", "x", "y")]])
def test_a_tie_is_passed_as_one_and_components_are_not(rest: list[tuple[str, str, str]]) -> None:
    found = aggcal.assess([*TIED, *rest], method="btl", warn=False).comparisons
    swaps = dict(zip(found["items"], found["swaps"], strict=True))
    if not rest:
        for item in ("b", "c"):
            assert [(other, way) for other, way, _ in swaps[item]] == [("a", "up"), ("d", "down")]
    for item, said in swaps.items():
        assert all((item in "xy") == (other in "xy") for other, _, _ in said)
