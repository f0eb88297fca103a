"""What tests of pages share: the text of a page, and the blocks of a report as JSON has them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from typing import Any

from aggcal._core.tables import Columns
from aggcal.report.report import RENDERERS, report
from aggcal.report.run import Run


def visible(page: str) -> str:
    """Return the text of a page, without its scripts and styles."""
    bare = re.sub(r"(?s)<(script|style)\b.*?</\1>", " ", page)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", bare)).split())


def rendered(
    summary: dict[str, Any], items: Columns, annotators: Columns | None = None, **more: Any
) -> str:
    """Return the page of results that nobody made: of any size, with any ids and numbers."""
    return RENDERERS["html"](report(Run(summary, items, annotators or {}, **more)))


def document(result: Any, **options: Any) -> dict[str, Any]:
    """Return the report of an assessment as plain data."""
    found: dict[str, Any] = json.loads(result.report("json", **options))
    return found


def blocks(within: Any, kind: str = "") -> Iterator[dict[str, Any]]:
    """Return every block in a part of a document, or those of a kind."""
    if isinstance(within, dict):
        if within.get("block") == kind or (not kind and "block" in within):
            yield within
        within = list(within.values())
    if isinstance(within, list):
        for each in within:
            yield from blocks(each, kind)


def words(within: Any) -> str:
    """Return every text in a part of a document, as it is read."""
    if isinstance(within, str):
        return within
    if isinstance(within, dict) and within.get("block") == "term":
        return str(within.get("shown", within["word"]))
    if isinstance(within, dict):
        kept = ("text", "title", "heading", "line", "lines", "pairs", "blocks", "heads", "rows",
                "caption", "sections", "lead", "headline", "about")  # fmt: skip
        within = [within[key] for key in kept if key in within]
    return " ".join(filter(None, map(words, within))) if isinstance(within, list) else ""


def section(within: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a section of a document."""
    return next(each for each in blocks(within, "section") if each["id"] == name)


def listing(within: dict[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """Return the columns of a long table, by their keys."""
    table = next(each for each in blocks(within, "listing") if each["id"] == name)
    return {column["key"]: column for column in table["columns"]}
