"""Figures of matplotlib as one SVG that follows the reader's light or dark theme.

Axes, ticks and text are drawn in one colour that no figure uses. In the file it becomes
``currentColor``, which a style sheet inside the SVG sets by ``prefers-color-scheme``.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

INK, LIGHT, DARK = "#010203", "#1f2328", "#e6edf3"
"""The colour to replace, and what replaces it on a light and on a dark page."""

RC: dict[Any, Any] = {
    "axes.edgecolor": INK,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "figure.facecolor": "none",
    "legend.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "aggcal",
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}
"""Settings to draw such a figure under. Text stays text; the same figure gives the same file."""

_STYLE = (
    f"<style>svg{{color:{LIGHT}}}@media(prefers-color-scheme:dark){{svg{{color:{DARK}}}}}"
    "text{font-family:system-ui,sans-serif!important}</style>"
)


def adaptive(figure: Any) -> str:
    """Return a figure, drawn under `RC`, as an SVG for light and dark pages."""
    written = io.StringIO()
    figure.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None})
    head, body = re.split(r"(?=<svg )", written.getvalue(), maxsplit=1)
    tag, rest = body.split(">", 1)
    return f"{head}{tag}>{_STYLE}{rest}".replace(INK, "currentColor")


def reset(_: Any, __: str) -> None:
    """Prepare matplotlib before an example of the gallery runs."""
    import matplotlib as mpl

    mpl.rcdefaults()
    mpl.use("agg")
    mpl.rcParams.update(RC)


def scrape(_: Any, variables: dict[str, Any], gallery: dict[str, Any]) -> str:
    """Save the figures that a step of an example drew; return what shows them."""
    import matplotlib.pyplot as plt
    from sphinx_gallery.scrapers import figure_rst

    saved = []
    for number in plt.get_fignums():
        path = Path(next(variables["image_path_iterator"])).with_suffix(".svg")
        path.write_text(adaptive(plt.figure(number)), encoding="utf-8")
        saved.append(str(path))
    plt.close("all")
    return str(figure_rst(saved, gallery["src_dir"]))
