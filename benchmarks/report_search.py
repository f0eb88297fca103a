"""How long the search of a report takes to answer, in a browser: 100,000 items, key by key.

    python benchmarks/report_search.py --items 100000 --chromium /usr/bin/chromium

Each letter that is typed is timed from the event to the table as it stands after it (the layout
included), and typed again a few times, of which the fastest counts: the slower ones measure what
else the machine does. The rest of a page of rows follows later, and is not part of it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
from playwright.sync_api import sync_playwright

from aggcal.assessment import assess
from aggcal.report.report import RENDERERS, report
from aggcal.report.run import Run
from aggcal.simulation import simulate

_TYPED = """(text) => {
    const box = document.querySelector("#items-search"), start = performance.now();
    box.value = text;
    box.dispatchEvent(new Event("input"));
    document.body.getBoundingClientRect();  // until all of it is laid out
    return performance.now() - start;
}"""
WORDS = ("item-00999", "no such item", "9", "item")


def page_of(items: int, folder: Path) -> Path:
    """Write a report of so many items."""
    study = simulate(items=items, annotators=50, judgments=2 * items, seed=3)
    result = assess(study.judgments, study.scores, method="btl", uncertainty=None, warn=False)
    columns = result.item_columns()
    # Intervals of any kind do for a page; working them out takes half a minute.
    off = np.random.default_rng(4).random(items)
    for name in ("rank", "calibrated"):
        middle = np.asarray(columns[name], dtype=np.float64)
        columns |= {f"{name}_low": middle - off, f"{name}_high": middle + off}
    page = RENDERERS["html"](report(Run(result.to_dict(), columns)))
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path


def timed(path: Path, chromium: str | None, tries: int) -> dict[str, float]:
    """Return the milliseconds of the median letter and of the slowest."""
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        page.goto(path.as_uri())
        page.wait_for_selector("#items-pager button")
        page.focus("#items-search")
        found: dict[str, float] = {}
        for _ in range(tries):
            for word in WORDS:
                for end in [*range(1, len(word) + 1), 0]:
                    took = page.evaluate(_TYPED, word[:end])
                    found[word[:end]] = min(took, found.get(word[:end], took))
        browser.close()
    return {"median": median(found.values()), "slowest": max(found.values())}


def main() -> None:
    """Measure and print."""
    command = argparse.ArgumentParser(description=__doc__)
    command.add_argument("--items", type=int, default=100_000)
    command.add_argument("--chromium", help="the browser, if not playwright's own")
    command.add_argument("--tries", type=int, default=5)
    options = command.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = page_of(options.items, Path(folder))
        found = timed(path, options.chromium, options.tries)
        found |= {"items": options.items, "megabytes": path.stat().st_size / 1e6}
    print(json.dumps({name: round(value, 1) for name, value in found.items()}))


if __name__ == "__main__":
    main()
