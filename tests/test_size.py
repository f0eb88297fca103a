"""Functions and files stay short enough to be read in one go."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import aggcal

SOURCE = Path(aggcal.__file__).parent
LINES_OF_A_FUNCTION, LINES_OF_A_FILE = 50, 400


def bodies(path: Path) -> Iterator[tuple[str, int]]:
    """Each function of a file, and the lines of its body: no signature, docstring or comment."""
    text = path.read_text()
    lines = text.splitlines()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body:
                held = lines[body[0].lineno - 1 : node.end_lineno]
                size = sum(bool(line.strip()) and line.lstrip()[0] != "#" for line in held)
                yield f"{path.relative_to(SOURCE)}: {node.name}", size


def test_no_function_is_long() -> None:
    found = [each for path in SOURCE.rglob("*.py") for each in bodies(path)]
    assert len(found) > 1000
    assert [name for name, size in found if size > LINES_OF_A_FUNCTION] == []


def test_no_file_is_long() -> None:
    sizes = {
        str(path.relative_to(SOURCE)): len(path.read_text().splitlines())
        for path in SOURCE.rglob("*.py")
    }
    assert [name for name, size in sizes.items() if size > LINES_OF_A_FILE] == []
