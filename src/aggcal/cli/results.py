"""How commands end that have results: files, a few sentences, JSON, the command itself."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from aggcal.aggregation.consensus import LEVEL, Consensus
from aggcal.assessment.result import RESULT_FILES
from aggcal.cli.commands import COMMANDS
from aggcal.cli.console import Console, print_json, show
from aggcal.cli.options import READING, SCORE_COLUMN
from aggcal.cli.reading import input_files, judgment_files
from aggcal.data.row_columns import CRITERION
from aggcal.errors import count, ended, printable
from aggcal.io.items import Texts
from aggcal.io.saving import Manifest, check_output, refuse_overwriting

if TYPE_CHECKING:
    from aggcal.advice.advising import Advice
    from aggcal.assessment import Assessment
    from aggcal.assessment.studies import Saved

_MOST_CORRELATIONS = 6  # pairs of criteria that are printed: all are in summary.json
_STAGE_2 = ("items.csv", "summary.json")
_STAGE_1 = (*_STAGE_2, "annotators.csv", "comparisons.json", "report.html", "report.md")


def refuse_output(
    options: argparse.Namespace, inputs: Iterable[str], *, fitted: bool = True
) -> None:
    """Refuse, before any work, an output folder whose files are read or are not ours.

    Parameters
    ----------
    options
        The options of the command, with the folder and ``--force``.
    inputs
        The files that are read.
    fitted
        Whether there is a Stage 1, which has annotators and a report.
    """
    refuse_overwriting(options.output, RESULT_FILES, inputs)
    written = _STAGE_1 if fitted else _STAGE_2
    others = [name for name in RESULT_FILES if name not in written]
    check_output(
        options.output, written, Manifest("summary.json"), outdated=others, force=options.force
    )


def refuse_folder(options: argparse.Namespace, kind: type[Saved], inputs: Iterable[str]) -> None:
    """Refuse, before any work, a folder for a table and a figure, if one is wanted."""
    if options.output is not None:
        manifest = kind.manifest()
        every = (*kind.FILES, manifest.name)
        refuse_overwriting(options.output, every, inputs)
        check_output(options.output, every, manifest, force=options.force)


def finish_study(found: Any, options: argparse.Namespace, console: Console) -> int:
    """Print the answer of a study of methods or of sizes, and write it where that is wanted."""
    console.done()
    console.say()
    paths = [] if options.output is None else found.save(options.output, force=options.force)
    show(found, options, paths)
    if paths:
        console.say(f"wrote {', '.join(str(path) for path in paths)}")
    return 0


def finish(
    result: Assessment, options: argparse.Namespace, console: Console, texts: Texts | None = None
) -> int:
    """Check the data if they were fitted, write the files, and print the main results."""
    fitted = result.consensus is not None
    if fitted:
        result = with_command(result, options)
    if fitted and not options.no_check:
        result = result.with_advice(
            on_step=console.on_step,
            on_iteration=console.on_iteration,
        )
        console.done()
    console.on_step("writing the results")
    paths = result.save(
        options.output,
        texts=texts,
        check=False,
        force=options.force,
        spreadsheet_safe=options.spreadsheet_safe,
    )
    tell(result, console)
    if result.advice is not None:
        failed = (f for f in result.advice.check.findings if f.code == "check-failed")
        console.say(*(f"note: {ended(each.message)}" for each in failed), _found(result.advice))
    elif fitted and not options.no_check:
        console.say(
            "Data check skipped: the rows on the cluster are too many to copy, or belong to "
            "rankings. Run 'aggcal check' on a sample."
        )
    if options.json:
        print_json(result.to_dict(), paths)
    else:
        console.say("", *result.answer().split("\n"), "")
    reports = [path for path in paths if path.name == "report.html"]
    console.say(f"wrote {reports[0] if reports else paths[0]}{_others(paths)}")
    return 0


def _others(paths: Sequence[PurePath]) -> str:
    return f" and {count(len(paths) - 1, 'other file')}" if len(paths) > 1 else ""


def tell(result: Assessment, console: Console) -> None:
    """Print how the judgments were read, the warnings, and what else was chosen and decided."""
    from aggcal.report.ground import disagreement

    console.say()
    console.warn(*result.warnings)
    summary: dict[str, Any] = result.to_dict()
    if result.consensus is not None:
        if result.consensus.selection is not None:
            console.say(result.consensus.selection["why"])
            console.say(*result.consensus.selection["notes"])
        console.say(*_held_equal(result.consensus), *_criteria(result.consensus))
        said = disagreement(summary["terms"] or {}), result.dependence
        console.say(*filter(None, said))
    if result.calibration is not None:
        console.say(result.calibration.says)
        if result.calibration.recommendation is not None:
            console.say(result.calibration.recommendation.reason)
    if "measured_gain" in result.guarantees:
        console.say(result.guarantees["measured_gain"].says)
    if result.decisions is not None:
        console.say(*result.decisions.says)


def _held_equal(consensus: Consensus) -> list[str]:
    """Say what the scores do without: the effect of each covariate."""
    control = None if consensus.effects is None else consensus.effects.control
    if control is None:
        return []
    level = LEVEL if consensus.stated is None else consensus.stated.level
    columns = zip(control.names, control.values, *control.interval(level), strict=True)
    each = [f"{name} {value:+.2f} ({low:.2f} to {high:.2f})" for name, value, low, high in columns]
    said = f"held equal: {', '.join(each)} on the logit scale, for a standard deviation"
    return [f"{said} (intervals at {level:g})".replace("-", "−")]


def _criteria(consensus: Consensus) -> list[str]:
    """Say what the order of several criteria is, and how far they agree."""
    effects = consensus.effects
    column = next((c for c in getattr(effects, "categories", ()) if c.name == CRITERION), None)
    if effects is None or column is None:
        return []
    weights = effects.criteria_weights
    said = f"{count(len(column.ids), 'criterion', 'criteria')}: "
    if weights is None:
        said += "items are ordered by what they have in common"
    else:
        shares = ", ".join(f"{name} {share:.0%}" for name, share in weights.items())
        said += f"items are ordered by their weighted mean ({shares})"
    found = [] if column.correlation is None else column.correlation.to_dict(LEVEL)
    return [said] + [
        f"correlation of {' and '.join(one['between'])}: {one['value']:.2f} "
        f"({one['low']:.2f} to {one['high']:.2f}, at {LEVEL:g})".replace("-", "−")
        for one in found[:_MOST_CORRELATIONS]
    ]


def _found(advice: Advice) -> str:
    problems = advice.check.problems
    notes = len(advice.check.findings) - problems
    if not problems and not notes:
        return "Data check: nothing found."
    return f"Data check: {count(problems, 'problem')}, {count(notes, 'note')} (see report.html)."


# The command that makes the results again ---------------------------------------------------------


def with_command(result: Assessment, options: argparse.Namespace) -> Assessment:
    """Return the result together with the command that makes it again."""
    settings = result.provenance["settings"] | command_given(options)
    return replace(result, provenance={**result.provenance, "settings": settings})


def command_given(options: argparse.Namespace) -> dict[str, str]:
    """Return the command that was given, and its files with how to read them, for a shell.

    Of each there is another text to be shared: a report is passed on, and where its files were on
    somebody's machine is no business of others. It has only the names of files that were given from
    the root of a disk.

    Examples
    --------
    >>> from aggcal.cli.parser import parse_as
    >>> typed = parse_as("aggregate", ["/home/ann/my votes.csv", "-o", "out", "--quiet",
    ...     "--column", "winner=Better text"])
    >>> command_given(typed)["command"]
    "aggcal aggregate '/home/ann/my votes.csv' -o DIR --column 'winner=Better text'"
    >>> command_given(typed)["shared_files"]
    "'my votes.csv' --column 'winner=Better text'"
    """
    name, *typed = options.words
    known = {name: option for option in COMMANDS[name].options for name in option.names}
    reading = (*READING.options, SCORE_COLUMN)
    first, *more = judgment_files(options)
    scores = getattr(options, "scores", None)
    files = [
        first,
        *([] if scores is None else [scores]),
        *(["--judgments", *more] if more else []),
    ]
    command, rest = ["aggcal", name], iter(typed)
    for word in rest:
        called, joined, value = word.partition("=")
        if word.startswith("-o"):
            called, joined, value = "-o", word[2:], word[2:]
        option, words = known.get(called), [word]
        if option is not None and not option.kept:
            continue
        reads, writes = option in reading, called in ("-o", "--output")
        if writes or (reads and option is not None and not option.flag):
            words = [called, value if joined else next(rest, "")]
        command += [called, "DIR"] if writes else words
        files += words if reads else []
    paths = {*input_files(options), options.output}
    names = {path: PurePath(path).name for path in paths if PurePath(path).is_absolute()}
    texts = {"command": command, "files": files}
    texts |= {f"shared_{k}": [_without_folder(w, names) for w in ws] for k, ws in texts.items()}
    return {name: " ".join(map(_quoted, words)) for name, words in texts.items()}


def _without_folder(word: str, names: Mapping[str, str]) -> str:
    """Return a word, or the value in it, without the folder if it is one of these paths."""
    option, joined, value = word.partition("=")
    return option + joined + names[value] if value in names else names.get(word, word)


def _quoted(text: str) -> str:
    r"""Quote a word for a shell; in one that is not plain text strange bytes are escaped.

    Examples
    --------
    >>> print(_quoted("my votes.csv"), _quoted("caf\udce9.csv"))
    'my votes.csv' $'caf\xe9.csv'
    """
    if printable(text) == text:
        return shlex.quote(text)
    escaped = os.fsencode(text).decode("latin-1").encode("unicode_escape").decode("ascii")
    return "$'" + escaped.replace("'", "\\'") + "'"
