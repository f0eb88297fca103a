"""The commands: a row each, with all that they take.

Whatever a command needs of the library is imported when it is called: help must not wait for it.
"""

from __future__ import annotations

from aggcal import registry
from aggcal.cli import options as o
from aggcal.cli.table import Command, Group, Option
from aggcal.registry.datasets import DEMOS, LLMFAO

# The table, laid out by hand: a row a command, with a row for each option of its own.
# fmt: off
_STAGES = (
    o.output("folder for the results (default: aggcal-results, or aggcal-results-2, ... if that is "
        "there already)", study=None),
    *(o.FORCE_FOLDER, o.SPREADSHEET_SAFE, o.WITHOUT, o.LEVEL, o.SEED),
    o.as_json("the summary and the files written"),
    *(o.STAGE_1, o.READING),
)

ASSUMPTIONS = Group("assumptions about a new study", (
    Option("--items N", "number of items (default: 50)"),
    Option("--annotators N", "number of annotators (default: 20)"),
))
SIMULATED = Group("", (
    Option("--items N", "number of items", 100),
    Option("--annotators N", "number of annotators", 30),
    Option("--number N", "number of judgments", 3000),
    Option("--reliability-sd X", "sd of log reliability; the mean reliability is 1", 0.5),
    Option("--reversed P", "share of annotators who answer the other way round", 0.0),
    Option("--model-sd X", "sd of the model's error", 10.0),
    Option("--model-bias X", "mean error of the model", 0.0),
    o.SEED,
))

_ROWS = (
    Command("init", "create aggcal.toml, which describes a study, from your files",
        "aggcal init judgments.csv scores.csv",
        "Says how each file is read, and writes aggcal.toml. What the files do not say is an "
        "error that names the option. In that folder, 'aggcal run', 'check', 'suggest' and "
        "'report' then need no arguments.",
        "init:init", (
        Option("files [FILE]", "files of the study: judgments, scores, truth, texts",
            several=True),
        o.output("study file to write", "FILE", default="aggcal.toml"),
        o.FORCE_FILE,
        o.as_json("the study and the file written"),
        Group("what a file contains, if it is not recognised", (
            Option("--judgments FILE", "judgments"),
            Option("--scores FILE", "model scores"),
            Option("--truth FILE", "true values: item,truth"),
            Option("--texts FILE", "texts of the items: item,text"),
            Option("--items FILE", "items to compare, if there are no judgments yet"),
            o.SCORE_COLUMN,
        )),
        o.READING,
    )),
    Command("run", "rank items by judgments, and calibrate a model's scores by them",
        "aggcal run judgments.csv scores.csv -o results",
        "Prints the first items with their intervals. Without SCORES the items are ranked. Writes "
        "items.csv, annotators.csv, comparisons.json, summary.json, report.html and "
        "report.md into DIR; categories.csv with --by, and predictions.csv if some scored items "
        "were never judged.",
        "run:run", (
        o.JUDGMENTS, o.MORE_JUDGMENTS, o.PERHAPS_SCORES, *_STAGES, o.STAGE_2, o.DECISIONS, o.REPORT,
    ), study=True),
    Command("aggregate", "estimate the consensus of judgments (Stage 1 only)",
        "aggcal aggregate judgments.csv -o results",
        "Writes items.csv, annotators.csv, comparisons.json, summary.json, report.html and "
        "report.md into DIR, and categories.csv with --by.",
        "run:run", (
        o.JUDGMENTS, o.MORE_JUDGMENTS, *_STAGES, o.ANCHORED, o.DECISIONS, o.REPORT,
    ), study=True),
    Command("calibrate", "calibrate model scores by an existing order (Stage 2 only)",
        "aggcal calibrate results/items.csv scores.csv -o calibrated",
        "Writes items.csv and summary.json into DIR.",
        "calibrate:calibrate", (
        Option("consensus CONSENSUS", "an items.csv written by aggcal, or any table item,score; "
            "higher is better. A column consensus_se or sd gives its standard errors"),
        o.SCORES,
        o.output("folder for the results", required=True),
        o.FORCE_FOLDER, o.SPREADSHEET_SAFE, o.LEVEL, o.SEED,
        o.NORMALIZE_IDS, o.ALIAS, o.TITLE, o.QUESTION,
        o.as_json("the summary and the files written"),
        o.STAGE_2,
        Group(o.DECISIONS.heading, (
            Option("--cut X", "probability of a score above X: of the calibrated score"),
            o.GRADES,
        )),
    ), study=True),
    Command("check", "find problems in judgments and say what to do about them",
        "aggcal check judgments.csv",
        "Prints counts, problems and notes, each with what to do, and the precision.",
        "studies:check", (
        o.JUDGMENTS, o.MORE_JUDGMENTS, o.PERHAPS_SCORES, o.WITHOUT, o.SCORE_COLUMN,
        Option("--method", "method that predicts the answers to compare with; see 'aggcal "
            "list methods'", registry.DEFAULT_METHOD, registry.WITHOUT_FEATURES),
        Option("--precision X", "target standard error of a score on the consensus scale, to "
            "estimate how many more judgments are needed (default: for a random pair to be "
            "ordered correctly with probability 90%)"),
        Option("--quick", "skip what takes longest: the search for opposing groups, and precision"),
        o.STRICT, o.VERBOSE, o.SEED,
        o.as_json("counts, findings and precision"),
        o.READING,
    ), study=True),
    Command("compare", "compare methods by how well they predict held-out judgments",
        "aggcal compare judgments.csv -o comparison",
        "Fits every method, with the terms that the data have (ties, position, context, "
        "categories), to the same folds, and prints how well each predicts what was held out: "
        "log-loss, accuracy and calibration (1 is calibrated; less: too extreme; more: too "
        f"timid), with standard errors and differences from {registry.BTL.name}. Whole contexts "
        "are held out where --context names them, else whole screens or rankings, else all "
        "answers of an annotator to one pair. The chosen method is the simplest within one "
        "standard error of the best; 'aggcal run --method auto' chooses in the same way.",
        "studies:compare", (
        o.JUDGMENTS, o.MORE_JUDGMENTS,
        o.output("folder for comparison.csv, comparison.svg and summary.json"),
        o.FORCE_FOLDER,
        Option("--methods NAME[,NAME]", "methods to compare, such as "
            "hra-g,tcv,hra-g:ties+position (a method with its terms; hra-g:plain has none); "
            "default: all that need no features, with every term that has data"),
        Option("--folds N", "number of parts held out in turn", 5),
        Option("--hold-out", "what is held out together: whole contexts (--context), whole "
            "screens or rankings, all answers of an annotator to one pair (question), of all to "
            "it (pair), or nothing (row); auto: the first of context, screen and question that "
            "is known. Whole contexts measure predictions for new contexts", "auto",
            ("auto", "context", "screen", "question", "pair", "row")),
        o.SEED,
        o.as_json("the comparison and the files written"),
        o.READING,
    ), study=True),
    Command("report", "re-render the report of an earlier run, or compare two runs",
        "aggcal report results --texts texts.csv",
        "Nothing is fitted again: the report is made from the files in DIR. With two folders it "
        "compares two runs: which items moved, and how certain that is.",
        "report:report", (
        o.RESULTS,
        Option("other [DIR]", "a later run, to compare with the first"),
        Option("--independent", "two folders: declare that no judgment is in both runs, which "
            "shows smaller moves"),
        o.output("file to write; - for standard output (default: report.html in DIR; of two "
            "runs comparison.html in the current folder); .html, .md and .json say the format",
            "FILE"),
        o.force("FILE if it already exists, and read the files in DIR even if they have changed"),
        o.as_json("the main numbers and the file written"),
        Group(o.REPORT.heading, (o.TITLE, o.QUESTION, o.TEXTS, o.PICTURES)),
    ), study=True),
    Command("explain", "say why one item is where it is, and what would change that",
        "aggcal explain essay-17 results",
        "Prints the item's record, the results that contradict the order, who disagreed, why its "
        "score moved from the model's, what would change its rank, and its comparisons. The "
        "report shows the same in the row of the item. Single comparisons are in DIR for up to "
        "60 items; for more, the judgments are read again from where the run read them.",
        "report:explain", (
        Option("item ITEM", "id of the item"),
        o.RESULTS,
        Option("--force", "read the files in DIR even if they have changed", kept=False),
        o.as_json("the explanation"),
    )),
    Command("convert", "convert judgments from any supported format into one table",
        "aggcal convert export.json -o judgments.csv",
        "Several files, or folders of files, are written as one table.",
        "tables:convert", (
        Option("inputs IN", o.WHAT_JUDGMENTS_ARE, several=True),
        o.output("file to write; - for standard output", "OUT", required=True),
        o.force("OUT if it already exists"),
        Option("--to", "output format; aggcal, a lossless table, unless OUT ends in .soc, .soi, "
            ".toc or .toi", choices=("aggcal", registry.CROWD_KIT, registry.PREFLIB)),
        o.SPREADSHEET_SAFE,
        o.as_json("what was written"),
        o.READING,
    )),
    Command("evaluate", "compare consensus, model and calibrated scores with the truth",
        "aggcal evaluate results/items.csv truth.csv",
        "Prints rank correlations and errors for each column. tau-a and tau-b differ where there "
        "are ties; pooling alone can raise tau-b.",
        "studies:evaluate", (
        Option("items ITEMS", "an items.csv written by aggcal", study=("output/items.csv",)),
        Option("truth TRUTH", "true values: a table item,truth"),
        o.NORMALIZE_IDS, o.ALIAS,
        o.as_json("the metrics"),
    ), study=True),
    Command("simulate", "simulate a study with a known truth",
        "aggcal simulate -o study --items 50 --number 2000",
        "Writes judgments.csv, scores.csv, truth.csv, annotators.csv and simulation.json (the "
        "settings) into DIR. aggcal.simulate in Python has ties, position, contexts and more.",
        "tables:simulate", (
        o.output("folder for the tables", required=True),
        o.FORCE_FOLDER, SIMULATED,
        o.as_json("the settings and the files written"),
    )),
    Command("power", "say how many judgments reach a goal, before or after a study",
        "aggcal power --goal tau=0.8 --items 50 --annotators 20",
        "Without JUDGMENTS, studies are simulated from the assumptions below. With JUDGMENTS, "
        "the answer is how many more this study needs, with its own items and annotators and "
        "random pairs; with --pilot, JUDGMENTS only tell what to assume of a new study. Every "
        "simulated study is fitted as 'aggcal run' would. The truth is what such annotators "
        "would agree on with unlimited judgments.",
        "studies:power", (
        o.PERHAPS_JUDGMENTS, o.MORE_JUDGMENTS,
        Option("--goal GOAL", "tau=0.8: Kendall's tau with the truth; top-10=0.9: share of the "
            "true ten best that are found; half-width=0.3: mean half-width of the intervals on "
            "the consensus scale", required=True),
        Option("--pilot", "plan a new study, of which JUDGMENTS are a pilot"),
        o.output("folder for power.csv, power.svg and summary.json"),
        o.FORCE_FOLDER,
        o.METHOD_TO_PREDICT, o.LEVEL, o.SEED, o.WITHOUT,
        o.as_json("the answer, the table and the files written"),
        ASSUMPTIONS, o.READING,
    )),
    Command("suggest", "choose the most informative pairs to ask next",
        "aggcal suggest judgments.csv -n 20 -o pairs.csv",
        "Prints a sheet with the columns annotator, left, right, outcome (to be filled in with "
        "left, right, tie or skip), information, probability (that left wins; blank where "
        "nothing relates the two items yet) and why. Once filled in, it is a table of judgments. "
        "Pairs that connect components of the comparison graph, and new items, come first. "
        "Without judgments, --items alone gives a first design: balanced, and connected with as "
        "few pairs as possible.",
        "suggest:suggest", (
        o.PERHAPS_JUDGMENTS, o.MORE_JUDGMENTS,
        Option("scores [SCORES]", f"{o.WHAT_SCORES_ARE}; items without judgments are included"),
        Option("-n --pairs N", "number of pairs (default: 20, or as many as --per-annotator "
            "allows; without judgments, at least as many as there are items)"),
        Option("--true-scores N", "suggest N items whose true score would help most, not pairs: "
            "a sheet for 'aggcal run --anchors', but no random sample (no intervals of the truth)"),
        o.output("file to write, instead of standard output", "FILE"),
        Option("--to", "csv: the sheet; otherwise tasks for that tool, whose exports aggcal reads",
            "csv", ("csv", registry.LABEL_STUDIO, registry.ARGILLA)),
        o.TEXTS, o.FORCE_FILE, o.SPREADSHEET_SAFE,
        Option("--about", "order: the pairs that would put most items in the right order; "
            "scores: those that would improve the calibrated scores most", "order",
            ("order", "scores")),
        Option("--items FILE", "table with the column item: further items to consider, or all "
            "items"),
        Option("--per-item K", "use each item in at most K pairs"),
        Option("--explore P", "share of the pairs for the least judged items, or for learning "
            "how reliable the named annotators are", 0.0),
        o.SEED,
        o.as_json("the pairs"),
        Group("annotators", (
            Option("--annotator ID", "annotator who is available, new or known; never given a "
                "pair they already judged or skipped (repeatable)", repeated=True,
                python=lambda named: named or None),
            Option("--per-annotator K", "at most K pairs for each annotator; if none is named, "
                "for all who judged before"),
        )),
        Group("consensus so far", (o.METHOD_TO_PREDICT, o.SCORE_COLUMN)),
        o.READING,
    ), study=True),
    Command("list", "list the formats, the methods or the real datasets",
        "aggcal list formats",
        "formats: what judgments can be read from. methods: how they are aggregated (Stage 1). "
        "datasets: real data with their licences and locations; 'aggcal demo' uses them, and in "
        "Python aggcal.datasets.load(NAME) returns the judgments, scores and truth of one. They "
        "are looked up in the folder that AGGCAL_DATA names, the repository, the installed "
        "package and the download cache.",
        "tables:listed", (
        Option("what WHAT", "formats, methods or datasets",
            choices=("formats", "methods", "datasets")),
        o.as_json("the list"),
    )),
    Command("demo", "run a complete example on real data",
        "aggcal demo",
        "Writes the results and the report into DIR, and the input tables into DIR/data. "
        f"{', '.join(DEMOS[:-1])} are real data; see 'aggcal list datasets'.",
        "demo:demo", (
        Option("--data", "dataset to use", LLMFAO.name, DEMOS),
        o.output("folder for the results", default="demo"),
        o.FORCE_FOLDER, o.TITLE, o.QUESTION, o.SEED,
        o.as_json("the summary, the comparison with the truth and the files written"),
    )),
    Command("completion", "print a completion script for bash, zsh or fish",
        "source <(aggcal completion bash)",
        "The script completes commands, options, the values of options and file names. For bash, "
        "write it to ~/.local/share/bash-completion/completions/aggcal; for zsh, to a file "
        "_aggcal in a folder of $fpath; for fish, to ~/.config/fish/completions/aggcal.fish.",
        "manual:completion", (
        Option("shell SHELL", "bash, zsh or fish", choices=("bash", "zsh", "fish")),
        o.as_json("the script"),
    )),
)

# fmt: on
COMMANDS = {row.name: row for row in _ROWS}
"""The commands by name, in the order in which ``--help`` lists them."""
