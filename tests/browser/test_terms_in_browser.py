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


def test_a_link_opens_the_order_of_a_category(open_page: Open, bridge: Path) -> None:
    told = document(bridged(), check=False)
    with open_page(bridge) as page:
        for k, name in enumerate(("parks", "roads")):
            fold = page.locator(f"#by-view > details[id='by={name}']")
            expect(fold.locator("table")).to_be_hidden()
            page.evaluate("(to) => { location.hash = to; }", f"by={name}")
            names = fold.locator("tbody th.c-item")
            expect(names).to_have_text(listing(told, f"by-{k}")["item"]["values"])
            expect(names.first).to_be_visible()
        page.get_by_role("link", name="The order of each category").click()
        expect(page.get_by_role("heading", name="By category")).to_be_in_viewport()


def test_a_category_leads_back_to_its_items(open_page: Open, bridge: Path) -> None:
    with open_page(bridge) as page:
        page.evaluate("location.hash = 'by=roads'")
        expect(page.locator("#by-view details[open] > summary")).to_have_text("topic: roads")
        page.locator("#by-view details[open] tbody a").first.click()
        expect(page.locator("#items details[open]")).to_have_count(1)
        page.evaluate("location.hash = 'by=nowhere'")
        expect(page.locator("#items")).to_be_visible()


def test_without_scripts_every_order_is_there(open_page: Open, bridge: Path) -> None:
    with open_page(bridge, java_script_enabled=False) as page:
        folds = page.locator("#by-view > details")
        expect(folds).to_have_count(3)  # all categories, and each
        for fold in folds.all():
            fold.locator("summary").first.click()
            expect(fold.locator("table")).to_be_visible()
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
        if which == "bridge":
            page.evaluate("location.hash = 'by=parks'")
            assert_fits(page)
        assert_accessible(page, view)
