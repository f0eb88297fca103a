"""The comparison of two runs in a real browser."""
# ruff: noqa: F811  # fixtures are imported, and asked for by their names

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from accessible import assert_accessible
from playwright.sync_api import Browser, Page, expect

import aggcal
from aggcal.cli import main
from aggcal.simulation import simulate
from conftest import SCREENSHOTS, MadeOnce
from pages import browser  # noqa: F401

VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1400, "height": 900}},
    "dark": {"viewport": {"width": 1400, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 400, "height": 850}, "is_mobile": True},
}


@pytest.fixture(scope="module")
def folder(made_once: MadeOnce) -> Path:
    """Two runs of the same items, of which four change places."""
    return made_once("runs", _two_runs)


def _two_runs(folder: Path) -> None:
    made = simulate(items=12, annotators=6, judgments=900, seed=1).judgments
    columns = (made[name].tolist() for name in ("annotator", "winner", "loser"))
    rows = list(zip(*columns, strict=True))
    first = aggcal.assess(rows, warn=False)
    first.save(folder / "one")
    order = first.items["item"].tolist()
    new = dict(zip(order, [*order[:1:-1][:2], *order[2:-2], *order[1::-1]], strict=True))
    moved = [(who, new[a], new[b]) for who, a, b in rows]
    aggcal.assess(moved, warn=False).save(folder / "two")


@pytest.fixture(scope="module")
def comparison(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the page."""
    target = tmp_path_factory.mktemp("compared") / "comparison.html"
    runs = [str(folder / "one"), str(folder / "two")]
    assert main(["report", *runs, "-o", str(target), "-q"]) == 0
    return target.as_uri()


def watched(page: Page) -> list[str]:
    """Collect what goes wrong in a page."""
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    return wrong


@pytest.mark.parametrize("view", VIEWS)
def test_two_runs_are_compared(browser: Browser, comparison: str, view: str) -> None:
    with browser.new_page(**VIEWS[view]) as page:
        wrong = watched(page)
        page.goto(comparison)
        expect(page.locator("h1 b")).to_have_text("4 of 12 items")
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"comparison-{view}.png", full_page=True)
        across = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert across <= 0
        assert_accessible(page, view)
        assert wrong == []


def test_the_comparison_is_searched_sorted_and_filtered(browser: Browser, comparison: str) -> None:
    with browser.new_page(**VIEWS["light"]) as page:
        page.goto(comparison)
        rows = page.locator("#items tbody:visible")
        expect(rows).to_have_count(12)
        page.get_by_role("button", name="Only moved (4)").click()
        expect(rows).to_have_count(4)
        page.get_by_role("button", name="All 12").click()
        page.get_by_role("button", name="Change").click()
        values = page.locator("#items td.c-score").all_text_contents()
        numbers = [float(text.replace("−", "-").replace("+", "")) for text in values]
        assert numbers == sorted(numbers, reverse=True)
        page.locator("#items-search").fill("item-01")
        expect(rows).to_have_count(1)
        page.locator("#items-search").fill("nobody")
        expect(page.locator("#items-none")).to_be_visible()


def test_the_comparison_works_without_scripts_and_as_a_file(
    browser: Browser, comparison: str
) -> None:
    with browser.new_page(java_script_enabled=False) as page:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(comparison)
        assert page.locator("#items tbody:visible").count() == 12
        assert not page.get_by_role("searchbox").count()
        assert asked == [comparison]
        ranks = page.locator("#items td.c-rank").all_text_contents()
        assert [int(each.split()[0]) for each in ranks] == list(range(1, 13))
