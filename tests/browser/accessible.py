"""Pages as axe sees them: whether everybody can read, hear and use them."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

RULES: dict[str, Any] = {
    "runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
}


def _only(*rules: str) -> dict[str, Any]:
    return {"runOnly": {"type": "rule", "values": list(rules)}}


COLOURS = _only("color-contrast", "link-in-text-block")
NO_COLOURS = RULES | {"rules": {rule: {"enabled": False} for rule in COLOURS["runOnly"]["values"]}}
NO_CONTRAST = RULES | {"rules": {"color-contrast": {"enabled": False}}}
CHECKED = {"light": (NO_COLOURS, COLOURS), "dark": (COLOURS,), "phone": (NO_CONTRAST,)}
"""What axe looks for: dark differs from light in its colours, a phone in the rest, of which links
that cannot be told from the words around them are a part."""
MARK_ALIKE = """() => {
    const seen = new Set();
    const look = (one) => {
        const style = getComputedStyle(one);
        const words = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        return [
            one.tagName, one.getAttribute("class"), words, one.checkVisibility(), style.color,
            style.fill, style.backgroundColor, style.backgroundImage, style.opacity, style.position,
            style.fontSize, style.fontWeight, style.fontStyle, style.fontFamily, style.display,
            style.textDecorationLine, style.borderBottom, style.outline,
        ].join();
    };
    const alike = (one, above) => {
        const path = `${above}/${look(one)}`;
        let known = seen.has(path);
        seen.add(path);
        for (const each of one.children) known = alike(each, path) && known;
        one.toggleAttribute("data-alike", known);
        return known;
    };
    alike(document.body, "");
}"""
"""Mark what looks as something before it does, as far as colours, fonts and grounds go, and stands
in what looks the same: its contrast is the same, and takes axe most of its time. So do links."""


def assert_accessible(page: Page, view: str) -> None:
    """Let axe look at everything, what is scrolled away and folded up included."""
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    # Rows and dots are alike, and axe is slow: a few speak for all.
    page.evaluate("""() => {
        for (const table of document.querySelectorAll("table.grid"))
            [...table.tBodies].slice(4).forEach((one) => one.remove());
        for (const each of document.querySelectorAll("tbody, svg")) {
            const all = [...each.querySelectorAll("tr, circle")];
            if (all.length > 20) all.slice(5).forEach((one) => one.remove());
        }
    }""")
    # Outside the page's own policy, as axe itself: nothing covers what is below it.
    page.evaluate("""() => {
        for (const one of document.querySelectorAll("nav, thead th, thead"))
            one.style.position = "static";
        for (const one of document.querySelectorAll("main > section, .heat, #table-view"))
            one.hidden = false;
    }""")
    page.evaluate(AXE_SCRIPT)
    for rules in CHECKED[view]:
        left_out = None
        if rules is COLOURS:
            page.evaluate(MARK_ALIKE)
            # The outermost only: axe looks for each element in each of those left out.
            left_out = {"exclude": [[":not([data-alike]) > [data-alike]"]]}
        loaded = Axe(axe_script="undefined")
        result = loaded.run(page, left_out, rules | {"resultTypes": ["violations"]})
        assert result.violations_count == 0, result.generate_report()
