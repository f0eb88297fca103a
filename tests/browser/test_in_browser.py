"""The report in a real browser: what people see, click, print and hear read out.

Screenshots are kept in ``build/screenshots``.
"""
# ruff: noqa: F811  # fixtures are imported, and asked for by their names

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
import pytest
from accessible import assert_accessible
from playwright.sync_api import Locator, Page, expect

from aggcal._core.tables import Columns, as_text
from aggcal.assessment import Assessment, assess
from aggcal.pages.html import FIRST_ROWS, STATIC_ROWS
from aggcal.simulation import simulate
from conftest import SCREENSHOTS as SHOTS
from conftest import MadeOnce
from documents import rendered
from pages import Open, browser, consensus, demo, open_page, thousand, thousand_result  # noqa: F401
from paper.reproduce import reproduce

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "is_mobile": True,
    "has_touch": True,
}  # fmt: skip
VIEWS: dict[str, dict[str, Any]] = {"light": {}, "dark": {"color_scheme": "dark"}, "phone": PHONE}

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


@pytest.fixture(scope="module")
def hostile(made_once: MadeOnce) -> Path:
    rows = [(HOSTILE[k % 5], a, b) for k, a in enumerate(HOSTILE) for b in HOSTILE[k + 1 :]]
    scores = [(name, float(k % 4)) for k, name in enumerate(HOSTILE)]
    made = made_once("hostile", lambda folder: assess(rows, scores, warn=False).save(folder))
    return made / "report.html"


@pytest.fixture(scope="module")
def paper(made_once: MadeOnce, data_folder: Path) -> Path:
    assert data_folder.is_dir()

    def make(folder: Path) -> None:
        reproduce("rq3", folder, quick=True, say=lambda _: None)

    return made_once("paper-rq3", make) / "index.html"


def keep(page: Page, name: str) -> None:
    """Keep what the window shows."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SHOTS / f"{name}.png")


def assert_fits(page: Page) -> None:
    """Nothing stands out of the window to the side."""
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= page.evaluate("document.documentElement.clientWidth")


KEYS = """(box) => [...box.tHead.rows[0].cells].map((cell) => cell.dataset.key || cell.className)"""


def shown(page: Page, table: str = "items") -> list[dict[str, str]]:
    """Return what each row of a table shows, by the key of its column."""
    box = page.locator(f"#{table}")
    expect(box).not_to_have_attribute("aria-busy", "true")  # the rest of a page comes later
    keys: list[str] = box.evaluate(KEYS)
    rows: list[list[str]] = box.evaluate(
        """(box) => [...box.querySelectorAll("tbody[data-k] > :first-child")].map((row) =>
            [...row.cells].map((cell) => {
                const copy = cell.cloneNode(true);
                copy.querySelectorAll(".sr").forEach((one) => one.remove());
                return copy.textContent;
            }))"""
    )
    return [dict(zip(keys, row, strict=True)) for row in rows]


def items_of(page: Page) -> list[str]:
    return [row["item"] for row in shown(page)]


def read(report: Path, name: str = "items") -> list[dict[str, str]]:
    with (report.parent / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(text: str) -> float:
    bare = text.replace(",", "").replace("−", "-").rstrip("%")
    return float(bare) if bare not in {"–", ""} else np.nan


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


BROKEN = """() => {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        if (node.parentElement.closest("script, style, template, svg, code, .sr")) continue;
        for (const { 0: text, index } of node.data.matchAll(/[−+]?\\d[\\d,.–]*\\d%?/g)) {
            const range = document.createRange();
            range.setStart(node, index);
            range.setEnd(node, index + text.length);
            const tops = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
            if (tops.size > 1) found.push(node.data.slice(Math.max(0, index - 30), index + 30));
        }
    }
    return found;
}"""
"""Numbers of a page that are broken over two lines, with what stands around them."""


@pytest.mark.parametrize("width", [320, 360, 768, 1000, 1400])
def test_the_table_begins_on_the_first_screen_and_no_number_breaks(
    width: int, open_page: Open, demo: Path
) -> None:
    with open_page(demo, viewport={"width": width, "height": 740}) as page:
        table, row = page.locator("#items"), page.locator("#items tbody").first
        assert table.bounding_box()["y"] <= 350  # type: ignore[index]
        place = row.bounding_box()
        assert place is not None
        assert place["y"] + place["height"] <= 740
        for tab in page.locator(".tabs a").all():
            tab.click()
            assert page.evaluate(BROKEN) == []
            assert_fits(page)


@pytest.mark.parametrize("where", ["#items tbody:nth-of-type(3) summary", "#word-consensus"])
def test_one_pale_word_among_many_would_be_seen(where: str, open_page: Open, demo: Path) -> None:
    with open_page(demo, **VIEWS["dark"]) as page:
        page.locator(where).evaluate("(one) => { one.style.color = '#555'; }")
        with pytest.raises(AssertionError, match="color-contrast"):
            assert_accessible(page, "dark")


COLUMNS: dict[str, Callable[[dict[str, str]], Any]] = {
    "rank": lambda row: number(row["rank"]),
    "item": lambda row: natural(row["item"]),
    "calibrated": lambda row: number(row["calibrated"]),
    "change": lambda row: number(row["calibrated"]) - number(row["model"]),
    "n_judgments": lambda row: number(row["n_judgments"]),
    "model": lambda row: number(row["model"]),
    "consensus": lambda row: number(row["consensus"]),
    "consensus_se": lambda row: number(row["consensus_se"]),
    "win_rate": lambda row: 100 * number(row["win_rate"]),
}


def expected_order(rows: list[dict[str, str]], key: str, *, up: bool) -> list[Any]:
    """Sort a column as Python does; what is not there comes last."""
    values = [COLUMNS[key](row) for row in rows]
    known = [value for value in values if isinstance(value, list) or not np.isnan(value)]
    return sorted(known, reverse=not up) + [np.nan] * (len(values) - len(known))


def test_every_column_sorts_both_ways_by_mouse_and_by_keys(open_page: Open, thousand: Path) -> None:
    rows = read(thousand)
    whole = {row["item"]: row for row in rows}
    with open_page(thousand) as page:
        page.get_by_role("button", name="More columns").click()
        heads = page.locator("#items thead th[data-key]")
        keys = heads.evaluate_all("(all) => all.map((head) => head.dataset.key)")
        assert set(COLUMNS) <= set(keys)
        ways = set()
        for at, key in enumerate(COLUMNS):
            head = page.locator(f"#items thead th[data-key={key}]")
            for by in ("mouse", "Enter" if at % 2 else "Space"):
                if by == "mouse":
                    head.get_by_role("button").click()
                else:
                    head.get_by_role("button").press(by)
                way = head.get_attribute("aria-sort")
                ways.add((key, way))
                cells = shown(page)
                assert len(cells) == 100
                expected = expected_order(rows, key, up=way == "ascending")[:100]
                if key == "item":
                    assert [natural(row[key]) for row in cells] == expected
                    continue
                half = 0.51 * 10.0 ** -max(len(row[key].partition(".")[2]) for row in cells)
                found = [number(row[key]) for row in cells]
                np.testing.assert_allclose(found, expected, atol=half)
                own = [COLUMNS[key](whole[row["item"]]) for row in cells]
                np.testing.assert_allclose(found, own, atol=half)
            assert page.locator("#items th[aria-sort]").count() == 1
        assert ways == {(key, way) for key in COLUMNS for way in ("ascending", "descending")}
        keep(page, "sorted")


def test_the_annotators_sort_by_verdict_and_by_reliability(open_page: Open, demo: Path) -> None:
    rows = read(demo, "annotators")
    with open_page(demo) as page:
        page.get_by_role("link", name="Annotators", exact=False).first.click()
        words = [row["verdict"] for row in shown(page, "annotator-table")]
        assert len({word.split()[0] for word in words}) > 1
        assert "Reliable" in words[-1]  # the worst first
        head = page.locator("#annotator-table th[data-key=reliability]")
        head.get_by_role("button").click()
        found = [number(row["reliability"]) for row in shown(page, "annotator-table")]
        expected = sorted((float(row["reliability"]) for row in rows), reverse=True)
        np.testing.assert_allclose(found, expected, atol=0.0051)


def test_the_table_says_how_it_is_sorted_from_the_start(open_page: Open, demo: Path) -> None:
    with open_page(demo) as page:
        ranks = page.locator("#items th[data-key=rank]")
        expect(ranks).to_have_attribute("aria-sort", "ascending")
        verdict = page.locator("#annotator-table th[data-key=verdict]")
        expect(verdict).to_have_attribute("aria-sort", "ascending")
        ranks.get_by_role("button").click()
        expect(ranks).to_have_attribute("aria-sort", "descending")
        assert shown(page)[0]["rank"] == "60"


def matching(names: list[str], words: str) -> list[str]:
    """Find what holds every word, as Python does."""
    return [one for one in names if all(word in one.lower() for word in words.lower().split())]


def test_those_who_could_be_first_can_be_listed(open_page: Open, thousand: Path) -> None:
    could = thousand_result().to_run().could_be_first
    names = [row["item"] for row in read(thousand)]
    with open_page(thousand) as page:
        page.locator("#items-filter").select_option(label=f"Could be the best ({len(could):,})")
        shown = page.locator("#items tbody summary")
        expect(shown).to_have_text([names[k] for k in could[:100]])
        expect(page.locator("#items-count")).to_have_text(f"{len(could):,} of 1,000 items")


def test_search_finds_what_python_finds(open_page: Open, thousand: Path) -> None:
    names = [row["item"] for row in read(thousand)]
    with open_page(thousand) as page:
        search, following = page.locator("#items-search"), page.locator("#items-pager button").last
        for words in ("Text 99", "text 1 of 1", "9 OF 3", "Text 5"):
            search.fill(words)
            found = items_of(page)
            while following.is_visible() and following.is_enabled():
                following.click()
                found += items_of(page)
            assert found == matching(names, words)
            expect(page.locator("#items-count")).to_have_text(f"{len(found):,} of 1,000 items")
        search.fill("nowhere")
        expect(page.locator("#items-none")).to_contain_text("Nothing matches “nowhere”.")
        assert not shown(page)
        keep(page, "nothing-found")
        search.fill("")
        assert items_of(page) == names[:100]


def test_paging_goes_through_all_rows(open_page: Open, thousand: Path) -> None:
    names = [row["item"] for row in read(thousand)]
    with open_page(thousand) as page:
        buttons = page.locator("#items-pager button")
        back, following = buttons.first, buttons.last
        assert back.is_disabled()
        for begin in range(100, 1000, 100):
            following.click()
            assert items_of(page) == names[begin : begin + 100]
        assert following.is_disabled()
        expect(page.locator("#items-pager")).to_contain_text("901 to 1,000 of 1,000")
        back.click()
        assert items_of(page) == names[800:900]


def test_the_slider_counts_as_python_counts(open_page: Open, demo: Path) -> None:
    """In, open and out at every k, by the ranks that the folder leaves each item."""
    met = json.loads((demo.parent / "comparisons.json").read_text())
    names = [row["item"] for row in read(demo)]
    ends = list(zip(met["best"], met["worst"], strict=True))
    with open_page(demo) as page:
        for k in (1, 5, 10, 30, 59):
            page.locator("#k").fill(str(k))
            counts = {
                "in": sum(worst <= k for _, worst in ends),
                "out": sum(best > k for best, _ in ends),
            }
            counts["edge"] = len(ends) - sum(counts.values())
            for state, n in counts.items():
                expect(page.locator(f"[data-state={state}] b")).to_have_text(str(n))
        page.locator("#k").fill("10")
        page.locator("[data-state=edge]").click()
        left_open = [names[k] for k, (best, worst) in enumerate(ends) if best <= 10 < worst]
        assert items_of(page) == left_open
        page.locator("[data-state=edge]").click()
        assert len(shown(page)) == 60


def test_components_can_be_looked_at_one_by_one(open_page: Open, tmp_path: Path) -> None:
    rows = [(f"u{k}", a, b) for k in range(3) for a, b in ("ab", "bc", "ac", "xy", "yz")]
    assess(rows, warn=False).save(tmp_path)
    with open_page(tmp_path / "report.html") as page:
        expect(page.locator("h1")).to_contain_text("No common order")
        heads = page.locator("#items .part")
        expect(heads).to_have_count(2)
        expect(heads.first).to_contain_text("Component 1 3 items; ")
        assert [row["rank"] for row in shown(page)] == ["1", "2", "3"] * 2
        page.locator("#items th[data-key=item] button").click()
        expect(heads).to_have_count(0)
        page.locator("#items th[data-key=rank] button").click()
        expect(heads).to_have_count(2)
        page.locator("#items-filter").select_option(label="Component 2 (3 items)")
        found = set(items_of(page))
        page.locator("#items-filter").select_option(label="Component 1 (3 items)")
        assert {frozenset(found), frozenset(items_of(page))} == {frozenset("abc"), frozenset("xyz")}
        page.locator("#items-filter").select_option("")
        assert len(shown(page)) == 6


def test_a_row_opens_to_what_is_known_of_it(open_page: Open, demo: Path) -> None:
    rows = read(demo)
    with open_page(demo) as page:
        body = page.locator("#items tbody").nth(3)
        detail = body.locator(".detail")
        assert not detail.is_visible()
        body.locator("summary").press("Enter")
        assert detail.is_visible()
        won = json.loads((demo.parent / "comparisons.json").read_text())["record"][3][0]
        expect(detail).to_contain_text(f"{won} won")
        expect(detail).to_contain_text(f"{rows[3]['n_judgments']} judgments against")
        expect(detail).to_contain_text("By your score it is")
        keep(page, "row-open")
        other = detail.locator('a[href^="#item="]').first
        name = other.inner_text()
        other.click()
        expect(page.locator("#items tbody.hit summary")).to_have_text(name)


def test_links_lead_to_tabs_items_annotators_and_words(open_page: Open, demo: Path) -> None:
    item, who = read(demo)[40]["item"], read(demo, "annotators")[7]["annotator"]
    with open_page(demo) as page:
        for tab in ("annotators", "quality", "method", "results"):
            page.evaluate("(to) => { location.hash = to; }", tab)
            expect(page.locator(f"#{tab}")).to_be_visible()
            expect(page.locator("main > section:visible")).to_have_count(1)
            expect(page.locator(".tabs a[aria-current]")).to_have_attribute("href", f"#{tab}")
        page.evaluate("(to) => { location.hash = `item=${to}`; }", item)
        expect(page.locator("#items tbody.hit summary")).to_have_text(item)
        page.evaluate("(to) => { location.hash = `annotator=${to}`; }", who)
        expect(page.locator("#annotator-table tbody.hit th")).to_have_text(who)
        page.evaluate("location.hash = 'word-consensus'")
        expect(page.locator("#word-consensus")).to_be_in_viewport()
        page.evaluate("location.hash = 'results'")
        page.locator("#items .term").first.focus()
        expect(page.locator("#tip")).to_contain_text("rank")
        page.keyboard.press("Escape")
        assert not page.locator("#tip").is_visible()


def test_the_table_can_be_saved_for_a_spreadsheet(open_page: Open, hostile: Path) -> None:
    with open_page(hostile) as page:
        with page.expect_download() as saved:
            page.get_by_role("button", name="Download CSV").click()
        text = Path(saved.value.path()).read_text(encoding="utf-8-sig")
        rows = list(csv.DictReader(io.StringIO(text, newline="")))
        assert {row["item"].removeprefix("'") for row in rows} == set(HOSTILE)
        assert not any(row["item"][:1] in "=+@" for row in rows)


def test_who_beat_whom_says_what_the_files_say(open_page: Open, demo: Path) -> None:
    met = json.loads((demo.parent / "comparisons.json").read_text())
    i, j, won, lost, _ = met["pairs"][5]
    with open_page(demo) as page:
        page.get_by_role("link", name="who beat whom").click()
        svg = page.locator(".matrix:visible")
        svg.scroll_into_view_if_needed()
        box = svg.bounding_box()
        assert box is not None
        scale = box["width"] / float(str(svg.get_attribute("viewBox")).split()[2])
        page.mouse.move(box["x"] + scale * (170 + 14 * j + 7), box["y"] + scale * (18 + 14 * i + 7))
        first, second = met["items"][i], met["items"][j]
        expect(page.locator("#shares .reading")).to_have_text(
            f"{first} won {won} and lost {lost} against {second}."
        )
        keep(page, "matrix")


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
        page.wait_for_function("localStorage.getItem('aggcal-theme') === 'dark'")
        page.reload()
        page.wait_for_function("document.documentElement.dataset.theme === 'dark'")


@pytest.mark.parametrize("name", ["demo", "thousand", "hostile"])
def test_the_answer_is_there_without_javascript(
    name: str, open_page: Open, request: pytest.FixtureRequest
) -> None:
    report: Path = request.getfixturevalue(name)
    rows = read(report)
    rows = rows if len(rows) <= STATIC_ROWS else rows[:FIRST_ROWS]
    with open_page(report, java_script_enabled=False) as page:
        bodies = page.locator("#items tbody")
        assert bodies.count() == len(rows)
        for k in (0, len(rows) - 1):
            expect(bodies.nth(k).locator("summary")).to_contain_text(rows[k]["item"][:80])
            calibrated = bodies.nth(k).locator(".c-score").inner_text().split()[0]
            assert number(calibrated) == pytest.approx(number(rows[k]["calibrated"]), abs=0.051)
        for section in ("results", "annotators", "quality", "method"):
            assert page.locator(f"#{section}").is_visible()
        opened = bodies.nth(1)
        opened.locator("summary").click()
        assert opened.locator(".parts").is_visible()
        assert not page.get_by_role("searchbox").count()
        assert not page.locator("#theme").is_visible()
        told = page.get_by_text("JavaScript is needed")
        assert (told.count() > 0 and told.first.is_visible()) == (name == "thousand")


def inside(part: Locator, whole: tuple[float, float]) -> bool:
    """Tell whether all of a part is between two places, from side to side."""
    frame = part.bounding_box()
    assert frame is not None
    return whole[0] <= frame["x"] and frame["x"] + frame["width"] <= whole[1]


def test_the_answer_is_in_view_on_a_phone(open_page: Open, demo: Path) -> None:
    with open_page(demo, **PHONE) as page:
        assert inside(page.locator("#theme"), (0, 390))
        row = page.locator("#items tbody").first
        for part in (".c-rank", ".c-item", ".c-score", ".c-chart"):
            assert inside(row.locator(part), (0, 390))
        # Nothing scrolls within what scrolls.
        inner = """() => [...document.querySelectorAll("main *")].filter((one) =>
            one.scrollHeight > one.clientHeight + 2 && one.clientHeight > 40 &&
            ["auto", "scroll"].includes(getComputedStyle(one).overflowY)).length"""
        assert page.evaluate(inner) == 0


def test_keys_show_where_they_are(open_page: Open, demo: Path) -> None:
    with open_page(demo) as page:
        page.locator("#items-search").focus()
        seen = set()
        for _ in range(28):
            page.keyboard.press("Tab")
            at = page.locator(":focus")
            assert at.evaluate("(one) => getComputedStyle(one).outlineStyle") != "none"
            seen.add(at.evaluate("(one) => one.tagName"))
        assert {"BUTTON", "SELECT", "INPUT", "A", "SUMMARY"} <= seen
        page.locator("#items th button").nth(2).focus()
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


def test_paper_gets_the_light_page_with_the_first_rows_and_headings(
    open_page: Open, demo: Path
) -> None:
    with open_page(demo, color_scheme="dark") as page:
        page.emulate_media(media="print", color_scheme="dark")
        page.set_viewport_size({"width": 700, "height": 1000})
        assert_fits(page)
        ink, ground = colours(page)
        assert max(map(int, re.findall(r"\d+", ink)[:3])) < 80
        assert ground in {"rgba(0, 0, 0, 0)", "rgb(255, 255, 255)"}
        sheets = printed(page, "demo-print")
    text = "\n".join(sheets)
    assert len(sheets) <= 9
    rows = read(demo)
    for row in rows[:50]:
        assert row["item"] in text
    assert "The first 50 of 60 items; all are in items.csv." in text
    for title in ("Results", "annotators are reliable", "What can be claimed", "Glossary"):
        assert title in text
    assert "Search" not in text
    # The heading of the table is on each of its sheets.
    full = [sheet for sheet in sheets if len(re.findall(r"\bitem-\d\d\b", sheet)) > 20]
    assert all("Judgments" in sheet for sheet in full)


def test_paper_of_many_items_stays_short(open_page: Open, thousand: Path) -> None:
    with open_page(thousand) as page:
        sheets = printed(page, "thousand-print")
        assert len(sheets) <= 10
        assert "The first 50 of 1,000 items; all are in items.csv." in " ".join(
            "\n".join(sheets).split()
        )
        assert len(shown(page)) == 100  # afterwards the page is as it was


def test_hostile_names_are_shown_as_text(open_page: Open, hostile: Path) -> None:
    order = [row["item"] for row in read(hostile)]
    assert set(order) == set(HOSTILE)
    for script in (True, False):
        with open_page(hostile, java_script_enabled=script) as page:
            cells = page.locator("#items .c-item summary")
            assert cells.count() == len(order)
            for k, (cell, name) in enumerate(zip(cells.all(), order, strict=True)):
                if len(name) <= 120:
                    assert cell.text_content() == name
                else:
                    assert cell.text_content() == name[:120] + "…"
                    cell.click()  # which opens the row
                    expect(page.locator("#items .parts").nth(k)).to_contain_text(name[:2000])
            hebrew = page.locator("#items summary", has_text="שלום")
            assert hebrew.evaluate("(one) => getComputedStyle(one).direction") == "rtl"
            tall = cells.evaluate_all("(all) => Math.max(...all.map((one) => one.offsetHeight))")
            assert tall < 60
            assert_fits(page)


def test_hostile_words_can_be_searched_for(open_page: Open, hostile: Path) -> None:
    with open_page(hostile) as page:
        for name in HOSTILE[:4]:
            page.locator("#items-search").fill(name)
            assert items_of(page) == [name]
            page.locator("#items-search").fill(f"{name} <b>no</b>")
            expect(page.locator("#items-none")).to_contain_text(f"“{name} <b>no</b>”.")


def test_a_hundred_thousand_items_stay_usable(open_page: Open, tmp_path: Path) -> None:
    n = 100_000
    study = simulate(items=100, annotators=50, judgments=2_000, seed=3)
    result: Assessment = assess(
        study.judgments, study.scores, method="btl", uncertainty=None, warn=False
    )
    assert result.consensus is not None
    # Numbers of any kind do for a page; fitting so many items takes longer than showing them.
    random = np.random.default_rng(4)
    items: Columns = {
        name: np.repeat(each, n // 100) for name, each in result.item_columns().items()
    }
    items["item"] = as_text(f"item-{k:06d}" for k in random.permutation(n))
    items["rank"] = np.arange(1, n + 1)
    for name, room in (("model", 5.0), ("calibrated", 5.0), ("win_rate", 0.05)):
        items[name] = items[name] + room * random.random(n)
    items["consensus"] = np.sort(items["consensus"] + 0.1 * random.random(n))[::-1]
    for name, room in (("rank", 500.0), ("calibrated", 7.123)):
        off = room * random.random(n)
        items |= {f"{name}_low": items[name] - off, f"{name}_high": items[name] + off}
    items["consensus_se"] = random.random(n)
    told = result.to_dict() | {"n_items": n, "n_calibrated": n}
    report = tmp_path / "report.html"
    page_text = rendered(told, items, result.consensus.annotator_columns())
    report.write_text(page_text, encoding="utf-8")
    assert report.stat().st_size < 5_000_000
    names = items["item"].tolist()
    with open_page(report) as page:
        keep(page, "hundred-thousand-light")
        expect(page.locator("#items-pager")).to_contain_text("1 to 100 of 100,000")
        assert items_of(page) == names[:100]
        page.locator("#items th[data-key=item] button").click()
        assert items_of(page) == sorted(names)[:100]
        page.get_by_role("button", name="More columns").click()
        page.locator("#items th[data-key=model] button").click()
        best = np.sort(np.asarray(items["model"], dtype=float))[::-1][:100]
        np.testing.assert_allclose([number(row["model"]) for row in shown(page)], best, atol=0.051)
        page.locator("#items-search").fill("0999")
        many = sum("0999" in name for name in names)
        expect(page.locator("#items-count")).to_have_text(f"{many:,} of 100,000 items")
        page.locator("#items-search").fill("")
        page.set_viewport_size(PHONE["viewport"])
        keep(page, "hundred-thousand-phone")
        assert_fits(page)
        assert_accessible(page, "phone")
