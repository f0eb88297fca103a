"""Two runs compared: what may be called moved, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import aggcal
from aggcal.cli import main
from aggcal.errors import InputError, OptionError
from aggcal.pages.document import to_json
from aggcal.report.report import RENDERERS
from aggcal.report.run import Run, load_run
from aggcal.report.two_runs import Comparison, RankBeliefs, apart, confidence, two_runs, verdict
from aggcal.simulation import simulate

Rows = list[tuple[str, str, str]]
SWAPPED = {"item-01": "item-12", "item-12": "item-01"}


def study(items: int = 12, judgments: int = 600, seed: int = 0) -> Rows:
    made = simulate(items=items, annotators=6, judgments=judgments, seed=seed, reliability_sd=0.2)
    columns = (made.judgments[name].tolist() for name in ("annotator", "winner", "loser"))
    rows = list(zip(*columns, strict=True))
    return [rows[k] for k in np.random.default_rng(seed).permutation(len(rows))]


def run(rows: Rows, **options: Any) -> Run:
    return aggcal.assess(rows, warn=False, **options).to_run()


def swapped(rows: Rows, names: dict[str, str]) -> Rows:
    return [(who, names.get(a, a), names.get(b, b)) for who, a, b in rows]


def ends_of(rows: Rows) -> dict[str, str]:
    """Names that exchange the first item with the last, and the second with the last but one."""
    items = run(rows).items["item"].tolist()
    pairs = [(items[0], items[-1]), (items[1], items[-2])]
    return {a: b for pair in pairs for a, b in (pair, pair[::-1])}


def beliefs(draws: Any, own: int = 0, *, level: float = 0.95, stops: bool = True) -> RankBeliefs:
    """Take the ranks in draws (a row a draw) as a run states them."""
    n = draws.shape[1]
    low, high = np.quantile(
        draws, [(1 - level) / 2, (1 + level) / 2], axis=0, method="inverted_cdf"
    )
    top = None
    if stops:
        share = [[round(100 * float(np.mean(draws[:, i] <= k))) for k in range(1, n)]
                 for i in range(n)]  # fmt: skip
        top = {"stops": list(range(1, n)), "percent": [[0, *row] for row in share]}
    rows = np.arange(n - own)
    return RankBeliefs.of(rows, low.astype(float), high.astype(float), top)


def random_ranks(seed: int, n: int, spread: float, of: Any = None) -> Any:
    random = np.random.default_rng(seed)
    scores = random.normal(size=n) if of is None else of
    drawn = scores + spread * random.normal(size=(400, n))
    return (-drawn).argsort(axis=1).argsort(axis=1) + 1


@given(st.integers(0, 10_000), st.integers(3, 12), st.floats(0.05, 2.0))
def test_independent_runs_are_compared_by_all_pairs_of_draws(
    seed: int, n: int, spread: float
) -> None:
    a, b = random_ranks(seed, n, spread), random_ranks(seed + 1, n, spread)
    found = confidence(beliefs(b), beliefs(a))
    true = np.array([np.mean(b[:, i][:, None] < a[:, i]) for i in range(n)])
    assert found == pytest.approx(np.clip(2.0 * true - 1.0, 0.0, 1.0), abs=0.021)


@given(st.integers(4, 10), st.integers(1, 3), st.booleans())
def test_items_of_one_run_alone_never_make_others_move(n: int, own: int, above: bool) -> None:
    # Exact runs of the same order; one has items of its own, all above the others or all below.
    common = np.arange(1, n + 1)
    alone = np.arange(1, own + 1) if above else np.arange(n + 1, n + own + 1)
    ranked = np.concatenate([common + (own if above else 0), alone])[None, :]
    more, plain = beliefs(ranked, own), beliefs(common[None, :])
    for new, old in ((more, plain), (plain, more)):
        assert not apart(new, old).any()
        assert not confidence(new, old).any()


@pytest.mark.parametrize(
    ("judgments", "lead"),
    [
        (600, "the best is one of 3 in A, the best is one of 3 in B"),
        (6000, "{first} is the best in A, {last} is the best in B"),
    ],
)
def test_items_that_exchange_their_judgments_move(judgments: int, lead: str) -> None:
    rows = study(judgments=judgments)
    names = ends_of(rows)
    found = Comparison(run(rows), run(swapped(rows, names)))
    moved = {item for item, way in zip(found.items, found.direction, strict=True) if way}
    assert moved == set(names)
    assert not found.by_chance
    first, last = list(names)[:2]
    assert " ".join(verdict(found)) == (
        "4 of 12 items changed places beyond what the judgments leave open; "
        f"{lead.format(first=first, last=last)}."
    )
    assert two_runs(found).data["n_moved"] == 4


@pytest.mark.parametrize("part", ["nothing", "half", "all"])
def test_items_that_stayed_are_not_called_moved(part: str) -> None:
    """Few repetitions: benchmarks/moves.py has many."""
    n = moved = 0
    for seed in range(6):
        rows = study(20, 400, seed)
        half = len(rows) // 2
        other = {"nothing": rows[half:], "half": rows[half // 2 : half // 2 + half], "all": rows}
        a, b = run(rows[:half]), run(other[part])
        for independent in (False, True) if part == "nothing" else (False,):
            found = Comparison(a, b, independent=independent)
            n += len(found.items)
            moved += found.moved
            assert found.moved == 0 or found.by_chance
    assert moved <= 0.05 * n


def test_the_same_judgments_twice_move_nothing() -> None:
    rows = study()
    found = Comparison(run(rows), run(rows[::-1]))
    assert found.same_judgments
    assert found.moved == 0
    assert found.order["tau_a"] == pytest.approx(1.0)
    assert "No item changed places" in verdict(found)[1]
    assert "appear to have the same judgments" in RENDERERS["md"](two_runs(found))
    with pytest.raises(OptionError, match="share their judgments"):
        Comparison(run(rows), run(rows), independent=True)


def test_a_lead_within_the_intervals_is_left_open() -> None:
    rows = study(8, 60, 3)
    a, b = run(rows[:30]), run(rows[30:])
    found = Comparison(a, b)
    first, second = a.items["item"][0], b.items["item"][0]
    assert first != second
    assert f"the best is one of {len(a.could_be_first)} in A" in verdict(found)[1]
    assert "leads" not in verdict(found)[1]


def test_nothing_is_claimed_where_the_runs_claim_nothing() -> None:
    rows = study()
    other = swapped(rows, ends_of(rows))
    bare = Comparison(run(rows), run(other, uncertainty=None))
    assert bare.moved == 0
    assert "Nothing can be claimed about moves: B has no likely ranks" in verdict(bare)[1]
    page = RENDERERS["html"](two_runs(bare))
    assert "Nothing can be claimed" in page
    failed = run(rows)
    unfinished = Run(dict(failed.summary) | {"converged": False}, failed.items)
    assert "did not converge" in verdict(Comparison(run(other), unfinished))[1]


def test_new_and_missing_items_are_listed_and_escaped() -> None:
    rows = study()
    evil = "<script>alert(1)</script>"
    other = [*rows, *(("u", evil, f"item-{k:02}") for k in range(2, 12))]
    other = [row for row in other if "item-01" not in row]
    found = Comparison(run(rows), run(other), ("<b>a", "b|c"))
    assert found.only_a == ["item-01"]
    assert found.only_b == [evil]
    assert found.moved == 0 or found.by_chance
    page = RENDERERS["html"](two_runs(found))
    assert evil not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<b>a" not in page
    assert "b\\|c" in RENDERERS["md"](two_runs(found))


def test_a_method_without_reliabilities_changes_no_verdict_on_them() -> None:
    rows = study()
    fitted, equal = run(rows), run(rows, method="btl")
    assert set(fitted.verdicts) == {"reliable"}
    assert set(equal.verdicts) == {"unclear"}
    told = RENDERERS["md"](two_runs(Comparison(equal, fitted)))
    assert told.partition("## Verdicts on annotators\n\n")[2].startswith("No difference.")
    assert "| Consensus | btl: " in told.partition("## Settings")[2]
    same = RENDERERS["md"](two_runs(Comparison(fitted, fitted)))
    assert same.count("No difference.") == 3


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("runs")
    rows = study()
    for name, made in (("one", rows), ("two", swapped(rows, ends_of(rows)))):
        aggcal.assess(made, warn=False).save(root / name)
    return root / "one", root / "two"


def test_the_command_compares_two_folders(
    folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    before = [path.read_bytes() for folder in folders for path in sorted(folder.iterdir())]
    words = ["report", *map(str, folders)]
    assert main(words) == 0
    said = capsys.readouterr().err
    assert "4 of 12 items changed places" in said
    assert "wrote comparison.html" in said
    assert main(words) == 2
    assert "comparison.html already exists" in capsys.readouterr().err
    assert main([*words, "--force", "-q"]) == 0
    assert main([*words, "-o", "comparison.json", "-q"]) == 0
    told = json.loads((tmp_path / "comparison.json").read_text(encoding="utf-8"))
    assert told["data"]["n_moved"] == 4
    assert told["data"]["runs"] == {"a": "one", "b": "two"}
    assert main([*words, "-o", "comparison.md", "-q"]) == 0
    assert (tmp_path / "comparison.md").read_text(encoding="utf-8").startswith("# A: one, B: two\n")
    over = folders[0] / "report.md"
    assert main([*words, "-o", str(over), "--force"]) == 2
    assert "would be overwritten" in capsys.readouterr().err
    after = [path.read_bytes() for folder in folders for path in sorted(folder.iterdir())]
    assert after == before


def test_a_loaded_run_says_the_same_as_a_fresh_one(folders: tuple[Path, Path]) -> None:
    rows = study()
    fresh = two_runs(Comparison(run(rows), run(swapped(rows, ends_of(rows)))))
    loaded = two_runs(Comparison(load_run(folders[0]), load_run(folders[1])))
    for part in ("headline", "lead", "data"):
        assert to_json(getattr(loaded, part)) == to_json(getattr(fresh, part))
    assert to_json(loaded.sections[0]) == to_json(fresh.sections[0])


def test_items_that_nobody_judged_take_no_part(folders: tuple[Path, Path], tmp_path: Path) -> None:
    scores = {f"item-{k:02}": float(k) for k in range(1, 13)}
    aggcal.assess(study(), {**scores, "unjudged": 5.0}, warn=False).save(tmp_path / "more")
    found = Comparison(load_run(folders[1]), load_run(tmp_path / "more"))
    assert "unjudged" not in [*found.items, *found.only_b]
    assert found.beliefs[1].own == 0
    assert found.moved == 4


def test_runs_without_a_common_item_are_refused(
    folders: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    aggcal.assess([("u", "x", "y"), ("v", "x", "y")], warn=False).save(tmp_path / "other")
    assert main(["report", str(folders[0]), str(tmp_path / "other"), "-o", "-"]) == 2
    assert "no item in common" in capsys.readouterr().err
    assert main(["report", str(folders[0]), "--independent"]) == 2
    assert "give two folders" in capsys.readouterr().err
    with pytest.raises(InputError, match="no item in common"):
        Comparison(run(study()), run([("u", "x", "y")]))
