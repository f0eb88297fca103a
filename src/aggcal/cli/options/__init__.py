"""Options that several commands share, one file for each group of ``--help``."""
