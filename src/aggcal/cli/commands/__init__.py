"""The commands: a line and an example for each here, and a file for each with its options.

What a command needs of the library it imports when called: ``--help`` must not wait for SciPy.
"""

COMMANDS = {
    "init": "create aggcal.toml, which describes a study, from your files",
    "run": "turn judgments and model scores into calibrated scores",
    "aggregate": "estimate the consensus of judgments (Stage 1 only)",
    "calibrate": "calibrate model scores by an existing order (Stage 2 only)",
    "check": "find problems in judgments and say what to do about them",
    "compare": "compare methods by how well they predict held-out judgments",
    "report": "re-render the report of an earlier run, or compare two runs",
    "explain": "say why one item is where it is, and what would change that",
    "convert": "convert judgments from any supported format into one table",
    "formats": "list the formats that judgments can be read from",
    "evaluate": "compare consensus, model and calibrated scores with the truth",
    "simulate": "simulate a study with a known truth",
    "power": "say how many judgments reach a goal, before or after a study",
    "suggest": "choose the most informative pairs to ask next",
    "reproduce": "reproduce the paper's tables and figures",
    "methods": "list the aggregation methods of Stage 1",
    "datasets": "list the real datasets, with their licences and locations",
    "demo": "run a complete example on real data",
    "completion": "print a completion script for bash, zsh or fish",
}
"""What each does, in the order in which ``--help`` lists them."""

EXAMPLES = {
    "init": "aggcal init judgments.csv scores.csv",
    "run": "aggcal run judgments.csv scores.csv -o results",
    "aggregate": "aggcal aggregate judgments.csv -o results",
    "calibrate": "aggcal calibrate results/items.csv scores.csv -o calibrated",
    "check": "aggcal check judgments.csv",
    "compare": "aggcal compare judgments.csv -o comparison",
    "report": "aggcal report results --texts texts.csv",
    "explain": "aggcal explain essay-17 results",
    "convert": "aggcal convert export.json -o judgments.csv",
    "formats": "aggcal formats",
    "evaluate": "aggcal evaluate results/items.csv truth.csv",
    "simulate": "aggcal simulate -o study --items 50 --judgments 2000",
    "power": "aggcal power --goal tau=0.8 --items 50 --annotators 20",
    "suggest": "aggcal suggest judgments.csv -n 20 -o pairs.csv",
    "reproduce": "aggcal reproduce dots -o paper --quick",
    "methods": "aggcal methods",
    "datasets": "aggcal datasets",
    "demo": "aggcal demo",
    "completion": "source <(aggcal completion bash)",
}
"""How each is called, for ``--help`` and the manual page."""
