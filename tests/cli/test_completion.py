"""Completion in a real shell, and what the scripts know."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aggcal.cli.commands import COMMANDS
from aggcal.cli.manual import script
from aggcal.io.formats import FORMATS
from aggcal.registry import CALIBRATORS, METHODS
from aggcal.registry.datasets import DEMOS

SHELLS = ("bash", "zsh", "fish")
ASK = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
set -- $(complete -p aggcal)
while [ "$1" != -F ]; do shift; done
"$2" aggcal "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def bash_script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "aggcal"
    path.write_text(script("bash"), encoding="utf-8")
    return path


def completed(path: Path, folder: Path, *words: str) -> set[str]:
    """Return what bash offers for the last word after TAB."""
    done = subprocess.run(
        ["bash", "--norc", "-c", ASK, "bash", path, "aggcal", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return {line.strip() for line in done.stdout.splitlines() if line.strip()}


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_commands_options_choices_and_files(
    bash_script: Path, tmp_path: Path
) -> None:
    (tmp_path / "judgments.csv").write_text("")
    (tmp_path / "judged").mkdir()
    assert completed(bash_script, tmp_path, "ru") == {"run"}
    assert completed(bash_script, tmp_path, "re") == {"report"}
    assert set(COMMANDS) <= completed(bash_script, tmp_path, "")
    assert completed(bash_script, tmp_path, "run", "--cal") == {"--calibrator"}
    assert completed(bash_script, tmp_path, "run", "--calibrator", "") >= set(CALIBRATORS)
    assert completed(bash_script, tmp_path, "run", "--method", "hra-") == {
        name for name in METHODS if name.startswith("hra-")
    }
    assert completed(bash_script, tmp_path, "demo", "--data", "") >= set(DEMOS)
    assert completed(bash_script, tmp_path, "completion", "") >= set(SHELLS)
    assert completed(bash_script, tmp_path, "run", "judgm") == {"judgments.csv"}
    assert completed(bash_script, tmp_path, "run", "-o", "jud") == {"judged"}


@pytest.mark.parametrize("shell", SHELLS)
def test_scripts_know_every_command_option_and_choice(shell: str) -> None:
    text = script(shell)
    for name in (*COMMANDS, *METHODS, *FORMATS, "spreadsheet-safe", "title"):
        assert name in text, name
    assert text.endswith("\n")
    if shutil.which(shell) is not None:
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_completion_is_imported_only_when_asked_for() -> None:
    code = (
        "import sys\nfrom aggcal.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\nsys.exit('shtab' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0
