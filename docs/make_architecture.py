"""Draw the rooms of the package and who imports whom, from the code and the import contract.

    python docs/make_architecture.py            writes docs/explanation/architecture.svg

The floors are those that pyproject.toml states and ``make imports`` checks. An arrow is an import
that the code has; every one of them runs down. Those to the two lowest floors, which all rooms
use, are left out.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "aggcal"
WIDTH, FLOOR, BOX, GAP, WIDEST = 860, 72, 42, 24, 300
GROUND = 2
WHAT = {
    "cli": "parse, call, print",
    "paper": "the paper's numbers",
    "plot": "matplotlib figures",
    "serve": "results in a browser",
    "assessment": "assess(): both stages, save",
    "report": "plain data → HTML, Markdown, SVG",
    "advice": "check · suggest · guarantees",
    "calibration": "Stage 2: calibrate()",
    "aggregation": "Stage 1: aggregate() · solve · uncertainty",
    "engines": "where rows lie: sharded · gpu",
    "simulation": "a known truth",
    "io": "tables · formats · writing",
    "models": "what is fitted",
    "metrics": "agreement, error",
    "datasets": "real data",
    "data": "Judgments · Scores · Features · graph",
    "_core": "arrays · tables · text · kernels",
    "registry": "what is chosen by name",
    "errors": "the error tree",
    "_version": "by itself",
}
"""What each room is for, in a few words."""


def floors() -> list[list[str]]:
    """Return the rooms of each floor, the highest first, as the contract states them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    stated = project["tool"]["importlinter"]["contracts"][0]["layers"]
    return [[room.strip().removeprefix("aggcal.") for room in floor.split("|")] for floor in stated]


def imported(path: Path) -> Iterator[str]:
    """Go through the rooms that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "aggcal":
            parts = str(node.module).split(".")
            yield from [parts[1]] if len(parts) > 1 else [name.name for name in node.names]


def imports(rooms: set[str]) -> set[tuple[str, str]]:
    """Return which room imports which."""
    found: set[tuple[str, str]] = set()
    for path in SOURCE.rglob("*.py"):
        own = path.relative_to(SOURCE).with_suffix("").parts[0]
        if own in rooms:
            found.update((own, to) for to in imported(path) if to in rooms and to != own)
    return found


def drawn() -> str:
    """Return the picture."""
    stated = floors()
    places: dict[str, tuple[float, float, float]] = {}
    for level, rooms in enumerate(stated):
        wide = min(WIDEST, (WIDTH - GAP) / len(rooms) - GAP)
        # The whole floor leans to one side and the next to the other, to let arrows pass.
        left = (WIDTH - len(rooms) * (wide + GAP) + GAP) / 2 + (level % 2 - 0.5) * 90 / len(rooms)
        for k, room in enumerate(rooms):
            places[room] = (left + k * (wide + GAP), 16 + level * FLOOR, wide)
    ground = {room for rooms in stated[-GROUND:] for room in rooms}
    parts = []
    for above, below in sorted(imports(set(places) - ground)):
        (x1, y1, w1), (x2, y2, w2) = places[above], places[below]
        # Those that pass a floor leave near the side, those to the next floor in the middle.
        aside = min((y2 - y1) / FLOOR - 1, 6) / 6 * (0.45 if x2 + w2 / 2 >= x1 + w1 / 2 else -0.45)
        start, end = x1 + w1 * (0.5 + aside), x2 + w2 * (0.5 + aside)
        bend = (y1 + BOX + y2) / 2
        parts.append(
            f'<path d="M{start:.0f},{y1 + BOX} C{start:.0f},{bend:.0f} {end:.0f},{bend:.0f} '
            f'{end:.0f},{y2}" marker-end="url(#tip)">'
            f"<title>{above} imports {below}</title></path>"
        )
    lines = f'<g fill="none" stroke="#7a8896" stroke-opacity=".55">{"".join(parts)}</g>'
    boxes = "".join(
        f'<rect x="{x:.0f}" y="{y}" width="{w:.0f}" height="{BOX}" rx="6" fill="#f4f6f8" '
        f'stroke="#5b6b7b"/><text x="{x + w / 2:.0f}" y="{y + 17}" font-weight="600">{room}</text>'
        f'<text x="{x + w / 2:.0f}" y="{y + 32}" font-size="11" fill="#444">'
        f"{escape(WHAT[room])}</text>"
        for room, (x, y, w) in places.items()
    )
    high = 16 + len(stated) * FLOOR - FLOOR + BOX + 16
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" '
        f'height="{high}" role="img" font-family="sans-serif" font-size="14" text-anchor="middle">'
        f"<title>The rooms of aggcal: each imports only rooms below it</title>"
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" '
        'markerHeight="6" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#7a8896"/></marker></defs>'
        f'<rect width="{WIDTH}" height="{high}" fill="#fff"/>{lines}{boxes}</svg>\n'
    )


if __name__ == "__main__":
    target = ROOT / "docs" / "explanation" / "architecture.svg"
    target.write_text(drawn(), encoding="utf-8")
    print(f"wrote {target.name}")  # noqa: T201
