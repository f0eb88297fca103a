"""Make the pictures of README and of the landing page: ``make picture``.

The report of the demo as a browser shows it, light and dark (docs/_static/report.png and
report-dark.png), and the calibration figure of the demo (docs/demo.svg), which follows the theme.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Literal

import matplotlib.pyplot as plt
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Browser, ViewportSize, sync_playwright

import aggcal.plot
from aggcal.assessment import assess
from aggcal.datasets import load

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent / "tests" / "browser")]

from adaptive_figures import RC, adaptive  # noqa: E402  # found by the line above
from chromium import started  # noqa: E402

SIZE = ViewportSize(width=1280, height=860)
"""The first screen of a laptop; twice as many pixels would quadruple what a clone downloads."""
COLOURS = 128
"""Colours of the PNG. A page of text and flat marks looks the same, in a third of the bytes."""


def draw_calibration(target: Path) -> None:
    """Draw the scores of the demo: dots, steps and band, in consensus order."""
    dots = load("dots")
    with plt.rc_context(RC):
        figure, axes = plt.subplots(figsize=(8.0, 3.6))
        aggcal.plot.calibration(assess(dots.judgments, dots.scores, warn=False), ax=axes)
        target.write_text(adaptive(figure), encoding="utf-8")


def photograph(browser: Browser, page: Path, theme: Literal["light", "dark"], target: Path) -> None:
    """Save the first screen of a page as the given theme shows it."""
    tab = browser.new_page(viewport=SIZE, color_scheme=theme, reduced_motion="reduce")
    tab.goto(page.as_uri())
    shot = Image.open(io.BytesIO(tab.screenshot()))
    about = PngInfo()
    about.add_itxt("Description", tab.locator("h1").first.inner_text())  # which a test reads
    shot.convert("RGB").quantize(COLOURS).save(target, optimize=True, pnginfo=about)
    tab.close()


def main() -> None:
    """Make all pictures."""
    draw_calibration(HERE / "demo.svg")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        subprocess.run(  # noqa: S603  # this program
            [sys.executable, "-m", "aggcal", "demo", "-o", folder, "--quiet"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        browser = started(playwright)
        if browser is None:
            raise SystemExit("no Chromium here; AGGCAL_CHROMIUM=/path/to/chromium names one")
        page, target = Path(folder) / "report.html", HERE / "_static"
        photograph(browser, page, "light", target / "report.png")
        photograph(browser, page, "dark", target / "report-dark.png")
        browser.close()
    print("wrote docs/demo.svg, docs/_static/report.png, docs/_static/report-dark.png")  # noqa: T201


if __name__ == "__main__":
    main()
