"""The documentation leaves nothing out: columns, names, commands, pages."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import aggcal
import aggcal.plot
from aggcal.cli.commands import COMMANDS
from aggcal.io.formats import FORMATS
from aggcal.metrics import METRICS
from aggcal.registry import CALIBRATORS, UNCERTAINTIES
from aggcal.simulation import simulate

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = (ROOT / "README.md", *DOCS.glob("*.md"), *DOCS.glob("*/*.md"))


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_every_column_of_every_file_is_explained(tmp_path: Path) -> None:
    study = simulate(items=12, annotators=5, judgments=200, seed=1)
    scores = {item: float(score) for item, score in zip(*study.scores.values(), strict=True)}
    aggcal.assess(study.judgments, {**scores, "new": 50.0}, warn=False).save(tmp_path)
    page = text("docs/reference/files.md")
    tables = sorted(tmp_path.glob("*.csv"))
    assert [table.name for table in tables] == ["annotators.csv", "items.csv", "predictions.csv"]
    for table in tables:
        with table.open(encoding="utf-8") as file:
            for column in next(csv.reader(file)):
                assert f"`{column}`" in page, f"{table.name}: {column}"
    for file_name in ("summary.json", "report.html"):
        assert (tmp_path / file_name).is_file()
        assert f"### {file_name}" in page
    for claim in json.loads((tmp_path / "summary.json").read_text())["guarantees"].values():
        for part in ("says", "values", "about", "kind", "conditions"):
            assert part in claim
            assert f"`{part}`" in page


def test_every_public_name_has_a_page() -> None:
    listed = re.findall(r"^   ([\w.]+)$", text("docs/reference/python.md"), flags=re.MULTILINE)
    assert len(listed) == len(set(listed))
    for name in (*aggcal.__all__, *(f"plot.{figure}" for figure in aggcal.plot.__all__)):
        assert name in listed, name


def test_every_format_has_a_section_with_a_file_that_is_read_as_it(tmp_path: Path) -> None:
    first, *sections = re.split(r"^### ", text("docs/reference/formats.md"), flags=re.MULTILINE)
    found = {section.split("\n", 1)[0]: section for section in sections}
    assert set(found) == set(FORMATS.own)
    for name, section in found.items():
        ((file, lines),) = re.findall(
            r":caption: (\S+)\n\n(.*?)^```", section, re.DOTALL | re.MULTILINE
        )
        (tmp_path / file).write_text(lines, encoding="utf-8")
        if name != "all-our-ideas-non-votes":  # which hold nothing to fit without the votes
            assert aggcal.read_judgments(tmp_path / file).format == name
        assert re.search(rf"^\$ aggcal convert .*\b{re.escape(file)} ", section, re.MULTILINE), name
        assert f"[{name}](#{name})" in first


def test_every_choice_is_explained() -> None:
    page = text("docs/reference/methods.md")
    for name in (*CALIBRATORS, *UNCERTAINTIES):
        assert f"| `{name}` |" in page, name


def test_every_finding_of_the_check_is_explained() -> None:
    page = text("docs/how-to/diagnose.md")
    source = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("advice/check", "errors")
        for path in (ROOT / "src" / "aggcal" / folder).glob("*.py")
    )
    codes = re.findall(r'"(?:problem|note)"[^\n]*,\n\s+"([a-z-]+)",', source)
    assert len(codes) > 15
    for code in codes:
        assert f"`{code}`" in page, code
    for row in re.findall(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \|", page, flags=re.MULTILINE):
        for code in re.findall(r"`([a-z-]+)`", row):
            assert code.startswith("--") or f'"{code}"' in source, code


def options() -> dict[str, set[str]]:
    """The options of each command."""
    return {
        name: {
            "-h",
            "--help",
            "--help-all",
            *(each for option in command.options for each in option.names),
        }
        for name, command in COMMANDS.items()
    }


def test_every_command_is_in_the_overview() -> None:
    overview = text("docs/reference/command-line.md")
    for name in options():
        assert f"| `aggcal {name}" in overview, name


def test_readme_is_short_and_names_what_a_fresh_machine_needs() -> None:
    readme = text("README.md")
    assert len(readme.splitlines()) < 150
    for command in ("$ pip install .", "$ make demo", "$ make test"):
        assert command in readme
    for page in ("llm-judges", "marking", "peer-review"):
        assert f"](docs/how-to/{page}.md)" in readme
    for theme in ("report.png", "report-dark.png"):
        assert f'="docs/_static/{theme}"' in readme
        assert (DOCS / "_static" / theme).is_file()


def test_commands_and_options_within_sentences_exist() -> None:
    """What is not in a block is not run: at least it is there."""
    known = options()
    every = set.union(*known.values())
    for page in PAGES:
        prose = re.sub(r"(?ms)^```.*?^```", "", page.read_text(encoding="utf-8"))
        for code in re.findall(r"`([^`]+)`", prose):
            command = re.match(r"aggcal ([a-z]+)", code)
            assert command is None or command[1] in known, f"{page.name}: {code}"
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", code):
                found = known[command[1]] if command else every
                assert option in found, f"{page.name}: {code}"


def test_the_words_of_the_program_are_in_the_glossary() -> None:
    words = re.findall(r"^## (.*)$", text("docs/glossary.md"), flags=re.MULTILINE)
    known = " ".join(words).lower()
    for metric in METRICS:
        assert metric.replace("_", "-") in known, metric
    for word in ("consensus", "block", "anchor", "certified", "interval", "prior", "link", "infit"):
        assert word in known, word
    assert words == sorted(words, key=str.lower)


def test_links_lead_somewhere() -> None:
    """Those of README and between pages; Sphinx sees the anchors within its own."""
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_files_and_tests_that_are_named_exist() -> None:
    tests = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    for page in PAGES:
        content = page.read_text(encoding="utf-8")
        for name in re.findall(r"`(test_\w+)`", content):
            assert f"def {name}(" in tests, f"{page.name}: {name}"
        for path in re.findall(r"`((?:src|tests|benchmarks)/[\w./-]+)`", content):
            assert (ROOT / path).exists(), f"{page.name}: {path}"
