"""The report in a real browser: what people see, click, print and hear read out.

Screenshots are kept in ``build/screenshots``.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
import pytest
from axe_playwright_python.sync_playwright import Axe
from chromium import started
from playwright.sync_api import Browser, Dialog, Locator, Page, expect, sync_playwright

from aggcal._core.tables import Columns, as_text
from aggcal.assessment import Assessment, assess
from aggcal.cli import main
from aggcal.paper.reproduce import reproduce
from aggcal.report.html import render
from aggcal.simulation import simulate
from conftest import SCREENSHOTS as SHOTS

DESK: dict[str, Any] = {"viewport": {"width": 1280, "height": 800}}
PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True,
    "has_touch": True,
}  # fmt: skip
VIEWS: dict[str, dict[str, Any]] = {"light": {}, "dark": {"color_scheme": "dark"}, "phone": PHONE}
RULES: dict[str, Any] = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
}
COLOURS_ONLY: dict[str, Any] = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}
NO_COLOURS = RULES | {"rules": {"color-contrast": {"enabled": False}}}
CHECKED = {"light": RULES, "dark": COLOURS_ONLY, "phone": NO_COLOURS}
"""What axe looks for: dark differs from light in its colours, a phone in the rest."""

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<!--<script>",
    '"><b onmouseover="alert(1)">bold</b>',
    "{{ 7 * 7 }}",
    "שלום עולם",
    "\u202eevil\u202c",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "line\nbreak\u2028\tand tab",
    "&lt;b&gt; &amp;",
    "x" * 10_000,
    "a" * 79 + "😀 stands at the cut",
    "many words " * 900 + "end",
]

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
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    assert main(["demo", "--data", "simulated", "-o", str(folder), "-q"]) == 0
    return folder / "report.html"


@pytest.fixture(scope="module")
def consensus(demo: Path) -> Path:
    folder = demo.parent / "consensus"
    judgments = demo.parent / "data" / "simulated" / "judgments.csv"
    assert main(["aggregate", str(judgments), "-o", str(folder), "--method", "btl", "-q"]) == 0
    return folder / "report.html"


@pytest.fixture(scope="module")
def thousand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of 1,000 items; a few have no score, and numbers in names need a natural order."""
    folder = tmp_path_factory.mktemp("thousand")
    study = simulate(items=1000, annotators=40, judgments=20_000, seed=3)
    called = as_text(f"Text {k} of {k % 7}" for k in range(1000))
    judgments = {
        "annotator": study.annotator_ids[study.annotator],
        "winner": called[study.winner],
        "loser": called[study.loser],
    }
    scores = {"item": called[5:], "score": study.model[5:]}
    assess(judgments, scores, warn=False).save(folder)
    return folder / "report.html"


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows = [(HOSTILE[k % 5], a, b) for k, a in enumerate(HOSTILE) for b in HOSTILE[k + 1 :]]
    scores = [(name, float(k % 4)) for k, name in enumerate(HOSTILE)]
    folder = tmp_path_factory.mktemp("hostile")
    assess(rows, scores, warn=False).save(folder)
    return folder / "report.html"


@pytest.fixture(scope="module")
def paper(tmp_path_factory: pytest.TempPathFactory, data_folder: Path) -> Path:
    assert data_folder.is_dir()
    folder = tmp_path_factory.mktemp("paper")
    reproduce("rq3", folder, quick=True, say=lambda _: None)
    return folder / "index.html"


def keep(page: Page, name: str) -> None:
    """Keep what the window shows."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")


def assert_accessible(page: Page, view: str) -> None:
    """Let axe look at everything, what is scrolled away and folded up included."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    # Rows and dots are alike, and axe is slow: a few speak for all.
    page.evaluate("""document.querySelectorAll("[data-listing] tbody, svg").forEach((each) => {
        const all = [...each.querySelectorAll("tr, circle")];
        if (all.length > 20) all.slice(5).forEach((one) => one.remove());
    })""")
    page.add_style_tag(content=".scroll,nav{position:static!important;max-height:none!important}")
    result = Axe().run(page, options=CHECKED[view] | {"resultTypes": ["violations"]})
    assert result.violations_count == 0, result.generate_report()


def assert_fits(page: Page) -> None:
    """Nothing stands out of the window to the side."""
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= page.evaluate("document.documentElement.clientWidth")


def shown(page: Page, table: str = "items") -> list[list[str]]:
    """Return what stands in each cell, without what is under it."""
    found: list[list[str]] = page.evaluate(
        """(name) => [...document.querySelectorAll(`[data-listing=${name}] tbody tr`)].map((row) =>
            [...row.cells].map((cell) => cell.firstChild ? cell.firstChild.textContent : ""))""",
        table,
    )
    return found


def read(report: Path, name: str = "items") -> list[dict[str, str]]:
    with (report.parent / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(text: str) -> float:
    return float(text.replace(",", "").rstrip("%")) if text not in {"–", ""} else np.nan


def natural(text: str) -> list[Any]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", text)]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", ["demo", "consensus", "thousand", "hostile", "paper"])
def test_every_page_is_quiet_fits_the_window_and_is_accessible(
    name: str, view: str, open_page: Open, request: pytest.FixtureRequest
) -> None:
    with open_page(request.getfixturevalue(name), **VIEWS[view]) as page:
        keep(page, f"{name}-{view}")
        assert_fits(page)
        assert_accessible(page, view)


COLUMNS: dict[str, Callable[[dict[str, str]], Any]] = {
    "rank": lambda row: number(row["rank"]),
    "item": lambda row: natural(row["item"]),
    "calibrated": lambda row: number(row["calibrated"]),
    "model": lambda row: number(row["model"]),
    "change": lambda row: number(row["calibrated"]) - number(row["model"]),
    "consensus": lambda row: number(row["consensus"]),
    "± error": lambda row: number(row["consensus_se"]),
    "block": lambda row: number(row["block"]),
    "judgments": lambda row: number(row["n_judgments"]),
}


def expected_order(rows: list[dict[str, str]], title: str, *, up: bool) -> list[Any]:
    """Sort a column as Python does; what is not there comes last."""
    values = [COLUMNS[title](row) for row in rows]
    known = [value for value in values if isinstance(value, list) or not np.isnan(value)]
    return sorted(known, reverse=not up) + [np.nan] * (len(values) - len(known))


def test_every_column_sorts_both_ways_by_mouse_and_by_keys(open_page: Open, thousand: Path) -> None:
    rows = read(thousand)
    whole = {row["item"]: row for row in rows}
    with open_page(thousand) as page:
        table = page.locator("[data-listing=items]")
        heads = table.locator("th")
        assert [text.strip() for text in heads.all_inner_texts()] == list(COLUMNS)
        ways = set()
        for at, title in enumerate(COLUMNS):
            button = table.get_by_role("button", name=title, exact=True)
            for by in ("mouse", "Enter" if at % 2 else "Space"):
                if by == "mouse":
                    button.click()
                else:
                    button.press(by)
                way = heads.nth(at).get_attribute("aria-sort")
                ways.add((title, way))
                cells = shown(page)
                assert len(cells) == 100
                expected = expected_order(rows, title, up=way == "ascending")[:100]
                if title == "item":
                    assert [natural(row[1]) for row in cells] == expected
                    continue
                half = 0.51 * 10.0 ** -max(len(row[at].partition(".")[2]) for row in cells)
                found = [number(row[at]) for row in cells]
                np.testing.assert_allclose(found, expected, atol=half)
                own = [COLUMNS[title](whole[row[1]]) for row in cells]
                np.testing.assert_allclose(found, own, atol=half)
            assert table.locator("th:not([aria-sort=none])").count() == 1
        assert ways == {(title, way) for title in COLUMNS for way in ("ascending", "descending")}
        keep(page, "sorted")


def test_the_annotators_sort_by_verdict_and_by_reliability(open_page: Open, demo: Path) -> None:
    rows = read(demo, "annotators")
    with open_page(demo) as page:
        table = page.locator("[data-listing=annotators]")
        table.get_by_role("button", name="verdict", exact=True).click()
        words = [row[1] for row in shown(page, "annotators")]
        assert words == sorted(words)
        assert len(set(words)) > 1
        table.get_by_role("button", name="reliability", exact=True).click()
        found = [number(row[2]) for row in shown(page, "annotators")]
        expected = sorted((float(row["reliability"]) for row in rows), reverse=True)
        np.testing.assert_allclose(found, expected, atol=0.0051)


def test_the_table_says_how_it_is_sorted_from_the_start(open_page: Open, demo: Path) -> None:
    with open_page(demo) as page:
        ranks = page.locator("[data-listing=items] th").first
        expect(ranks).to_have_attribute("aria-sort", "ascending")
        reliability = page.locator("[data-listing=annotators] th", has_text="reliability")
        expect(reliability).to_have_attribute("aria-sort", "descending")
        ranks.get_by_role("button").click()
        expect(ranks).to_have_attribute("aria-sort", "descending")
        assert shown(page)[0][0] == "60"


def matching(names: list[str], words: str) -> list[str]:
    """Find what holds every word, as Python does."""
    return [one for one in names if all(word in one.lower() for word in words.lower().split())]


def test_search_finds_what_python_finds(open_page: Open, thousand: Path) -> None:
    names = [row["item"] for row in read(thousand)]
    with open_page(thousand) as page:
        table = page.locator("[data-listing=items]")
        following = table.get_by_role("button", name="Next")
        for words in ("Text 99", "text 1 of 1", "9 OF 3", "Text 5"):
            table.get_by_role("searchbox").fill(words)
            found = [row[1] for row in shown(page)]
            while following.is_visible() and following.is_enabled():
                following.click()
                found += [row[1] for row in shown(page)]
            assert found == matching(names, words)
            expect(table.get_by_role("status")).to_contain_text(f"{len(found):,}")
        table.get_by_role("searchbox").fill("nowhere")
        expect(table.locator("tbody")).to_have_text("Nothing matches “nowhere”.")
        expect(table.get_by_role("status")).to_have_text("0 found")
        keep(page, "nothing-found")
        table.get_by_role("searchbox").fill("")
        assert [row[1] for row in shown(page)] == names[:100]


def test_paging_begins_each_page_at_its_top(open_page: Open, thousand: Path) -> None:
    names = [row["item"] for row in read(thousand)]
    with open_page(thousand) as page:
        table = page.locator("[data-listing=items]")
        back, following = (table.get_by_role("button", name=name) for name in ("Back", "Next"))
        assert back.is_disabled()
        box = table.locator(".scroll")
        for begin in range(100, 1000, 100):
            box.evaluate("(one) => one.scrollTo(0, one.scrollHeight)")
            following.click()
            assert [row[1] for row in shown(page)] == names[begin : begin + 100]
            assert box.evaluate("(one) => one.scrollTop") == 0
        assert following.is_disabled()
        expect(table.get_by_role("status")).to_have_text("901 to 1,000 of 1,000")
        back.click()
        assert [row[1] for row in shown(page)] == names[800:900]


def colours(page: Page) -> tuple[str, str]:
    """Return the colours of the text and of the ground."""
    ink, ground = (
        page.evaluate("(name) => getComputedStyle(document.body)[name]", name)
        for name in ("color", "backgroundColor")
    )
    return str(ink), str(ground)


def test_the_theme_follows_the_system_until_the_reader_chooses(open_page: Open, demo: Path) -> None:
    with open_page(demo) as page:
        switch = page.get_by_role("button", name="Switch between light and dark")
        light = colours(page)
        expect(switch).to_have_text("Dark")
        page.emulate_media(color_scheme="dark")
        dark = colours(page)
        assert dark != light
        expect(switch).to_have_text("Light")
        switch.click()
        assert colours(page) == light
        page.emulate_media(color_scheme="light")
        switch.click()
        assert colours(page) == dark
        page.reload()
        assert colours(page) == dark
        expect(switch).to_have_text("Light")
        keep(page, "demo-dark-chosen")


def test_a_chosen_theme_is_there_before_the_page_is_read(open_page: Open, demo: Path) -> None:
    # Or a long page would flash in the other colours first.
    html = demo.read_text(encoding="utf-8")
    assert html.index("aggcal-theme") < html.index("<body")
    with open_page(demo) as page:
        page.get_by_role("button", name="Switch between light and dark").click()
        page.reload()
        assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("name", ["demo", "thousand", "hostile"])
def test_the_answer_is_there_without_javascript(
    name: str, open_page: Open, request: pytest.FixtureRequest
) -> None:
    report: Path = request.getfixturevalue(name)
    rows = read(report)[:100]
    with open_page(report, java_script_enabled=False) as page:
        body = page.locator("[data-listing=items] tbody tr")
        assert body.count() == len(rows)
        for k in (0, len(rows) - 1):
            expect(body.nth(k)).to_contain_text(rows[k]["item"][:80])
            calibrated = body.nth(k).locator("td").nth(2).inner_text()
            assert float(calibrated.split()[0]) == pytest.approx(
                number(rows[k]["calibrated"]), abs=0.051
            )
        assert page.locator("figure svg").first.is_visible()
        assert not page.get_by_role("searchbox").first.is_visible()
        assert not page.locator("#theme").is_visible()
        told = page.get_by_text("sorting and searching need")
        assert told.first.is_visible() == (name == "thousand")


def inside(part: Locator, whole: tuple[float, float]) -> bool:
    """Tell whether all of a part is between two places, from side to side."""
    frame = part.bounding_box()
    assert frame is not None
    return whole[0] <= frame["x"] and frame["x"] + frame["width"] <= whole[1]


def test_the_answer_is_in_view_on_a_phone(open_page: Open, demo: Path) -> None:
    with open_page(demo, **PHONE) as page:
        assert inside(page.locator("#theme"), (0, 390))
        box = page.locator("[data-listing=items] .scroll")
        frame = box.bounding_box()
        assert frame is not None
        ends = (frame["x"], frame["x"] + frame["width"])
        cells = page.locator("[data-listing=items] tbody tr").first.locator("td")
        assert all(inside(cells.nth(k), ends) for k in range(3))  # rank, name, calibrated
        # The name stays beside the numbers further right.
        box.evaluate("(one) => one.scrollTo(one.scrollWidth, 0)")
        assert box.evaluate("(one) => one.scrollLeft") > 50
        assert inside(cells.nth(1), ends)
        box.scroll_into_view_if_needed()
        keep(page, "demo-phone-scrolled")


def test_keys_show_where_they_are(open_page: Open, demo: Path) -> None:
    with open_page(demo) as page:
        page.locator("[data-listing=items]").get_by_role("searchbox").focus()
        seen = set()
        for _ in range(14):
            page.keyboard.press("Tab")
            at = page.locator(":focus")
            assert at.evaluate("(one) => getComputedStyle(one).outlineStyle") != "none"
            seen.add(at.evaluate("(one) => one.tagName"))
        assert {"BUTTON", "DIV", "SUMMARY"} <= seen
        page.locator("[data-listing=items] th button").nth(2).focus()
        keep(page, "focus")


def printed(page: Page, name: str) -> list[str]:
    """Print the page; return the text of each sheet, and keep the first ones as pictures."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    path = SHOTS / f"{name}.pdf"
    page.pdf(path=path, format="A4")
    document = pypdfium2.PdfDocument(path)
    sheets = [sheet.get_textpage().get_text_bounded() for sheet in document]
    for k in range(min(4, len(sheets))):
        document[k].render(scale=1.5).to_pil().save(SHOTS / f"{name}-{k + 1}.png")
    document.close()
    return sheets


def test_paper_gets_the_light_page_with_every_row_and_heading(open_page: Open, demo: Path) -> None:
    with open_page(demo, color_scheme="dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        page.set_viewport_size({"width": 700, "height": 1000})
        assert_fits(page)
        ink, ground = colours(page)
        assert max(map(int, re.findall(r"\d+", ink)[:3])) < 80
        assert ground in {"rgba(0, 0, 0, 0)", "rgb(255, 255, 255)"}
        sheets = printed(page, "demo-print")
    text = "\n".join(sheets)
    for row in read(demo):
        assert row["item"] in text
    # Sheets of the table: its rows begin with an item and go on with a number.
    full = [sheet for sheet in sheets if len(re.findall(r"\bitem-\d\d\s+[\d−-]", sheet)) > 10]
    assert len(full) >= 2
    for sheet in full:
        assert "calibrated" in sheet
        assert "consensus" in sheet
    assert "place in the order on which the annotators agree" in text  # what columns mean
    assert "Search" not in text
    assert "↕" not in text


def test_paper_says_what_it_leaves_out(open_page: Open, thousand: Path) -> None:
    with open_page(thousand) as page:
        page.locator("[data-listing=items]").get_by_role("searchbox").fill("Text 9")
        sheets = printed(page, "thousand-print")
        text = " ".join("\n".join(sheets).split())
        found = matching([row["item"] for row in read(thousand)], "Text 9")
        assert f"{len(found)} of 1,000 that match “Text 9”, sorted by rank." in text
        assert all(name in text for name in found)
        # Afterwards the page is as it was.
        assert len(shown(page)) == 100
        assert not page.get_by_text("that match").is_visible()


def test_hostile_names_are_shown_as_text(open_page: Open, hostile: Path) -> None:
    order = [row["item"] for row in read(hostile)]
    assert set(order) == set(HOSTILE)
    for script in (True, False):
        with open_page(hostile, java_script_enabled=script) as page:
            cells = page.locator("[data-listing=items] td.name")
            assert cells.count() == len(order)
            for cell, name in zip(cells.all(), order, strict=True):
                if len(name) <= 80:
                    assert cell.text_content() == name
                else:
                    # In ASCII, or half a character could not be reported.
                    assert ascii(cell.locator("summary").text_content()) == ascii(name[:80] + "…")
                    assert cell.locator("div").text_content() == name
            hebrew = page.locator("[data-listing=items] td.name", has_text="שלום")
            directions = "(one) => [one, ...one.children].map((e) => getComputedStyle(e).direction)"
            assert "rtl" in hebrew.evaluate(directions)
            tall = cells.evaluate_all("(all) => Math.max(...all.map((one) => one.offsetHeight))")
            assert tall < 150
            assert_fits(page)


def test_hostile_words_can_be_searched_for(open_page: Open, hostile: Path) -> None:
    with open_page(hostile) as page:
        table = page.locator("[data-listing=items]")
        for name in HOSTILE[:4]:
            table.get_by_role("searchbox").fill(name)
            assert [row[1] for row in shown(page)] == [name]
            table.get_by_role("searchbox").fill(f"{name} <b>no</b>")
            told = table.locator("tbody")
            expect(told).to_have_text(f"Nothing matches “{name} <b>no</b>”.")


def test_a_hundred_thousand_items_stay_usable(open_page: Open, tmp_path: Path) -> None:
    n = 100_000
    study = simulate(items=n, annotators=50, judgments=200_000, seed=3)
    result: Assessment = assess(
        study.judgments, study.scores, method="btl", uncertainty=None, warn=False
    )
    assert result.consensus is not None
    items: Columns = result.item_columns()
    # Intervals of any kind do for a page; working them out takes half a minute.
    for name, room in (("rank", 500.0), ("calibrated", 7.123)):
        off = room * np.random.default_rng(4).random(n)
        middle = np.asarray(items[name], dtype=np.float64)
        items |= {f"{name}_low": middle - off, f"{name}_high": middle + off}
    items["consensus_se"] = np.random.default_rng(5).random(n)
    report = tmp_path / "report.html"
    page_text = render(result.to_dict(), items, result.consensus.annotator_columns())
    report.write_text(page_text, encoding="utf-8")
    assert report.stat().st_size < 10_000_000
    names = items["item"].tolist()
    with open_page(report) as page:
        keep(page, "hundred-thousand-light")
        table = page.locator("[data-listing=items]")
        assert [row[1] for row in shown(page)] == names[:100]
        table.get_by_role("button", name="item", exact=True).click()
        assert [row[1] for row in shown(page)] == sorted(names)[:100]
        table.get_by_role("button", name="model", exact=True).click()
        best = np.sort(np.asarray(items["model"], dtype=float))[::-1][:100]
        found = [number(row[3]) for row in shown(page)]
        np.testing.assert_allclose(found, best, atol=0.051)
        table.get_by_role("searchbox").fill("0999")
        expect(table.get_by_role("status")).to_contain_text(
            f"{sum('0999' in name for name in names)} found"
        )
        table.get_by_role("searchbox").fill("")
        # Paper gets the first thousand (printing them for real takes long).
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert len(shown(page)) == 1000
        assert table.get_by_text("The first 1,000 of 100,000, sorted by model.").is_visible()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen")
        page.set_viewport_size(PHONE["viewport"])
        keep(page, "hundred-thousand-phone")
        assert_fits(page)
        assert_accessible(page, "phone")
