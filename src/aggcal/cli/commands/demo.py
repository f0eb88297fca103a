"""``aggcal demo``: simulate, run, evaluate."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from aggcal.cli.arguments import Parser
from aggcal.cli.commands.evaluate import evaluate
from aggcal.cli.commands.simulate import write_study
from aggcal.cli.console import Console
from aggcal.cli.options.common import add_force, add_seed

DEMO_STUDY: dict[str, Any] = {
    "items": 60,
    "annotators": 40,
    "judgments": 3000,
    "reversed_share": 0.05,
    "model_sd": 8.0,
}
"""The study that is simulated."""


def add(command: Parser) -> None:
    """Add what it takes."""
    command.set_defaults(call=demo)
    command.add_argument("-o", "--output", metavar="DIR", default="demo", help="folder for it all")
    add_force(command, "files in DIR that aggcal did not write, or that were changed since")
    add_seed(command)


def demo(options: argparse.Namespace) -> int:
    """Simulate, run, evaluate, and name the report."""
    from pathlib import Path

    from aggcal._core.machine import check_seed
    from aggcal.assessment import assess
    from aggcal.cli.results import refuse_output, tell, with_command
    from aggcal.io import read_judgments, read_scores
    from aggcal.io.writing.writable import refuse_unwritable

    console = Console(quiet=options.quiet)
    folder = Path(options.output)
    check_seed(options.seed)
    refuse_unwritable(folder)
    data = folder / "data"
    refuse_output(options, [])
    write_study(data, force=options.force, **(DEMO_STUDY | {"seed": options.seed}))
    console.say(f"simulated a study whose truth is known: {data}")
    files = [str(data / "judgments.csv"), str(data / "scores.csv")]
    result = assess(read_judgments(files[0]), read_scores(files[1]), warn=False).with_advice()
    words = ["run", *files, "-o", str(folder)]
    typed = argparse.Namespace(judgments=files[0], scores=files[1], words=words)
    with_command(result, typed).save(folder, force=options.force)
    tell(result, console)
    console.say("")
    items, truth = folder / "items.csv", data / "truth.csv"
    shown = argparse.Namespace(
        items=str(items),
        truth=str(truth),
        truth_column="truth",
        centred=False,
        json=False,
        quiet=options.quiet,
    )
    if not options.quiet:
        evaluate(shown)
        console.say("")
        console.say("the same by hand:")
        called = "aggcal" if sys.argv[0].endswith("__main__.py") else sys.argv[0]
        console.say(f"  {called} {' '.join(words)}")
        console.say(f"  {called} evaluate {items} {truth}")
        console.say("")
        console.say("the report:")
    print((folder / "report.html").resolve())
    return 0
