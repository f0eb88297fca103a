"""The commands: a line for each here, a file for each beside, with what it takes and what it does.

What a command needs of the library it imports when called: ``--help`` must not wait for SciPy.
"""

COMMANDS = {
    "init": "look at the files of a study and describe it in aggcal.toml",
    "run": "judgments and scores in, calibrated scores out",
    "aggregate": "Stage 1 alone: the consensus of the judgments",
    "calibrate": "Stage 2 alone: calibrate scores by an order you have",
    "check": "what is wrong with this data, and what to do about it",
    "report": "re-render the report of an earlier run, or compare two runs",
    "serve": "show a folder of results in a browser, refreshed as they change",
    "convert": "judgments of any format in, one table out",
    "formats": "the formats that judgments are read from",
    "evaluate": "compare consensus, model and calibrated scores with a truth",
    "simulate": "make a study whose truth is known",
    "suggest": "the pairs worth asking next, and whom to ask",
    "reproduce": "the paper's tables and figures beside ours",
    "methods": "the methods of Stage 1, one line each",
    "datasets": "the real datasets: what they are, their licences, where they are found",
    "demo": "people against a program on real data: how far off each is, and the report",
}
"""What each is for, in the order in which ``--help`` shows them."""
