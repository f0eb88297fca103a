"""Folders of results that somebody else made: what they say is shown as text, or refused."""

from __future__ import annotations

import json
import random
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from aggcal.cli import main
from aggcal.io.results import _columns

BAD = "<img src=x onerror=alert(1)>"
LEAVES: list[Any] = [
    BAD, f"**{BAD}**\n# {BAD}", "", None, True, -1, 0, 10**400, 1e308, float("nan"), float("inf"),
    [], {}, [BAD], {BAD: BAD}, "\ud800", [[[]]],
]  # fmt: skip


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    size = ["--items", "8", "--annotators", "5", "--number", "80", "-q"]
    assert main(["simulate", "-o", str(folder / "s"), *size]) == 0
    inputs = [str(folder / "s" / "judgments.csv"), str(folder / "s" / "scores.csv")]
    assert main(["run", *inputs, "-o", str(folder / "out"), "-q"]) == 0
    return folder / "out"


def paths(data: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value inside plain data."""
    inside = data.items() if isinstance(data, dict) else enumerate(data)
    found = []
    for key, value in inside:
        found.append((*above, key))
        if isinstance(value, dict | list):
            found += paths(value, (*above, key))
    return found


def spoiled(summary: dict[str, Any], way: tuple[Any, ...], value: Any) -> dict[str, Any]:
    data = json.loads(json.dumps(summary))
    inside = data
    for key in way[:-1]:
        inside = inside[key]
    inside[way[-1]] = value
    return data  # type: ignore[no-any-return]


def rendered(folder: Path, form: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    target = folder / f"page.{form}"
    target.unlink(missing_ok=True)
    code = main(["report", str(folder), "-o", str(target), "-q"])
    text = target.read_text(encoding="utf-8") if target.exists() else ""
    return code, text, capsys.readouterr().err


def is_safe(text: str, form: str) -> bool:
    if form == "md":
        # In a block of code everything is text.
        outside = re.sub(r"^(`{3,})$.*?^\1$", "", text, flags=re.DOTALL | re.MULTILINE)
        return not re.search(r"(?<!\\)<img", outside)
    return "<img" not in text


def copy(results: Path, folder: Path) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    for name in ("items.csv", "annotators.csv"):
        (folder / name).write_bytes((results / name).read_bytes())
    summary: dict[str, Any] = json.loads((results / "summary.json").read_text(encoding="utf-8"))
    return summary


def test_every_text_of_a_summary_is_escaped(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = copy(results, tmp_path)
    texts = [way for way in paths(summary) if way[0] != "files"]
    kept = {"method", "calibrator", "kind"}  # which decide what is rendered
    everything = summary
    for way in texts:
        inside: Any = summary
        for key in way:
            inside = inside[key]
        if isinstance(inside, str) and way[-1] not in kept:
            everything = spoiled(everything, way, BAD)
    (tmp_path / "summary.json").write_text(json.dumps(everything), encoding="utf-8")
    for form in ("md", "html"):
        code, text, said = rendered(tmp_path, form, capsys)
        assert code == 0, said
        assert is_safe(text, form)
        assert "img" in text


def test_any_summary_is_rendered_escaped_or_refused_in_a_sentence(
    results: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    summary = copy(results, tmp_path)
    # The tables stay the same: reading them takes longer than all the rest.
    monkeypatch.setattr("aggcal.io.results._columns", cache(_columns))
    draw = random.Random(0)  # noqa: S311  # of no secret
    ways = paths(summary)
    done = 0
    for _ in range(120):
        spoilt = spoiled(summary, draw.choice(ways), draw.choice(LEAVES))
        (tmp_path / "summary.json").write_text(json.dumps(spoilt), encoding="utf-8")
        form = draw.choice(("md", "html", "json"))
        code, text, said = rendered(tmp_path, form, capsys)
        assert code in (0, 2), (code, said)
        assert code == 0 or (said.startswith("aggcal: error: ") and said.count("\n") == 1)
        assert form == "json" or is_safe(text, form)
        done += code == 0
    assert done > 20


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"a":' * 100_000, "1" * 10_000, '"\\ud800"', "null", "\ufeff{}", ""]
)
def test_absurd_json_is_refused(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    copy(results, tmp_path)
    (tmp_path / "summary.json").write_text(text, encoding="utf-8")
    code, _, said = rendered(tmp_path, "md", capsys)
    assert code == 2
    assert said.count("\n") == 1


def test_a_plan_from_elsewhere_reaches_no_other_file(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "got"
    summary = copy(results, folder)
    summary["files"] = {"../mine.txt": "0" * 64}
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    (folder / "link").symlink_to(tmp_path / "planted.txt")
    waiting = folder / ".aggcal-unfinished"
    (waiting / "new").mkdir(parents=True)
    (waiting / "new" / "link").write_text("bad")
    names = ("../planted.txt", "link", "/planted.txt")
    (waiting / "plan.json").write_text(json.dumps({name: [None, "1" * 64] for name in names}))
    rendered(folder, "md", capsys)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["got"]
