"""Every tuning constant says what it trades."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "aggcal"
ARITHMETIC = (ast.Constant, ast.Tuple, ast.Load, ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop)


def silent(text: str) -> list[int]:
    """Lines of constants at the top level that neither a comment nor a sentence explains."""
    lines, body = text.splitlines(), ast.parse(text).body
    found = []
    for k, node in enumerate(body):
        if not isinstance(node, ast.Assign) or not _is_constant(node):
            continue
        after = k + 1  # one sentence may explain several constants above it
        while after < len(body) and isinstance(body[after], ast.Assign):
            after += 1
        explained = after < len(body) and isinstance(body[after], ast.Expr)
        if explained or "#" in lines[(node.end_lineno or 1) - 1]:
            continue
        if not lines[node.lineno - 2].lstrip().startswith("#"):
            found.append(node.lineno)
    return found


def _is_constant(node: ast.Assign) -> bool:
    target = node.targets[0]
    names = target.elts if isinstance(target, ast.Tuple) else [target]
    if not all(isinstance(n, ast.Name) and n.id.lstrip("_").isupper() for n in names):
        return False
    parts = list(ast.walk(node.value))
    numbers = [p for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, int | float)]
    return bool(numbers) and all(isinstance(part, ARITHMETIC) for part in parts)


def test_every_constant_says_what_it_trades() -> None:
    bare = [
        f"{path.relative_to(SOURCE)}:{line}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line in silent(path.read_text(encoding="utf-8"))
    ]
    assert bare == []


def test_a_bare_constant_is_found() -> None:
    assert silent("_MOST = 3\n\n\ndef f() -> None: ...\n") == [1]
    assert silent("_MOST = 3  # more take longer\n") == []
    assert silent('_A = 1\n_B = 2\n"""Both trade time for memory."""\n') == []
