"""``aggcal report`` of one earlier run or of two, and ``aggcal explain`` of an item."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal.cli import reading
from aggcal.cli.console import Console, print_json, refuse_two_documents
from aggcal.cli.parser import parse_as
from aggcal.errors import AggcalError, FileError, OptionError, printable

if TYPE_CHECKING:
    from aggcal.assessment.result import Titles
    from aggcal.data.base import AnyJudgments
    from aggcal.report.run import Run

_ATTEMPTS = 5
"""How often results may change while their report is made before we give up."""
_MAIN = ("title", "question", "method", "calibrator", "n_items", "n_annotators", "n_judgments")
"""What of a summary says which results were rendered."""
_FORMS = ("html", "md", "json")


def report(options: argparse.Namespace) -> int:
    """Read one folder and render it, or two and compare them."""
    form = Path(options.output or "").suffix[1:].lower() or _FORMS[0]
    if form not in _FORMS:
        raise OptionError(f"{options.output}: a report is .html, .md or .json; choose one.")
    if options.other is not None:
        return compare(options, form)
    if options.independent:
        raise OptionError("--independent compares two runs; give two folders.")
    return render(options, form)


def render(options: argparse.Namespace, form: str) -> int:
    """Read the folder and render it."""
    from aggcal.assessment import RESULT_FILES
    from aggcal.assessment.result import checked_titles
    from aggcal.io.saving import ChangedError, refuse_existing, refuse_overwriting, write_file

    titles = checked_titles(options.title, options.question)
    refuse_two_documents(options)
    folder = Path(options.results)
    name = f"report.{form}"
    target = Path(options.output or folder / name)
    inside = options.output != "-" and target.resolve() == (folder / name).resolve()
    if options.output != "-":
        inputs = [folder / each for each in RESULT_FILES if not each.startswith("report.")]
        refuse_overwriting(target.parent, [target.name], [*inputs, *filter(None, [options.texts])])
        if not inside:
            refuse_existing(target, force=options.force)
    for attempt in range(_ATTEMPTS):
        summary, page = _rendered(options, form, titles)
        if options.output == "-":
            Console(quiet=options.quiet).done()
            # The terminal's encoding may lack some of our signs.
            sys.stdout.buffer.write(page)
            return 0
        try:
            if inside:
                _write_inside(folder, name, page, summary, titles, force=options.force)
            else:
                write_file(target, page, force=options.force)
            break
        except ChangedError:
            if attempt + 1 == _ATTEMPTS:
                raise
    Console(quiet=options.quiet).say(f"wrote {target}")
    if options.json:
        shown = {key: value for key, value in {**summary, **titles}.items() if key in _MAIN}
        print_json({"format": form, **shown}, [target])
    return 0


def compare(options: argparse.Namespace, form: str) -> int:
    """Read two folders and render how they differ."""
    from aggcal.assessment import RESULT_FILES
    from aggcal.io.saving import refuse_existing, refuse_overwriting, write_file
    from aggcal.report.report import RENDERERS
    from aggcal.report.run import fitting, load_run
    from aggcal.report.two_runs import Comparison, two_runs

    refuse_two_documents(options)
    for name in ("texts", "pictures", "title", "question"):
        if getattr(options, name) is not None and name not in getattr(options, "from_study", ()):
            raise OptionError(f"--{name} is for the report of one run; leave it out.")
    folders = [Path(options.results), Path(options.other)]
    if folders[0].resolve() == folders[1].resolve():
        raise OptionError("both folders are the same; give two.")
    target = Path(options.output or f"comparison.{form}")
    if options.output != "-":
        inputs = [folder / name for folder in folders for name in RESULT_FILES]
        refuse_overwriting(target.parent, [target.name], inputs)
        refuse_existing(target, force=options.force)
    a, b = (load_run(folder, force=options.force) for folder in folders)
    names = run_names(*folders)
    with fitting(" and ".join(map(str, folders))):
        found = Comparison(a, b, names, independent=options.independent)
        told = two_runs(found)
        page = RENDERERS[form](told).encode("utf-8", "replace")
        verdict = told.data["verdict"]
    if options.output == "-":
        sys.stdout.buffer.write(page)
        return 0
    write_file(target, page, force=options.force)
    Console(quiet=options.quiet).say(told.title, verdict, f"wrote {target}")
    if options.json:
        print_json({"format": form, "verdict": verdict}, [target])
    return 0


def run_names(a: Path, b: Path) -> tuple[str, str]:
    """Return what to call two folders: their names, or their paths where these are the same.

    Examples
    --------
    >>> run_names(Path("x/monday"), Path("y/friday")), run_names(Path("x/out"), Path("y/out"))
    (('monday', 'friday'), ('x/out', 'y/out'))
    """
    first, second = a.resolve().name, b.resolve().name
    return (str(a), str(b)) if first == second else (first, second)


def _rendered(
    options: argparse.Namespace, form: str, titles: Titles
) -> tuple[dict[str, Any], bytes]:
    """Return the summary as it was read, and the page."""
    from aggcal.io.results import read_categories, read_comparisons, read_results
    from aggcal.report.report import RENDERERS
    from aggcal.report.report import report as report_of
    from aggcal.report.run import Run, fitting

    read, items, annotators = read_results(options.results, force=options.force)
    met, cells = read_comparisons(options.results, items), read_categories(options.results, items)
    texts = reading.texts_from(options, Console(quiet=options.quiet))
    summary = {key: value for key, value in read.items() if key != "texts"}
    summary.update(titles)
    said, seen = ({}, {}) if texts is None else (texts.by_item, texts.pictures)
    if texts is not None and said:
        summary["texts"] = Path(texts.source).name
    with fitting(options.results):
        document = report_of(Run(summary, items, annotators, said, met, seen, cells))
        # A text may hold half a character, which no file can.
        return read, RENDERERS[form](document).encode("utf-8", "replace")


def _write_inside(
    folder: Path,
    name: str,
    page: bytes,
    summary: dict[str, Any],
    titles: Titles,
    *,
    force: bool,
) -> None:
    """Write the report into the folder of the results, and list it with them.

    A new title is kept there, too: the next report of the folder has it, too.
    """
    from aggcal.io.saving import Manifest, digests, refuse_links, write_file, write_files

    if not digests(summary):
        # Without a list, nobody knows whose the files are.
        refuse_links(folder, [name])
        write_file(folder / name, page, force=force)
        return
    write_files(
        folder,
        {name: page},
        manifest=Manifest("summary.json", {**summary, **titles}),
        force=force,
        onto=summary,
    )


def explain(options: argparse.Namespace) -> int:
    """Explain, and print."""
    from aggcal.pages.markdown import markdown
    from aggcal.report.item import item
    from aggcal.report.run import fitting, load_run

    console = Console(quiet=options.quiet)
    if Path(options.item).is_dir() and not Path(options.results).exists():
        right = shlex.join(["aggcal", "explain", options.results, options.item])
        raise FileError(f"{options.results}: no such folder; the item comes first: {right}.")
    run, notes = load_run(options.results, force=options.force), list[str]()
    if "pairs" not in run.comparisons:
        run, note = _read_again(run, options.results)
        notes += [note] if note else []
    with fitting(options.results):
        found = item(run, options.item, notes)
    console.done()
    if options.json:
        print_json(found.data)
    else:
        print(markdown(found), end="")
    return 0


def _read_again(run: Run, folder: str) -> tuple[Run, str]:
    """Return the run with the judgments it was made from, or why they are not at hand."""
    from aggcal.assessment.result import with_rows

    try:
        rows = _stated(run.summary)
        if rows is None:
            return run, f"{printable(folder)} does not say where the judgments are"
        return with_rows(run, rows), ""
    except AggcalError as error:
        return run, f"the judgments could not be read again ({printable(str(error))})"


def _stated(summary: Mapping[str, Any]) -> AnyJudgments | None:
    """Read the judgments with the command that made the results; None if there is none."""
    settings = summary.get("settings")
    command = settings.get("command") if isinstance(settings, dict) else None
    if not isinstance(command, str) or "$'" in command:
        return None
    try:
        _, name, *words = shlex.split(command)
        if name not in ("run", "aggregate"):
            return None
        with redirect_stderr(StringIO()):  # a command of another version may not be one of ours
            typed = parse_as(name, words)
    except (ValueError, SystemExit):
        return None
    return reading.judgments_from(typed, Console(quiet=True))
