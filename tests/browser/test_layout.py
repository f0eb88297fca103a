"""Ten pictures of the report beside kept ones: a layout that breaks fails, a font that differs not.

``AGGCAL_KEEP_SCREENSHOTS=1 pytest tests/browser/test_layout.py`` keeps those of today: look at them
first, they are in ``build/screenshots``.
"""
# ruff: noqa: F811  # fixtures are imported, and asked for by their names

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page

from conftest import SCREENSHOTS as SHOTS
from pages import Open, browser, consensus, demo, open_page, thousand  # noqa: F401

KEPT = Path(__file__).parent / "kept"
DESK = {"viewport": {"width": 1400, "height": 1000}}
PHONE = {"viewport": {"width": 400, "height": 900}}
DARK = {"color_scheme": "dark"}
WIDTH = 420
"""Columns of a kept picture: enough to see what it is, too few to see a font."""
BLOCK = 7
"""Side of the blocks that are compared: text of another font fills the same blocks."""
INK, FAR, MOST = 0.05, 0.04, 0.28
"""How far from the ground a block with text on it is, how far off its mean may be, of 1, and which
share of such blocks may be further: a serif moves 1% of them, a monospaced font 18%, a table that
is moved, blown up or gone 44% and more."""


def _tab(name: str) -> Callable[[Page], None]:
    return lambda page: page.locator(f".tabs a[href='#{name}']").click()


def _stay(page: Page) -> None:
    page.wait_for_selector("#items tbody")


def _open_row(page: Page) -> None:
    page.locator("#items summary").nth(5).click()


def _matrix(page: Page) -> None:
    page.get_by_role("link", name="who beat whom").click()


def _paper(page: Page) -> None:
    page.emulate_media(media="print")


VIEWS: dict[str, tuple[str, dict[str, Any], Callable[[Page], None]]] = {
    "results-light": ("demo", DESK, _stay),
    "results-dark": ("demo", DESK | DARK, _stay),
    "results-phone": ("demo", PHONE, _stay),
    "row-open": ("demo", DESK, _open_row),
    "who-beat-whom": ("demo", DESK, _matrix),
    "annotators": ("demo", DESK, _tab("annotators")),
    "quality": ("demo", DESK, _tab("quality")),
    "method": ("demo", DESK, _tab("method")),
    "no-model": ("consensus", DESK, _stay),
    "many-items": ("thousand", DESK, _stay),
    "paper": ("demo", {"viewport": {"width": 700, "height": 1000}}, _paper),
}


def blocks(picture: Image.Image) -> np.ndarray:
    """Return the mean of each block of a picture, in grey from 0 to 1."""
    high = round(picture.height * WIDTH / picture.width)
    grey = np.asarray(picture.convert("L").resize((WIDTH, high)), dtype=float) / 255.0
    rows, columns = (side // BLOCK * BLOCK for side in grey.shape)
    cut = grey[:rows, :columns].reshape(rows // BLOCK, BLOCK, columns // BLOCK, BLOCK)
    return np.asarray(cut.mean(axis=(1, 3)))


def differing(one: Image.Image, other: Image.Image) -> float:
    """Return the share in which two pictures differ, of the blocks with something on them."""
    first, second = blocks(one), blocks(other)
    ground = np.median(second)
    inked = (np.abs(first - ground) > INK) | (np.abs(second - ground) > INK)
    return float((np.abs(first - second)[inked] > FAR).mean())


@pytest.mark.parametrize("name", VIEWS)
def test_a_page_looks_as_it_was_kept(
    name: str, open_page: Open, request: pytest.FixtureRequest
) -> None:
    which, options, act = VIEWS[name]
    with open_page(request.getfixturevalue(which), **options) as page:
        act(page)
        page.mouse.move(0, 0)
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"layout-{name}.png")
    today = Image.open(SHOTS / f"layout-{name}.png").convert("RGB")
    kept = KEPT / f"{name}.png"
    if os.environ.get("AGGCAL_KEEP_SCREENSHOTS"):
        KEPT.mkdir(exist_ok=True)
        small = today.resize((WIDTH, round(today.height * WIDTH / today.width)))
        small.quantize(64).save(kept, optimize=True)
    found = differing(today, Image.open(kept).convert("RGB"))
    assert found <= MOST, (
        f"{found:.1%} of the blocks differ from {kept.name}; see layout-{name}.png"
    )


@pytest.mark.parametrize("broken", ["display:none", "margin-left:160px", "font-size:22px"])
def test_a_broken_layout_would_be_seen(broken: str, open_page: Open, demo: Path) -> None:
    """The tolerance lets fonts differ, not the table: moved, hidden or blown up, it fails."""
    with open_page(demo, **DESK) as page:
        page.evaluate("(style) => { document.querySelector('#items').style = style; }", broken)
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / "layout-broken.png")
    wrong = Image.open(SHOTS / "layout-broken.png").convert("RGB")
    assert differing(wrong, Image.open(KEPT / "results-light.png").convert("RGB")) > MOST


def test_another_font_is_no_fault(open_page: Open, demo: Path) -> None:
    with open_page(demo, **DESK) as page:
        page.evaluate("document.body.style.fontFamily = 'DejaVu Serif, Georgia, serif'")
        page.screenshot(path=SHOTS / "layout-font.png")
    other = Image.open(SHOTS / "layout-font.png").convert("RGB")
    assert differing(other, Image.open(KEPT / "results-light.png").convert("RGB")) <= MOST
