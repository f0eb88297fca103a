"""The terms of a fit in a real browser: the switch of orders, both orders, the common ground."""
# ruff: noqa: F811  # fixtures are imported, and asked for by their names

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from accessible import assert_accessible
from playwright.sync_api import expect
from test_in_browser import VIEWS, assert_fits, keep

from conftest import MadeOnce
from documents import document, listing
from pages import Open, browser, open_page  # noqa: F401
from terms_studies import bridged, controlled


@pytest.fixture(scope="module")
def bridge(made_once: MadeOnce) -> Path:
    made = made_once("bridge", lambda folder: bridged().save(folder, check=False))
    return made / "report.html"


@pytest.fixture(scope="module")
def control(made_once: MadeOnce) -> Path:
    made = made_once("control", lambda folder: controlled().save(folder, check=False))
    return made / "report.html"


def test_the_order_of_each_category_is_a_table_that_is_searched(
    open_page: Open, bridge: Path
) -> None:
    told = listing(document(bridged(), check=False), "by-category")["item"]["values"]
    with open_page(bridge) as page:
        page.get_by_role("link", name="The order of each category").click()
        expect(page.get_by_role("heading", name="By category")).to_be_in_viewport()
        expect(page.locator("#by-category .part b")).to_have_text(["topic: parks", "topic: roads"])
        names = page.locator("#by-category tbody th.c-item")
        expect(names).to_have_text(told)
        page.locator("#by-category-search").fill(told[3])
        expect(names).to_have_text([told[3]] * 2)
        names.first.get_by_role("link").click()
        expect(page.locator("#items tbody.hit summary")).to_have_text(told[3])
    with open_page(bridge, java_script_enabled=False) as page:
        expect(page.locator("#by-category tbody th.c-item")).to_have_text(told)
        expect(page.locator("#ground")).to_be_visible()


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
        assert_accessible(page, view)
