"""The page's static text, ``words.md``: its numbers are those of the cells that every run gives."""

from __future__ import annotations

from importlib import resources

from aggcal.pages.document import Block, Bullets, Heading, Table, Text


def words() -> list[Block]:
    """Read the text: headings, paragraphs, lists and tables, with an empty line between them.

    Examples
    --------
    >>> words()[0]
    Heading(text='The questions', level=2, id='', only='')
    """
    blocks: list[Block] = []
    text = (resources.files("aggcal.paper") / "words.md").read_text("utf-8")
    for part in text.strip().split("\n\n"):
        if part.startswith("#"):
            marks, _, title = part.partition(" ")
            blocks.append(Heading(title, len(marks)))
        elif part.startswith("- "):
            lines = f"\n{part}".split("\n- ")[1:]
            blocks.append(Bullets([" ".join(line.split()) for line in lines]))
        elif part.startswith("|"):
            rows = [line.strip("| ").split(" | ") for line in part.splitlines()]
            blocks.append(Table(rows[0], rows[2:]))
        else:
            blocks.append(Text(" ".join(part.split())))
    return blocks
