"""``aggcal convert``, and the formats it reads."""

from __future__ import annotations

import json
from pathlib import Path

from aggcal.io.formats import FORMATS
from aggcal.registry import FORMAT_NAMES
from conftest import Command


def test_convert_and_formats(command: Command, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("coder,left,right,winner\nu,a,b,left\nu,b,c,tie\n")
    done = command("convert", "x.csv", "-o", "y.csv", "--column", "annotator=coder")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "y.csv").read_text() == (
        "annotator,left,right,outcome\nu,a,b,left\nu,b,c,tie\n"
    )
    onto_itself = ("convert", "x.csv", "-o", "x.csv", "--column", "annotator=coder")
    for arguments, said in ((onto_itself, "--force"), ((*onto_itself, "--force"), "overwritten")):
        refused = command(*arguments)
        assert refused.returncode == 2
        assert said in refused.stderr
    wrong = command("convert", "x.csv", "-o", "z.csv", "--column", "coder")
    assert wrong.returncode == 2
    assert "OURS=THEIRS" in wrong.stderr
    assert tuple(FORMATS) == tuple(FORMAT_NAMES)
    assert set(json.loads(command("list", "formats", "--json").stdout)) == set(FORMATS)
