"""The study file, ``aggcal.toml``: what a study consists of, described once for all commands.

`settings` reads it and holds it against what each command takes; `defaults` makes what it says the
defaults of a command. ``aggcal init`` (`aggcal.cli.commands.init`) writes one.
"""

STUDY_FILE = "aggcal.toml"
"""Its name; it is looked for in the current folder only, since one found elsewhere would change
results unseen."""

STUDY_COMMANDS = (
    "run", "aggregate", "check", "compare", "suggest", "report", "evaluate", "calibrate",
)  # fmt: skip
"""The commands that read it."""
