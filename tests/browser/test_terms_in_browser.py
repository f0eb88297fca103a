"""The terms of a fit in a real browser: the switch of orders, both orders, the common ground."""
# ruff: noqa: F811  # fixtures are imported, and asked for by their names

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from accessible import assert_accessible
from pages import Open, browser, open_page  # noqa: F401
from playwright.sync_api import Page, expect
from test_in_browser import VIEWS, assert_fits, keep

from conftest import MadeOnce
from terms_studies import bridged, controlled


@pytest.fixture(scope="module")
def bridge(made_once: MadeOnce) -> Path:
    made = made_once("bridge", lambda folder: bridged().save(folder, check=False))
    return made / "report.html"


@pytest.fixture(scope="module")
def control(made_once: MadeOnce) -> Path:
    made = made_once("control", lambda folder: controlled().save(folder, check=False))
    return made / "report.html"


def items(page: Page) -> list[str]:
    """Return the items of the order that is shown."""
    found: list[str] = page.locator(".by:visible tbody .c-item").all_text_contents()
    return found


def test_one_switch_shows_the_order_of_a_category(open_page: Open, bridge: Path) -> None:
    views = {view["label"]: view for view in bridged().to_report().by.views}
    with open_page(bridge) as page:
        expect(page.locator("#items")).to_be_visible()
        expect(page.locator("#by-view")).to_be_hidden()
        for label, view in views.items():
            page.locator("#by").select_option(label=f"topic: {label}")
            expect(page.locator("#items")).to_be_hidden()
            assert items(page) == [row["short"] for row in view["rows"]]
            assert page.evaluate("location.hash") == f"#by={label}"
        page.locator("#by").select_option("")
        expect(page.locator("#items")).to_be_visible()
        expect(page.locator("#by-view")).to_be_hidden()


def test_a_link_opens_a_category_and_an_item_leads_back(open_page: Open, bridge: Path) -> None:
    with open_page(bridge) as page:
        page.evaluate("location.hash = 'by=roads'")
        expect(page.locator(".by:visible h3")).to_have_text("topic: roads")
        page.locator(".by:visible tbody a").first.click()
        expect(page.locator("#items")).to_be_visible()
        expect(page.locator("#items details[open]")).to_have_count(1)
        page.evaluate("location.hash = 'by=nowhere'")
        expect(page.locator("#items")).to_be_visible()


def test_without_scripts_every_order_is_there(open_page: Open, bridge: Path) -> None:
    with open_page(bridge, java_script_enabled=False) as page:
        expect(page.locator(".by:visible")).to_have_count(3)  # and all beside each other
        expect(page.locator("#ground")).to_be_visible()
        expect(page.locator("#by-tools")).to_be_hidden()


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("which", ["bridge", "control"])
def test_pages_are_accessible_and_fit(
    which: str, view: str, open_page: Open, request: pytest.FixtureRequest
) -> None:
    options: dict[str, Any] = VIEWS[view]
    with open_page(request.getfixturevalue(which), **options) as page:
        for tab in ("common", "annotators", "method") if which == "bridge" else ("held",):
            page.evaluate("(to) => { location.hash = to; }", tab)
            expect(page.locator(f"#{tab}")).to_be_visible()
            assert_fits(page)
            keep(page, f"terms-{which}-{tab}-{view}")
        if which == "bridge":
            page.evaluate("location.hash = 'by=parks'")
            assert_fits(page)
        assert_accessible(page, view)


def test_a_script_writes_the_annotators_as_the_page_does(open_page: Open, bridge: Path) -> None:
    """Rows that the page holds are thrown away and built again by the script."""
    with open_page(bridge, java_script_enabled=False) as page:
        kept = page.locator("#annotator-table tbody").first.inner_html()
    text = bridge.read_text(encoding="utf-8")
    begin = text.index('<tbody class="who"')
    end = text.rindex("</tbody>", begin, text.index("</table>", begin)) + len("</tbody>")
    # The chips' signs are copied from rows of the page: one row stays.
    last = text.rindex('<tbody class="who"', begin, end)
    bare = bridge.with_name("bare.html")
    bare.write_text(text[:begin] + text[last:], encoding="utf-8")
    with open_page(bare) as page:
        page.evaluate("location.hash = 'annotators'")
        built = page.locator("#annotator-table tbody").first
        expect(built).to_be_visible()

        def squeezed(html: str) -> str:
            return "".join(html.split())

        assert squeezed(built.inner_html()) == squeezed(kept)
