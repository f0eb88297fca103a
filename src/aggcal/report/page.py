"""What every page shares: its head, its strict policy, light and dark."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal.pages.numbers import cut
from aggcal.report.marks import moved, whisker
from aggcal.report.templates import environment, number

if TYPE_CHECKING:
    from jinja2 import Environment

_THEME = (
    'try{const kept=localStorage.getItem("aggcal-theme");'
    'if(kept==="dark"||kept==="light")document.documentElement.dataset.theme=kept}'
    'catch{}document.documentElement.classList.add("scripted")'
)
"""Before the page is drawn: the theme that the reader chose, and that scripts run at all."""


def page(template: str, *, style: str, script: str, **data: Any) -> str:
    """Render a template of this package as one self-contained page.

    Its policy allows the style and the scripts given here, by their digests, and nothing else.

    Parameters
    ----------
    template
        The name of its file.
    style, script
        Our own texts, in which ids are escaped already.
    **data
        What the template shows.

    Examples
    --------
    >>> "<h1>" in page("message.html", style="", script="", title="No such run", detail="Look.")
    True
    """
    from markupsafe import Markup

    parts = {"theme": _THEME, "style": style, "script": script}
    return (
        templates()
        .get_template(template)
        .render(
            hashes={name: Markup(_hash(text)) for name, text in parts.items()},
            **{name: Markup(text) for name, text in parts.items()},
            **data,
        )
    )


def templates() -> Environment:
    """Return what renders the templates of this package.

    Examples
    --------
    >>> templates().from_string("{{ 1234 | number }}").render()
    '1,234'
    """
    found = environment("aggcal.report")
    found.filters |= {"number": number, "cut": cut, "whisker": whisker, "moved": moved}
    return found


def file(name: str) -> str:
    """Return a file of this package.

    Examples
    --------
    >>> "light-dark" in file("report.css")
    True
    """
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy calls a text that the page holds itself."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def grid_lines(where: str, places: list[str], marks: Sequence[tuple[str, bool]] = ()) -> str:
    """Return the lines that the rows of a chart share, as the background of its cells.

    ``marks`` are lines that stand out (the cut, and boundaries of grades), True for the cut.

    Examples
    --------
    >>> grid_lines(".chart", [])
    ''
    """
    if not places and not marks:
        return ""
    strong = "color-mix(in srgb,var(--edge) 45%,transparent)"
    colours = [*("var(--edge)" if cut else strong for _, cut in marks), *("#8883" for _ in places)]
    images = ",".join(f"linear-gradient({one},{one})" for one in colours)
    at = ",".join(f"{place}% 0" for place in (*(mark for mark, _ in marks), *places))
    wide = ",".join([*("2px 100%" if cut else "1px 100%" for _, cut in marks), "1px 100%"])
    return (
        f"{where}{{background-image:{images};background-position:{at};"
        f"background-size:{wide}{',1px 100%' * (len(places) - 1)};background-repeat:no-repeat}}"
    )
