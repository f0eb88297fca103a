"""The commands: each reads, calls the library, writes and prints."""

from __future__ import annotations

import argparse
import sys
import time
import warnings as python_warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aggcal.cli.console import Console
from aggcal.cli.given import given
from aggcal.errors import AggcalWarning, FileError, OptionError, TooLittleDataError, count
from aggcal.io.write import csv_writer, json_writer, refuse_overwriting, to_json, write_files

if TYPE_CHECKING:
    from aggcal.advice import Advice
    from aggcal.aggregators import PriorChoice
    from aggcal.assessment import Assessment
    from aggcal.engines import Engine
    from aggcal.features import FeatureChoice
    from aggcal.io.texts import Texts
    from aggcal.judgments import Judgments
    from aggcal.scores import Scores

DEMO_STUDY: dict[str, Any] = {
    "items": 60,
    "annotators": 40,
    "judgments": 3000,
    "reversed_share": 0.05,
    "model_sd": 8.0,
}
"""The study that the demo simulates."""

RESULT_FILES = (
    "items.csv", "annotators.csv", "predictions.csv", "summary.json", "report.html", "report.md",
)  # fmt: skip
"""What ``run`` writes."""

_IDENTITY = "identity"
_EVALUATED = ("consensus", "model", "calibrated", "score")


def run(options: argparse.Namespace) -> int:
    """Both stages."""
    from aggcal.assessment import assess
    from aggcal.io import read_scores

    console = Console(quiet=options.quiet)
    inputs = (options.judgments, options.scores, *_extra_files(options), *_feature_file(options))
    refuse_overwriting(options.output, RESULT_FILES, (*inputs, *_text_file(options)))
    prior, features, texts = _prior(options), _features(options), _texts(options)
    scores = read_scores(options.scores, column=options.score_column, item=options.item_column)
    with _engine(options, console) as engine:
        result = assess(
            _judgments(options, console, engine),
            scores,
            method=options.method,
            calibrator=options.calibrator,
            prior=prior,
            features=features,
            weights=None if options.unweighted else "sd",
            **_uncertainty(options, console),
            **_knowledge(options),
            seed=options.seed,
            engine=engine or "local",
            warn=False,
            on_iteration=console.on_iteration,
        )
        return _finish(result, options, console, texts)


def aggregate(options: argparse.Namespace) -> int:
    """Stage 1 alone."""
    from aggcal.assessment import assess

    console = Console(quiet=options.quiet)
    inputs = (options.judgments, *_feature_file(options), *_text_file(options))
    refuse_overwriting(options.output, RESULT_FILES, inputs)
    prior, features, texts = _prior(options), _features(options), _texts(options)
    with _engine(options, console) as engine:
        result = assess(
            _judgments(options, console, engine),
            method=options.method,
            prior=prior,
            features=features,
            **_uncertainty(options, console),
            seed=options.seed,
            engine=engine or "local",
            warn=False,
            on_iteration=console.on_iteration,
        )
        return _finish(result, options, console, texts)


def calibrate(options: argparse.Namespace) -> int:
    """Stage 2 alone."""
    from aggcal.assessment import Assessment
    from aggcal.calibration import calibrate as project
    from aggcal.io import read_scores

    began = time.perf_counter()
    console = Console(quiet=options.quiet)
    inputs = (options.consensus, options.scores, *_extra_files(options))
    refuse_overwriting(options.output, RESULT_FILES, inputs)
    consensus = _consensus(options)
    scores = read_scores(options.scores, column=options.score_column, item=options.item_column)
    calibration = project(
        scores,
        consensus,
        method=options.calibrator,
        weights=None if options.unweighted else "sd",
        **_knowledge(options),
        level=options.level,
        seed=options.seed,
        warn=False,
    )
    result = Assessment(None, calibration, seconds=time.perf_counter() - began)
    if consensus.sd is not None:
        console.say(
            "note: a table has standard errors but not how they hang together; they are taken as "
            "independent, and intervals and 'fused' differ from those of 'aggcal run'."
        )
    return _finish(result, options, console)


def check(options: argparse.Namespace) -> int:
    """Say what is wrong with the data."""
    from aggcal.check import check as look_over
    from aggcal.io import read_scores

    console = Console(quiet=options.quiet)
    scores = None
    if options.scores is not None:
        scores = read_scores(options.scores, column=options.score_column, item=options.item_column)
    found = look_over(
        _judgments(options, console),
        scores,
        method=options.method,
        wanted_error=options.precision,
        quick=options.quick or None,
        seed=options.seed,
        on_step=console.on_step,
        on_iteration=console.on_iteration,
    )
    console.done()
    if options.json:
        print(to_json(found.to_dict()))
    elif not options.quiet:
        print(found)
    return 1 if options.strict and found.problems else 0


def report(options: argparse.Namespace) -> int:
    """Render the report of a folder of results once more."""
    from jinja2 import UndefinedError

    from aggcal.io.results import read_results
    from aggcal.report.render import RENDERERS
    from aggcal.report.report import Report

    target = Path(options.output or Path(options.results) / f"report.{options.format}")
    if options.output != "-":
        inputs = [Path(options.results) / name for name in RESULT_FILES[:4]]
        refuse_overwriting(target.parent, [target.name], [*inputs, *_text_file(options)])
    summary, items, annotators = read_results(options.results)
    texts = _texts(options)
    summary.pop("texts", None)
    if texts is not None:
        summary["texts"] = Path(texts.source).name
    told = Report(summary, items, annotators, {} if texts is None else texts.by_item)
    try:
        page = RENDERERS[options.format](told)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, UndefinedError) as error:
        raise FileError(
            f"{options.results}: the files do not fit together ({error}); run aggcal again."
        ) from None
    if options.output == "-":
        # The terminal's encoding may lack some of our signs.
        sys.stdout.buffer.write(page.encode())
        return 0
    written = write_files(target.parent, {target.name: lambda file: file.write(page)})
    Console(quiet=options.quiet).say(f"wrote {written[0]}")
    return 0


def convert(options: argparse.Namespace) -> int:
    """Write judgments of any format as one table."""
    from aggcal.io.convert import convert_judgments
    from aggcal.io.formats.base import Choices

    console = Console(quiet=options.quiet)
    choices = Choices(
        _outcomes(options),
        _columns(options),
        options.judged_by,
        options.left_key,
        options.right_key,
        options.drafts,
        options.tie_within,
        options.ranking_weight,
    )
    done = convert_judgments(
        options.inputs,
        options.output,
        to=options.to,
        format_name=options.format,
        choices=choices,
        criterion=options.criterion,
        overwrite=options.force,
        on_progress=console.on_reading,
    )
    console.done()
    for note in done.notes:
        console.say(note)
    if done.n_left_out:
        console.say(
            f"warning: {count(done.n_left_out, 'judgment')} without an answer left out: "
            f"{done.format} has no place for them."
        )
    console.say(f"wrote {done.path}: {count(done.n_rows, 'judgment')} as {done.format}")
    return 0


def formats(options: argparse.Namespace) -> int:
    """List the formats that judgments are read from."""
    from aggcal.io.formats import FORMATS

    if options.json:
        print(to_json({name: known.summary for name, known in FORMATS.items()}))
        return 0
    for name, known in FORMATS.items():
        print(f"{name:24} {known.summary}")
    return 0


def evaluate(options: argparse.Namespace) -> int:
    """Metrics against a truth."""
    import numpy as np

    from aggcal.io.scores import read_item_columns, read_truth
    from aggcal.metrics import METRICS, compare
    from aggcal.tables import aligned

    console = Console(quiet=options.quiet)
    ids, columns = read_item_columns(options.items, _EVALUATED)
    truth, blank = read_truth(options.truth, column=options.truth_column)
    target = aligned(truth.values, truth.item_ids, ids)
    both = np.isfinite(target)
    for values in columns.values():
        both &= np.isfinite(values)
    n = int(both.sum())
    if n == 0:
        raise TooLittleDataError(
            f"no item has a truth in {options.truth} and a number in every column of "
            f"{options.items}; check that both use the same ids."
        )
    missing = len(ids) - n
    if missing:
        console.say(
            f"warning: {count(missing, 'item')} of {options.items} left out: no truth, "
            "or a blank in one of the columns."
        )
    unused = len(truth) - int(np.isfinite(target).sum()) + blank
    if unused:
        console.say(
            f"warning: {count(unused, 'row')} of {options.truth} left out: blank, "
            f"or not in {options.items}."
        )
    found = {
        name: compare(values[both], target[both], centred=options.centred)
        for name, values in columns.items()
    }
    if options.json:
        print(to_json({"n": n, **found}))
        return 0
    print(f"{count(n, 'item')}{', centred' if options.centred else ''}")
    print(f"{'':12}" + "".join(f" {name:>11}" for name in found))
    for metric in METRICS:
        print(f"{metric:12}" + "".join(f" {row[metric]:11.4g}" for row in found.values()))
    console.say("tau and spearman: higher is better; the others: lower is better.")
    if "consensus" in found:
        console.say("the consensus has no unit: only its tau and spearman mean something as such.")
    return 0


def simulate(options: argparse.Namespace) -> int:
    """Make a study whose truth is known."""
    paths = _simulated(
        options.output,
        items=options.items,
        annotators=options.annotators,
        judgments=options.judgments,
        link=options.link,
        reliability_sd=options.reliability_sd,
        reversed_share=options.reversed,
        location=options.location,
        scale=options.scale,
        model_sd=options.model_sd,
        model_bias=options.model_bias,
        model_slope=options.model_slope,
        seed=options.seed,
    )
    Console(quiet=options.quiet).say(f"wrote {', '.join(str(path) for path in paths)}")
    return 0


def suggest(options: argparse.Namespace) -> int:
    """Say which pairs to ask next."""
    from aggcal.design import suggest_pairs
    from aggcal.io import read_scores

    console = Console(quiet=options.quiet)
    if options.output is not None:
        target = Path(options.output)
        inputs = [options.judgments, options.scores, options.items]
        refuse_overwriting(target.parent, [target.name], [f for f in inputs if f is not None])
    scores = None
    if options.scores is not None:
        scores = read_scores(options.scores, column=options.score_column, item=options.item_column)
    found = suggest_pairs(
        _judgments(options, console),
        scores,
        n=options.pairs,
        about=options.about,
        items=options.items,
        annotators=options.annotator,
        new_annotators=options.new_annotator,
        per_annotator=options.per_annotator,
        per_item=options.per_item,
        repeat=options.repeat,
        explore=options.explore,
        method=options.method,
        seed=options.seed,
    )
    console.warn(found.warnings)
    console.say(str(found))
    console.say(f"information: {found.unit}")
    write = json_writer(found.to_dict()) if options.json else csv_writer(found.pair_columns())
    if options.output is None:
        write(sys.stdout)
    else:
        written = write_files(target.parent, {target.name: write})
        console.say(f"wrote {written[0]}")
    return 0


def reproduce(options: argparse.Namespace) -> int:
    """Make the page with the paper's numbers beside ours."""
    from aggcal.experiments.reproduce import reproduce as make

    console = Console(quiet=options.quiet)
    make(options.what, options.output, quick=options.quick, say=console.say)
    console.say("the page:")
    print((Path(options.output) / "index.html").resolve())
    return 0


def methods(options: argparse.Namespace) -> int:
    """List the methods of Stage 1."""
    from aggcal.aggregation import METHODS

    if options.json:
        print(to_json({name: method.summary for name, method in METHODS.items()}))
        return 0
    for name, method in METHODS.items():
        print(f"{name:9} {method.summary}")
    return 0


def demo(options: argparse.Namespace) -> int:
    """Simulate, run, evaluate, and name the report."""
    from aggcal.assessment import assess
    from aggcal.io import read_judgments, read_scores

    console = Console(quiet=options.quiet)
    folder = Path(options.output)
    data = folder / "data"
    _simulated(data, **(DEMO_STUDY | {"seed": options.seed}))
    console.say(f"simulated a study whose truth is known: {data}")
    files = [str(data / "judgments.csv"), str(data / "scores.csv")]
    result = assess(read_judgments(files[0]), read_scores(files[1]), warn=False).advised()
    words = ["run", *files, "-o", str(folder)]
    typed = argparse.Namespace(judgments=files[0], scores=files[1], words=words)
    _with_command(result, typed).save(folder)
    _tell(result, console)
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


# ---------------------------------------------------------------------------- helpers


@contextmanager
def _engine(options: argparse.Namespace, console: Console) -> Iterator[Engine | None]:
    """Start the engine that was asked for, and end it when everything is written."""
    from aggcal.aggregation import check_engine

    if options.engine != "dask":
        given = "--scheduler" if options.scheduler is not None else "--workers"
        if options.scheduler is not None or options.workers is not None:
            raise OptionError(f"{given} is for --engine dask; leave it out, or choose that engine.")
    if options.engine == "local":
        yield None
        return
    check_engine(options.method, options.engine)
    if options.engine == "gpu":
        from aggcal.engines import named

        with python_warnings.catch_warnings(record=True) as said:
            python_warnings.simplefilter("always", AggcalWarning)
            found = named("gpu")
        console.warn(w.message for w in said if isinstance(w.message, AggcalWarning))
        yield found
        return
    from aggcal.engines.dask import Dask

    with Dask(options.scheduler, workers=options.workers, on_pass=console.on_pass) as engine:
        yield engine


def _judgments(
    options: argparse.Namespace, console: Console, engine: Engine | None = None
) -> Judgments:
    from aggcal.io import read_judgments

    read = read_judgments if engine is None else engine.read
    judgments = read(
        options.judgments,
        format=options.format,
        columns=_columns(options),
        outcomes=_outcomes(options),
        criterion=options.criterion,
        annotator=options.judged_by,
        ranking_weight=options.ranking_weight,
        tie_within=options.tie_within,
        left_key=options.left_key,
        right_key=options.right_key,
        drafts=options.drafts,
        memory=options.memory,
        on_progress=console.on_reading,
    )
    console.done()
    if judgments.format != "table" or judgments.notes:
        console.say(f"{options.judgments}: read as {judgments.format}")
    for note in judgments.notes:
        console.say(f"  {note}")
    if options.verbose and len(judgments.unfitted.count):
        console.say(str(judgments.unfitted))
    return judgments


def _outcomes(options: argparse.Namespace) -> dict[str, str | float]:
    found: dict[str, str | float] = {}
    for text in options.outcome:
        label, equals, meaning = text.rpartition("=")
        if not equals or not label:
            raise OptionError(f"--outcome '{text}' is not LABEL=MEANING; write 'both bad=tie'.")
        found[label] = meaning
    return found


def _columns(options: argparse.Namespace) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in options.column:
        own, equals, other = text.partition("=")
        if not equals or not other:
            raise OptionError(f"--column '{text}' is not OURS=THEIRS; write 'annotator=coder'.")
        found[own] = other
    return found


def _uncertainty(options: argparse.Namespace, console: Console) -> dict[str, Any]:
    return {
        "uncertainty": None if options.uncertainty == "none" else options.uncertainty,
        "level": options.level,
        "draws": options.draws,
        "on_draw": console.on_draw,
    }


def _knowledge(options: argparse.Namespace) -> dict[str, Any]:
    """Read what else is known about the model and the truth."""
    from aggcal.io import read_scores
    from aggcal.io.scores import read_truth

    anchors = None if options.anchors is None else read_truth(options.anchors, flag=None)[0]
    second = None
    if options.second_model is not None:
        second = read_scores(options.second_model, flag=None)
    return {"model_sd": options.model_sd, "anchors": anchors, "second_model": second}


def _extra_files(options: argparse.Namespace) -> list[str]:
    return [name for name in (options.anchors, options.second_model) if name is not None]


def _feature_file(options: argparse.Namespace) -> list[str]:
    return [] if options.features in (None, _IDENTITY) else [options.features]


def _features(options: argparse.Namespace) -> FeatureChoice | None:
    from aggcal.aggregation import check_features
    from aggcal.io import read_features

    check_features(options.method, given=options.features is not None)
    if options.features is None:
        return None
    return "identity" if options.features == _IDENTITY else read_features(options.features)


def _text_file(options: argparse.Namespace) -> list[str]:
    return [] if options.texts is None else [options.texts]


def _texts(options: argparse.Namespace) -> Texts | None:
    from aggcal.io.texts import read_texts

    return None if options.texts is None else read_texts(options.texts, column=options.text_column)


def _prior(options: argparse.Namespace) -> PriorChoice:
    from aggcal.aggregation import METHODS
    from aggcal.models.links import link
    from aggcal.models.priors import Prior, default_prior

    if options.score_sd is None and options.reliability_sd is None:
        choice: dict[str, PriorChoice] = {"default": "default", "auto": "auto", "none": None}
        return choice[options.prior]
    if options.prior != "default":
        raise OptionError(
            f"--prior {options.prior} and a prior sd exclude each other; give one of them."
        )
    if METHODS[options.method].from_features:
        raise OptionError(
            f"{options.method} has no prior of that kind; leave --score-sd and --reliability-sd "
            "out."
        )
    model = METHODS[options.method].make()
    if options.reliability_sd is not None and not getattr(model, "heterogeneous", False):
        raise OptionError(
            f"{options.method} has no prior of that kind; leave --reliability-sd out or choose "
            "hra-g."
        )
    usual = default_prior(link(getattr(model, "link", "logistic")))
    return Prior(
        usual.score_sd if options.score_sd is None else options.score_sd,
        usual.reliability_sd if options.reliability_sd is None else options.reliability_sd,
    )


def _consensus(options: argparse.Namespace) -> Scores:
    import numpy as np

    from aggcal.io import read_scores
    from aggcal.io.scores import read_item_columns
    from aggcal.scores import Scores

    if options.consensus_column is not None:
        return read_scores(options.consensus, column=options.consensus_column)
    ids, columns = read_item_columns(options.consensus, ("consensus", "consensus_se", "score"))
    if "consensus" not in columns:
        return read_scores(options.consensus)
    # An items.csv has a blank here for items that nobody judged.
    judged = np.isfinite(columns["consensus"])
    sd = columns["consensus_se"][judged] if "consensus_se" in columns else None
    if sd is not None and not (np.isfinite(sd) & (sd > 0.0)).all():
        sd = None
    return Scores(ids[judged], columns["consensus"][judged], sd, str(options.consensus))


def _finish(
    result: Assessment, options: argparse.Namespace, console: Console, texts: Texts | None = None
) -> int:
    fitted = options.command != "calibrate"
    if fitted:
        result = _with_command(result, options)
    if fitted and not options.no_check:
        result = result.advised(on_step=console.on_step, on_iteration=console.on_iteration)
        console.done()
    paths = result.save(options.output, texts=texts, check=False)
    _tell(result, console)
    if result.advice is not None:
        console.say(_found(result.advice))
    elif fitted and not options.no_check:
        console.say(
            "the data were not looked over: there are too many rows for that, or they lie on a "
            "cluster; try aggcal check on a part of them"
        )
    console.say(f"wrote {', '.join(str(path) for path in paths)}")
    if options.json:
        print(to_json(result.to_dict()))
    return 0


def _with_command(result: Assessment, typed: argparse.Namespace) -> Assessment:
    settings = result.rows["settings"] | given(typed)
    return replace(result, rows={**result.rows, "settings": settings})


def _found(advice: Advice) -> str:
    problems = advice.check.problems
    notes = len(advice.check.findings) - problems
    if not problems and not notes:
        return "looked the data over: nothing stands out"
    return (
        f"looked the data over: {count(problems, 'problem')} and {count(notes, 'note')}, each with "
        "what to do in report.html"
    )


def _tell(result: Assessment, console: Console) -> None:
    console.warn(result.warnings)
    summary: dict[str, Any] = result.to_dict()
    if result.consensus is not None:
        state = "converged" if summary["converged"] else "did NOT converge"
        console.say(
            f"{summary['method']}: {count(summary['n_items'], 'item')}, "
            f"{count(summary['n_annotators'], 'annotator')}, "
            f"{count(summary['n_judgments'], 'judgment')}; {state} in "
            f"{count(summary['iterations'], 'iteration')} "
            f"(relative gradient {summary['gradient_norm']:.1e})"
        )
    if result.calibration is not None:
        console.say(str(result.calibration))
        if result.calibration.covers is not None:
            interval = summary["calibrated_interval"]
            console.say(f"intervals at {interval['level']:g}: {interval['covers']}")
    for name in ("measured_gain", "certified_pairs"):
        if name in result.guarantees:
            console.say(result.guarantees[name].says)


def _simulated(folder: str | Path, **study: Any) -> list[Path]:
    from aggcal.simulate import simulate as make

    made = make(**study)
    return write_files(
        folder,
        {
            "judgments.csv": csv_writer(made.judgments),
            "scores.csv": csv_writer(made.scores),
            "truth.csv": csv_writer(made.truths),
            "annotators.csv": csv_writer(made.annotators),
        },
    )
