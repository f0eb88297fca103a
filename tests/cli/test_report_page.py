"""The page that ``run`` and ``demo`` write."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

from conftest import Command, table


class Page(HTMLParser):
    """Collects what a browser would fetch or show."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_demo_names_a_report_that_is_self_contained_and_right(
    tmp_path: Path, command: Command
) -> None:
    done = command("demo", "--data", "simulated")
    assert done.returncode == 0, done.stderr
    report = Path(done.stdout.splitlines()[0])
    assert report == (tmp_path / "demo" / "report.html").resolve()
    page = Page()
    page.feed(report.read_text(encoding="utf-8"))
    assert all(link.startswith("#") for link in page.links)
    # The theme, the words, the items, who beat whom, the annotators, and what sorts them.
    assert page.tags.count("script") == 6
    items = table(tmp_path / "demo" / "items.csv")
    assert page.tags.count("tbody") > len(items)
    assert f"{float(items[0]['calibrated']):.1f}" in page.text
    for row in table(tmp_path / "demo" / "annotators.csv"):
        assert row["annotator"] in page.text
    metrics = json.loads(
        command("evaluate", "demo/items.csv", "demo/data/simulated/truth.csv", "--json").stdout
    )
    assert metrics["calibrated"]["mse"] < metrics["model"]["mse"]
    assert metrics["consensus"]["tau_a"] > metrics["model"]["tau_a"]


def test_ids_that_look_like_html_stay_text(tmp_path: Path, command: Command) -> None:
    (tmp_path / "j.csv").write_text('annotator,winner,loser\n<b>u</b>,<script>a,"b & ""c"""\n')
    (tmp_path / "s.csv").write_text('item,score\n<script>a,1\n"b & ""c""",2\n')
    done = command("run", "j.csv", "s.csv", "-o", "out")
    assert done.returncode == 0, done.stderr
    page = Page()
    page.feed((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert page.tags.count("script") == 5  # none of them from an id
    assert "<script>a" in page.text
    assert [row["item"] for row in table(tmp_path / "out" / "items.csv")] == [
        "<script>a",
        'b & "c"',
    ]
