"""The figures of the documentation follow a light and a dark theme."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
FIGURES = (DOCS / "demo.svg", DOCS / "explanation" / "architecture.svg")


@pytest.mark.parametrize("figure", FIGURES, ids=lambda path: path.name)
def test_a_kept_figure_follows_the_theme(figure: Path) -> None:
    text = figure.read_text(encoding="utf-8")
    ET.fromstring(text)  # noqa: S314  # our own file
    assert "prefers-color-scheme:dark" in text
    assert "currentColor" in text
    assert 'fill="#fff"' not in text


def test_every_picture_has_one_for_dark_pages() -> None:
    pictures = {path.stem for path in (DOCS / "_static").glob("*.png")}
    assert pictures
    for name in pictures:
        assert name.endswith("-dark") or f"{name}-dark" in pictures, name


def test_a_figure_of_the_gallery_follows_the_theme(monkeypatch: pytest.MonkeyPatch) -> None:
    plt = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    from adaptive_figures import INK, RC, adaptive

    def drawn() -> str:
        with plt.rc_context(RC):
            figure, axes = plt.subplots()
            axes.plot([1, 2], [3, 4], color="red", label="a line")
            axes.set_title("A title")
            axes.legend()
            try:
                return adaptive(figure)
            finally:
                plt.close(figure)

    text = drawn()
    ET.fromstring(text)  # noqa: S314  # our own file
    assert INK not in text
    assert text.count("currentColor") > 5
    assert "#ff0000" in text  # colours that mean something stay
    assert ">A title</text>" in text
    assert drawn() == text
