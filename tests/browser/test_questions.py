"""Five questions that a reader has, each answered by the first screen or one click from it."""
# ruff: noqa: F811  # fixtures are imported, and asked for by their names

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from test_terms_in_browser import bridge, control  # noqa: F401

from aggcal.cli import main
from conftest import MadeOnce
from pages import Open, browser, consensus, demo, open_page, thousand  # noqa: F401

STUDIES = ["demo", "consensus", "thousand", "graded"]
PHONE = {"viewport": {"width": 400, "height": 900}}


@pytest.fixture(scope="module")
def graded(demo: Path, made_once: MadeOnce) -> Path:
    data = demo.parent / "data" / "simulated"
    files = [str(data / name) for name in ("judgments.csv", "scores.csv")]

    def make(folder: Path) -> None:
        grades = ["--grades", "40,50,60"]
        assert main(["run", *files, "-o", str(folder), *grades, "-q"]) == 0

    return made_once("graded", make) / "report.html"


def in_view(page: Page, where: str) -> bool:
    """Whether the beginning of something is on the screen."""
    found: bool = page.evaluate(
        "(where) => { const box = document.querySelector(where).getBoundingClientRect();"
        " return box.height > 0 && box.top < innerHeight && box.top >= 0; }",
        where,
    )
    return found


@pytest.mark.parametrize("name", STUDIES)
def test_the_first_screen_leads_to_every_answer(
    name: str, open_page: Open, request: pytest.FixtureRequest
) -> None:
    with open_page(request.getfixturevalue(name)) as page:
        expect(page.locator("h1")).to_contain_text(re.compile("best|leads"))
        assert in_view(page, ".trust")
        doubts = "decisions" if name == "graded" else "doubtful"
        for link, answer in (
            (f".trust a[href='#{doubts}']", f"#{doubts}"),
            (".tabs a[href='#annotators']", "#annotators-title"),
            (".tabs a[href='#quality']", "#quality-title"),
            (".trust a[href='#next']", "#next"),
        ):
            page.evaluate("scrollTo(0, 0)")
            assert in_view(page, link)
            page.locator(link).click()
            expect(page.locator(answer)).to_be_visible()
            assert in_view(page, answer), answer
        expect(page.locator("#next tbody tr")).not_to_have_count(0)


def test_doubtful_marks_are_below_their_link(open_page: Open, graded: Path) -> None:
    with open_page(graded) as page:
        expect(page.locator("#doubtful tbody tr").first).to_be_hidden()
        page.locator(".trust a[href='#decisions']").click()
        page.locator("#doubtful summary").click()
        expect(page.locator("#doubtful tbody tr").first).to_be_visible()


@pytest.mark.parametrize("width", [320, 360, 400])
def test_tabs_fit_a_phone_without_scrolling(width: int, open_page: Open, bridge: Path) -> None:
    with open_page(bridge, viewport={"width": width, "height": 900}) as page:
        tabs = page.locator(".tabs ul")
        assert tabs.evaluate("(box) => box.scrollWidth <= box.clientWidth")
        assert tabs.evaluate("(box) => box.scrollHeight <= box.clientHeight")
        for link in page.locator(".tabs a").all():
            link.click()
            expect(link).to_have_attribute("aria-current", "true")


def test_four_tabs_take_one_line(open_page: Open, demo: Path) -> None:
    with open_page(demo, **PHONE) as page:
        tops = {link.bounding_box()["y"] for link in page.locator(".tabs a").all()}  # type: ignore[index]
        assert len(tops) == 1


def test_keys_search_and_go_from_row_to_row(open_page: Open, demo: Path) -> None:
    focused = "document.activeElement.closest('tbody')?.dataset.k ?? document.activeElement.id"
    with open_page(demo) as page:
        page.keyboard.press("/")
        assert page.evaluate(focused) == "items-search"
        page.keyboard.type("a/b")  # in a field, a slash is a slash
        assert page.locator("#items-search").input_value() == "a/b"
        page.locator("#items-search").fill("")
        page.locator("#items summary").first.focus()
        first = page.evaluate(focused)
        page.keyboard.press("ArrowDown")
        assert page.evaluate(focused) != first
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")  # there is no row above the first
        assert page.evaluate(focused) == first
        page.locator(".tabs a[href='#annotators']").click()
        page.keyboard.press("/")
        assert page.evaluate(focused) == "annotator-table-search"


def test_the_annotators_can_be_saved(open_page: Open, demo: Path) -> None:
    with open_page(demo) as page:
        page.locator(".tabs a[href='#annotators']").click()
        with page.expect_download() as saved:
            page.locator("#annotators").get_by_role("button", name="Download CSV").click()
        assert saved.value.suggested_filename == "annotators.csv"
        lines = saved.value.path().read_text(encoding="utf-8-sig").splitlines()
        assert lines[0].startswith("annotator,verdict,reliability")
        assert len(lines) == 1 + 40
