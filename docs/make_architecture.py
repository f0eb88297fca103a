"""Draw the layers of the package and its imports, from the code and the import contract.

    python docs/make_architecture.py            writes docs/explanation/architecture.svg

The layers are those that pyproject.toml states and ``make imports`` checks. An arrow is an import
in the code; all of them point down. Imports of the two lowest layers, which every package uses,
are left out. The colours follow the reader's light or dark theme.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "aggcal"
WIDTH, LAYER, BOX, GAP, WIDEST = 860, 72, 42, 24, 300
GROUND = 2
WHAT = {
    "cli": "parse, call, print",
    "plot": "matplotlib figures",
    "sklearn": "scikit-learn estimators",
    "assessment": "assess(): both stages, save",
    "report": "results → documents",
    "pages": "HTML, Markdown, JSON, SVG",
    "advice": "check · suggest · guarantees",
    "calibration": "Stage 2: calibrate()",
    "aggregation": "Stage 1: aggregate() · fits · uncertainty",
    "engines": "where rows lie: Dask · GPU",
    "simulation": "a known truth",
    "io": "tables · formats · writing",
    "metrics": "agreement, error",
    "datasets": "real data",
    "data": "Judgments · Scores · Features · graph",
    "_core": "arrays · tables · text · kernels",
    "registry": "what is chosen by name",
    "errors": "the error tree",
    "_version": "version",
}
"""What each package is for, in a few words."""

STYLE = (
    "svg{color:#1f2328}.arrow{fill:none;stroke:#7a8896;stroke-opacity:.6}.tip{fill:#7a8896}"
    ".box{fill:#f4f6f8;stroke:#5b6b7b}text{fill:currentColor}.what{opacity:.8}"
    "@media(prefers-color-scheme:dark){svg{color:#e6edf3}.box{fill:#20262d;stroke:#7a8896}}"
)
"""Colours on light and on dark pages."""


def layers() -> list[list[str]]:
    """Return the packages of each layer, the highest first, as the contract states them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    stated = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[name.strip().removeprefix("aggcal.") for name in layer.split("|")] for layer in stated]


def imported(path: Path) -> Iterator[str]:
    """Go through the packages that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "aggcal":
            parts = str(node.module).split(".")
            yield from [parts[1]] if len(parts) > 1 else [name.name for name in node.names]


def imports(packages: set[str]) -> set[tuple[str, str]]:
    """Return which package imports which."""
    found: set[tuple[str, str]] = set()
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).with_suffix("").parts[0]
        if own in packages:
            found.update((own, to) for to in imported(path) if to in packages and to != own)
    return found


def drawn() -> str:
    """Return the picture."""
    stated = layers()
    places: dict[str, tuple[float, float, float]] = {}
    for level, packages in enumerate(stated):
        n = len(packages)
        wide = min(WIDEST, (WIDTH - GAP) / n - GAP)
        # Each layer is shifted to one side and the next to the other, to let arrows pass.
        left = (WIDTH - n * (wide + GAP) + GAP) / 2 + (level % 2 - 0.5) * 90 / n
        for k, package in enumerate(packages):
            places[package] = (left + k * (wide + GAP), 16 + level * LAYER, wide)
    ground = {package for packages in stated[-GROUND:] for package in packages}
    parts = []
    for above, below in sorted(imports(set(places) - ground)):
        (x1, y1, w1), (x2, y2, w2) = places[above], places[below]
        # Arrows that pass a layer leave near the side, those to the next layer in the middle.
        aside = min((y2 - y1) / LAYER - 1, 6) / 6 * (0.45 if x2 + w2 / 2 >= x1 + w1 / 2 else -0.45)
        start, end = x1 + w1 * (0.5 + aside), x2 + w2 * (0.5 + aside)
        bend = (y1 + BOX + y2) / 2
        parts.append(
            f'<path d="M{start:.0f},{y1 + BOX} C{start:.0f},{bend:.0f} {end:.0f},{bend:.0f} '
            f'{end:.0f},{y2}" marker-end="url(#tip)">'
            f"<title>{above} imports {below}</title></path>"
        )
    lines = f'<g class="arrow">{"".join(parts)}</g>'
    boxes = "".join(
        f'<rect x="{x:.0f}" y="{y}" width="{w:.0f}" height="{BOX}" rx="6" class="box"/>'
        f'<text x="{x + w / 2:.0f}" y="{y + 17}" font-weight="600">{package}</text>'
        f'<text x="{x + w / 2:.0f}" y="{y + 32}" font-size="11" class="what">'
        f"{escape(WHAT[package])}</text>"
        for package, (x, y, w) in places.items()
    )
    high = 16 + len(stated) * LAYER - LAYER + BOX + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" '
        f'height="{high}" role="img" font-family="sans-serif" font-size="14" text-anchor="middle">'
        f"<title>The packages of aggcal in layers: each imports only packages below it</title>"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0,0 L8,4 L0,8 z" class="tip"/></marker></defs>'
        f"<style>{STYLE}</style>{lines}{boxes}</svg>\n"
    )


if __name__ == "__main__":
    target = ROOT / "docs" / "explanation" / "architecture.svg"
    target.write_text(drawn(), encoding="utf-8")
    print(f"wrote {target.name}")  # noqa: T201
