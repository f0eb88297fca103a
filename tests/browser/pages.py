"""Pages in a real browser: opened as a reader would, any fault of theirs failing the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from chromium import started
from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

from aggcal._core.tables import as_text
from aggcal.assessment import Assessment, assess
from aggcal.cli import main
from aggcal.simulation import simulate
from conftest import MadeOnce

DESK: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
Open = Callable[..., AbstractContextManager[Page]]
expect.set_options(timeout=30_000)  # a busy machine is not a fault of the page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = started(playwright)
        if browser is None:
            pytest.skip("needs Chromium: AGGCAL_CHROMIUM=/path/to/chromium names one")
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def open_page(browser: Browser) -> Open:
    """Open a page as a reader would; whatever goes wrong meanwhile fails the test."""

    @contextmanager
    def opened(path: Path, **options: Any) -> Iterator[Page]:
        faults: list[str] = []
        asked: list[str] = []

        def refused(dialog: Dialog) -> None:
            faults.append(dialog.message)
            dialog.dismiss()

        context = browser.new_context(**(DESK | options))
        context.set_default_timeout(60_000)
        page = context.new_page()
        page.on("console", lambda said: faults.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", refused)
        page.on("request", lambda request: asked.append(request.url))
        page.goto(path.as_uri())
        yield page
        context.close()
        assert not faults
        assert set(asked) == {path.as_uri()}

    return opened


@pytest.fixture(scope="module")
def demo(made_once: MadeOnce) -> Path:
    def make(folder: Path) -> None:
        assert main(["demo", "--data", "simulated", "-o", str(folder), "-q"]) == 0

    return made_once("demo", make) / "report.html"


@pytest.fixture(scope="module")
def consensus(demo: Path, made_once: MadeOnce) -> Path:
    judgments = str(demo.parent / "data" / "simulated" / "judgments.csv")

    def make(folder: Path) -> None:
        assert main(["aggregate", judgments, "-o", str(folder), "--method", "btl", "-q"]) == 0

    return made_once("consensus", make) / "report.html"


@pytest.fixture(scope="module")
def thousand(made_once: MadeOnce) -> Path:
    """A run of 1,000 items; a few have no score, and numbers in names need a natural order."""
    return made_once("thousand", lambda folder: thousand_result().save(folder)) / "report.html"


@cache
def thousand_result() -> Assessment:
    study = simulate(items=1000, annotators=40, judgments=20_000, seed=3)
    called = as_text(f"Text {k} of {k % 7}" for k in range(1000))
    judgments = {
        "annotator": study.annotator_ids[study.annotator],
        "winner": called[study.winner],
        "loser": called[study.loser],
    }
    scores = {"item": called[5:], "score": study.model[5:]}
    return assess(judgments, scores, warn=False)
