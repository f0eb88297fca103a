"""The page where every published number stands beside ours, as a document."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from importlib import resources

from aggcal._version import __version__
from aggcal.pages.document import (
    Block,
    Bullets,
    Document,
    Figure,
    Group,
    Heading,
    Section,
    Strong,
    Table,
    Text,
)
from paper.dots import UNCENTRED
from paper.published import BASELINES, NAMES
from paper.result import METRICS, Cell, Result, number, wide_table

TABLES = {
    "reading-level": "Table 1: Reading Level",
    "scaled": "Table 3: the scaled consensus",
    "dots": "Tables 2 and 4: Dots, all centred",
    "dots" + UNCENTRED: "Tables 2 and 4: Dots, nothing centred",
}
"""The tables by experiment, with the paper's numbers for them."""

SYMBOLS = {"scaled": "s*scaled", "consensus": "s*", "model": "s_p", "calibrated": "ŝ"}
"""What the paper calls each vector."""

FIGURES = {
    "violin": "Violins of Reading Level (Figures 2 and 8)",
    "rq3": "Errors of the ranking (Figure 3, and against the truth)",
    "radar": "Radar charts of Dots (Figures 5 to 7 and 9 to 12)",
    "corruption": "Examples of corruption (Figure 4)",
}
"""The figures by the beginning of their names."""

MARKS = {"differs": "≠", "not comparable": "°"}
"""What stands behind a number that is not reproduced."""

_MANY = 6  # cells: of more only the places are named


def document(results: Sequence[Result], *, quick: bool) -> Document:
    """Return the page of some experiments."""
    cells = [cell for result in results for cell in result.cells]
    judged = [cell for cell in cells if cell.printed and _judged(cell)]
    reproduced = sum(cell.status == "reproduced" for cell in judged)
    lead, texts = words()
    # Each section has its text, and what this run gave; without any of it the section is not shown.
    given: dict[str, list[Block]] = {
        "Reproduced": _counts(judged),
        "Tables": _tables(cells),
        "Experiments": [block for result in results for block in result.blocks],
        "Figures": _figures(results),
    }
    return Document(
        title="The paper, reproduced",
        about=(
            "The paper ",
            Strong("Aggregate-then-Calibrate"),
            " beside aggcal" + (" · a quick run: fewer repetitions and levels" if quick else ""),
        ),
        headline=f"{reproduced} of {len(judged)} printed numbers are reproduced"
        if judged
        else "The paper prints no number of this experiment",
        lead=lead,
        sections=[
            Section(title.lower(), title, title, [*text, *given.get(title, [])])
            for title, text in texts.items()
            if given.get(title, text)
        ],
        foot=f"Made with aggcal {__version__}.",
    )


def words() -> tuple[list[Block], dict[str, list[Block]]]:
    """Read the static text, ``words.md``: the lead, and what sections begin with.

    Its numbers are those that every run gives.

    Examples
    --------
    >>> list(words()[1])
    ['Reproduced', 'Questions', 'Tables', 'Experiments', 'Figures', 'Differences']
    """
    text = (resources.files("paper") / "words.md").read_text("utf-8")
    lead, *sections = text.strip().split("\n\n## ")
    texts = {}
    for section in sections:
        first, *groups = (part.split("\n\n") for part in section.split("\n\n### "))
        title, *parts = first
        texts[title] = [_block(part, lede=True) for part in parts]
        for heading, *parts in groups:
            texts[title].append(_group(heading, list(map(_block, parts))))
    return [_block(lead, lede=True)], texts


def _group(title: str, blocks: Sequence[Block], name: str = "") -> Group:
    return Group([Heading(title, id=name), *blocks], "sec")


def _block(text: str, *, lede: bool = False) -> Block:
    if text.startswith("| "):
        heads, _, *rows = (line.strip("| ").split(" | ") for line in text.splitlines())
        return Table(heads, rows, "flow", whole=True)
    if text.startswith("- "):
        return Bullets([" ".join(line.split()) for line in f"\n{text}".split("\n- ")[1:]])
    first = lede or text.startswith("The paper:")
    return Text(" ".join(text.split()), "lede" if first else "")


def _counts(judged: list[Cell]) -> list[Block]:
    """Count what became of the printed cells, by table and vector, and say why not all agree."""
    if not judged:
        return []
    counted: dict[tuple[str, str], list[Cell]] = {}
    grouped: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in judged:
        table = cell.experiment + (UNCENTRED if cell.metric.endswith(UNCENTRED) else "")
        vector = "baselines" if cell.method in BASELINES else cell.vector
        counted.setdefault((TABLES[table], vector), []).append(cell)
        if cell.status in MARKS:
            grouped.setdefault((cell.experiment, cell.status, cell.note), []).append(cell)
    rows = [
        [
            *(title, vector, str(len(row))),
            *(str(sum(c.status == each for c in row)) for each in ("reproduced", *MARKS)),
        ]
        for (title, vector), row in counted.items()
    ]
    heads = ("table", "vector", "printed", "reproduced", "differ ≠", "not comparable °")
    reasons = []
    for (experiment, status, note), group in grouped.items():
        methods = ", ".join(dict.fromkeys(NAMES[c.method] for c in group))
        where = f"{MARKS[status]} {experiment}: {methods} ({len(group)})"
        reasons.append([where, note or "no reason found", _named(group)])
    return [
        wide_table(heads, rows, frozenset(range(2, 6))),
        _group(
            "Why not all agree", [Table(("cells", "why", "which"), reasons, "flow", whole=True)]
        ),
    ]


def _named(group: list[Cell]) -> str:
    """Name cells: with both numbers, or many of them only by their place."""
    if len(group) > _MANY:
        return ", ".join(dict.fromkeys(_place(c) for c in group))
    several = len({c.method for c in group}) > 1
    return "; ".join(
        (f"{NAMES[c.method]}, " if several else "")
        + f"{_place(c)}: {c.printed} printed, {number(c.ours)} ours"
        for c in group
    )


def _place(cell: Cell) -> str:
    uncentred = ", uncentred" if cell.metric.endswith(UNCENTRED) else ""
    return f"{_title(cell.metric)} of {cell.vector}{uncentred}"


def _title(metric: str) -> str:
    return metric.removesuffix(UNCENTRED).replace("_", "-")


def _tables(cells: list[Cell]) -> list[Block]:
    """Arrange the cells of each table by method and metric."""
    blocks: list[Block] = []
    for name, title in TABLES.items():
        experiment, shifted, _ = name.partition(UNCENTRED)
        metrics = {metric + shifted for metric in METRICS}
        mine = [c for c in cells if c.experiment == experiment and c.metric in metrics]
        if mine:
            vectors = dict.fromkeys(f"{c.vector} ({SYMBOLS[c.vector]})" for c in mine)
            said = Text(f"Each cell: {' / '.join(vectors)}.", "lede")
            blocks.append(_group(title, [said, _table(mine)], name))
    return blocks


def _table(cells: list[Cell]) -> Group:
    places: dict[tuple[str, str], dict[str, list[Cell]]] = {}
    for cell in cells:
        places.setdefault((cell.method, cell.kind), {}).setdefault(cell.metric, []).append(cell)
    metrics = list(dict.fromkeys(cell.metric for cell in cells))
    rows = []
    for method in dict.fromkeys(cell.method for cell in cells):
        mine = {kind: row for (each, kind), row in places.items() if each == method}
        # Every kind has the printed numbers.
        either = next(iter(mine.values()))
        if any(cell.printed for row in either.values() for cell in row):
            rows.append([NAMES[method], "published", *(_printed(either[m]) for m in metrics)])
        rows += [
            [NAMES[method], kind, *(" / ".join(map(_marked, row[m])) for m in metrics)]
            for kind, row in mine.items()
        ]
    heads = ("method", "kind", *map(_title, metrics))
    return wide_table(heads, rows, frozenset(range(2, len(heads))))


def _printed(cells: list[Cell]) -> str:
    return " / ".join(c.printed or "–" for c in cells) if any(c.printed for c in cells) else ""


def _marked(cell: Cell) -> str:
    return number(cell.ours) + (MARKS.get(cell.status, "") if _judged(cell) else "")


def _judged(cell: Cell) -> bool:
    """Tell whether a cell is meant to give the printed number: the paper has no other recipe."""
    return cell.kind == "recipe" or cell.method in BASELINES


def _figures(results: Sequence[Result]) -> list[Block]:
    figures = [Figure(name, svg) for result in results for name, svg in result.figures.items()]
    figures += [
        Figure(
            name,
            caption=name.removeprefix("corruption-").upper(),
            picture=f"data:image/png;base64,{b64encode(png).decode()}",
        )
        for result in results
        for name, png in result.pictures.items()
    ]
    blocks: list[Block] = []
    for kind, title in FIGURES.items():
        if drawn := [figure for figure in figures if figure.name.startswith(kind)]:
            names = ", ".join(figure.name for figure in drawn)
            said = Text(f"In the folder figures: {names}.", only="text")
            blocks.append(_group(title, [Group(drawn, "ends"), said]))
    return blocks
