"""What rows draw: dots, intervals and ranks as SVG.

Every place is a percentage that an axis wrote, so nothing in it needs escaping; and a page has
hundreds of rows, for which a template would take several times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

_MIDDLE = 'y1="50%" y2="50%"'


def whisker(marks: Mapping[str, str]) -> Markup:
    """Draw a number and its interval; nothing for what is not there.

    Examples
    --------
    >>> print(whisker({"dot": "50.00", "low": "", "high": ""}))
    <svg class="dw" aria-hidden="true"><circle class="pt" cx="50.00%" cy="50%" r="5"/></svg>
    """
    return _svg(_interval(marks), _dot(marks))


def moved(marks: Mapping[str, str]) -> Markup:
    """Draw how a score moved from the model's, with its interval and its block.

    ``tied`` says which part of its block a row is: "first", "middle" or "last".

    Examples
    --------
    >>> marks = {"tied": "", "model": "3.00", "dot": "", "low": "", "high": ""}
    >>> print(moved(marks))
    <svg class="dw" aria-hidden="true"><circle class="md" cx="3.00%" cy="50%" r="4"/></svg>
    """
    tied, model, dot = marks["tied"], marks["model"], marks["dot"]
    step = way = was = ""
    if tied:
        ends = "50%" if tied == "first" else "0", "50%" if tied == "last" else "100%"
        step = f'<line class="step" x1="{dot}%" x2="{dot}%" y1="{ends[0]}" y2="{ends[1]}"/>'
    if model and dot:
        way = f'<line class="mv" x1="{model}%" x2="{dot}%" {_MIDDLE}/>'
    if model:
        was = f'<circle class="md" cx="{model}%" cy="50%" r="4"/>'
    return _svg(step, way, _interval(marks), was, _dot(marks))


def _interval(marks: Mapping[str, str]) -> str:
    low, high = marks["low"], marks["high"]
    return f'<line class="ci" x1="{low}%" x2="{high}%" {_MIDDLE}/>' if low and high else ""


def _dot(marks: Mapping[str, str]) -> str:
    dot = marks["dot"]
    return f'<circle class="pt" cx="{dot}%" cy="50%" r="5"/>' if dot else ""


def _svg(*parts: str) -> Markup:
    from markupsafe import Markup

    return Markup(f'<svg class="dw" aria-hidden="true">{"".join(parts)}</svg>')
