"""What people meet: printed results fit a terminal, cards show whatever they are given as text."""

from __future__ import annotations

from html.parser import HTMLParser
from unicodedata import east_asian_width

import pytest

import aggcal
from aggcal._core.ranking import FIRST
from aggcal._core.text import ROWS, WIDTH, clipped

HOSTILE = [
    "<script>alert(1)</script>",
    "</table></div><img src=x onerror=alert(1)>",
    "x" * 10_000,
    "\u202egnp.exe",
    "אבג <b>דה</b>",
    'quote" onmouseover="alert(1)',
    "two\nlines\r\x1b[31m",
    "a & b &amp; c",
    "漢字かな" * 30,
    "plain",
]
KNOWN_TAGS = {"div", "style", "p", "table", "thead", "tbody", "tr", "th", "td", "bdi"}
BARS = {"svg", "line", "circle"}
KNOWN_ATTRIBUTES = {"class", "dir", "aria-hidden", "width", "height", "x1", "x2", "y1", "y2"}
KNOWN_ATTRIBUTES |= {"cx", "cy", "r", "fill", "stroke", "stroke-width"}


class Card(HTMLParser):
    """What a browser would make of a card: its elements, its attributes and its cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.attributes: set[str] = set()
        self.cells: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "bdi":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1] == "bdi":
            self.cells[-1] += data


@pytest.fixture(scope="module")
def hostile() -> dict[str, object]:
    n = len(HOSTILE)
    rows = [(HOSTILE[k], HOSTILE[a], HOSTILE[(a + k + 1) % n]) for k in range(3) for a in range(n)]
    judgments = aggcal.read_judgments(rows)
    scores = {item: float(k) for k, item in enumerate(HOSTILE)} | {"only the model": 1.0}
    result = aggcal.assess(judgments, scores, warn=False)
    assert result.consensus is not None
    assert result.calibration is not None
    return {
        "Judgments": judgments,
        "Consensus": result.consensus,
        "Calibration": result.calibration,
        "Assessment": result,
        "no scores": aggcal.assess(judgments, warn=False),
        "no intervals": aggcal.aggregate(judgments, warn=False),
    }


NAMES = ["Judgments", "Consensus", "Calibration", "Assessment", "no scores", "no intervals"]


@pytest.mark.parametrize("name", NAMES)
def test_a_card_holds_nothing_but_its_own_elements(hostile: dict[str, object], name: str) -> None:
    made: str = hostile[name]._repr_html_()  # type: ignore[attr-defined]
    judgments = name == "Judgments"
    seen = Card(made)
    assert not seen.open
    assert set(seen.tags) <= KNOWN_TAGS | (set() if judgments else BARS)
    assert seen.attributes <= KNOWN_ATTRIBUTES
    assert seen.tags.count("tr") == 1 + (ROWS if judgments else FIRST)
    assert ("… and 22 more rows" in made) == judgments
    assert len(made) < 12_000
    assert "http" not in made
    assert "url(" not in made
    made.encode("utf-8")


def test_what_cannot_be_encoded_is_replaced() -> None:
    assert (
        clipped("\ud800 alone").encode("utf-8").decode("utf-8") == "\N{REPLACEMENT CHARACTER} alone"
    )


def test_ids_are_shown_as_they_read(hostile: dict[str, object]) -> None:
    consensus = hostile["Consensus"]
    assert isinstance(consensus, aggcal.Consensus)
    first = [clipped(item) for item in consensus.item_ids[consensus.order][:FIRST]]
    assert Card(consensus._repr_html_()).cells == first


@pytest.mark.parametrize("name", NAMES)
def test_printed_results_fit_a_terminal(hostile: dict[str, object], name: str) -> None:
    printed = str(hostile[name])
    for line in printed.split("\n"):
        assert sum(2 if east_asian_width(c) in "WF" else 1 for c in line) <= WIDTH
    assert not set(printed) & set("\x1b\r\u202e")


def test_every_warning_is_printed_with_its_remedy(hostile: dict[str, object]) -> None:
    result = hostile["Assessment"]
    assert isinstance(result, aggcal.Assessment)
    assert result.warnings
    printed, made = " ".join(str(result).split()), result._repr_html_()
    assert printed.count("warning: ") == made.count('"aggcal-warning"') == len(result.warnings)
    for warning in result.warnings:
        assert warning.remedy in printed


def test_judgments_say_what_was_merged_and_set_aside() -> None:
    rows = [("ann", "a", "b", "left")] * 3 + [("bob", "a", "b", "skip")]
    names = ("annotator", "left", "right", "outcome")
    judgments = aggcal.read_judgments([dict(zip(names, row, strict=True)) for row in rows])
    assert "2 duplicate rows" in str(judgments)
    assert "not fitted: 1 skip" in str(judgments)
    assert "not fitted: 1 skip" in judgments._repr_html_()
