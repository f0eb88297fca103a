"""Who met whom, counted row by row in plain Python and held against what is written."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

import aggcal
from aggcal.aggregation.covariance import DenseCovariance
from aggcal.aggregation.uncertainty import Uncertainty
from aggcal.assessment import Assessment
from aggcal.assessment.comparisons import DETAILED, comparisons
from aggcal.errors import FileError
from aggcal.io.results import misfit, read_comparisons, read_results

Row = tuple[str, str, str, str]


def rows_of(seed: int, items: int = 9, annotators: int = 5, number: int = 300) -> list[Row]:
    random = np.random.default_rng(seed)
    found = []
    for _ in range(number):
        a, b = random.choice(items, 2, replace=False)
        upset = 1 / (1 + np.exp(a - b)) > random.random()
        answer = "tie" if random.random() < 0.1 else "left" if upset else "right"
        found.append((f"u{random.integers(annotators)}", f"i{a}", f"i{b}", answer))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_everything_is_counted_as_a_person_would(seed: int) -> None:
    rows = rows_of(seed)
    judgments = aggcal.read_judgments(rows)
    consensus = aggcal.aggregate(judgments, warn=False)
    found = comparisons(judgments, consensus)
    score = dict(zip(consensus.item_ids.tolist(), consensus.scores.tolist(), strict=True))
    order = sorted(score, key=lambda item: -score[item])
    assert found["items"] == order
    won: Counter[tuple[str, str]] = Counter()
    tied: Counter[tuple[str, str]] = Counter()
    against: dict[str, Counter[str]] = defaultdict(Counter)
    of: dict[str, Counter[str]] = defaultdict(Counter)
    judged: dict[str, set[str]] = defaultdict(set)
    for who, a, b, answer in rows:
        judged[who] |= {a, b}
        first, second = (b, a) if answer == "right" else (a, b)
        won[first, second] += answer != "tie"
        for one, other in ((a, b), (b, a)):
            tied[one, other] += answer == "tie"
            of[one][who] += 1
            against[one][who] += answer != "tie" and score[first] < score[second]
    for k, item in enumerate(order):
        others = {b for a, b in [*won, *tied] if a == item} | {a for a, b in won if b == item}
        assert found["opponents"][k] == len(others)
        assert found["record"][k] == [
            sum(won[item, other] for other in order),
            sum(won[other, item] for other in order),
            sum(tied[item, other] for other in order),
        ]
        worst = sorted((n for n in against[item].values() if n), reverse=True)[:4]
        assert [n for _, n, _ in found["disagreed"][k]] == worst
        for who, n, whole in found["disagreed"][k]:
            assert (n, whole) == (against[item][who], of[item][who])
        for other, _, better, worse, even in found["upsets"][k]:
            assert (better, worse, even) == (won[item, other], won[other, item], tied[item, other])
            assert (better > worse) == (score[item] < score[other])
    for i, j, first_won, second_won, even in found["pairs"]:
        a, b = order[i], order[j]
        assert (first_won, second_won, even) == (won[a, b], won[b, a], tied[a, b])
    for who, positions in found["judged"]:
        assert {order[k] for k in positions} == judged[who]


def test_probabilities_of_the_top_agree_with_the_rank_intervals() -> None:
    result = aggcal.assess(rows_of(4), warn=False)
    assert result.consensus is not None
    known = result.consensus.uncertainty
    assert known is not None
    top = result.comparisons["top"]
    n, order = len(result.consensus.item_ids), result.consensus.order
    assert top["stops"] == list(range(1, n))
    for k, (first, *rest) in enumerate(top["percent"]):
        shares = [0] * first + rest + [100] * (n - 1 - first - len(rest))
        assert shares == sorted(shares)
        low, high = int(known.rank_low[order[k]]), int(known.rank_high[order[k]])
        tail = 100 * (1 - known.level) / 2
        if low > 1:
            assert shares[low - 2] <= tail + 1
        if high < n:
            assert shares[high - 1] >= 100 - tail - 1
    # Exactly k items are among the first k, whatever is drawn.
    exact = known.top_probabilities(np.arange(1, n))
    assert exact is not None
    np.testing.assert_allclose(exact.sum(axis=0), np.arange(1, n))


def test_ranks_of_few_items_follow_the_covariance_of_their_scores() -> None:
    # Centred scores of two items are opposites: the gap has twice the error of either.
    covariance = DenseCovariance(np.eye(2))
    known = Uncertainty.of("laplace", 0.95, np.array([0.5, -0.5]), covariance)
    shares = known.top_probabilities(np.array([1]))
    assert shares is not None
    assert shares[0, 0] == pytest.approx(ndtr(1.0 / sqrt(2.0)), abs=0.04)


def test_many_items_keep_the_first_and_no_matrix() -> None:
    random = np.random.default_rng(5)
    rows = [(f"u{k % 7}", f"i{a}", f"i{b}") for k in range(3000)
            for a, b in [random.choice(400, 2, replace=False)]]  # fmt: skip
    found = aggcal.assess(rows, warn=False).comparisons
    assert len(found["items"]) == len(found["upsets"]) == DETAILED
    assert "pairs" not in found
    assert not misfit(found, 400)


def saved(folder: Path) -> Assessment:
    result = aggcal.assess(rows_of(6), warn=False)
    result.save(folder)
    return result


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    result = saved(tmp_path)
    _, items, _ = read_results(tmp_path)
    assert read_comparisons(tmp_path, items) == result.comparisons


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("items", "all"), ("items", ["a"] * 10), ("opponents", [1, 2]), ("upsets", 3),
    ],
)  # fmt: skip
def test_a_file_that_is_not_ours_is_refused(part: str, wrong: Any, tmp_path: Path) -> None:
    found = saved(tmp_path).comparisons
    assert not misfit(found, 9)
    assert misfit(found | {part: wrong}, 9) == f"'{part}' is not as aggcal writes it"
    (tmp_path / "comparisons.json").write_text("{", encoding="utf-8")
    with pytest.raises(FileError, match="not valid JSON"):
        read_comparisons(tmp_path, {"item": np.array(["a"], dtype=object)})
