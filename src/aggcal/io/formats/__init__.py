"""The formats that people's tools export, each in a file of its own."""

from __future__ import annotations

from difflib import get_close_matches

from aggcal.errors import OptionError
from aggcal.io.formats import (
    all_our_ideas,
    alpaca_eval,
    arena,
    argilla,
    choix,
    crowd_kit,
    evalica,
    gavel,
    label_studio,
    mt_bench,
    no_more_marking,
    plain,
    preference_pairs,
    preflib,
    rankings,
    ratings,
    vote_log,
)
from aggcal.io.formats._base import Format
from aggcal.io.formats._sample import Sample

FORMATS: dict[str, Format] = {
    known.name: known
    for known in (
        # From the most particular to the most general: the first that knows a file reads it.
        preflib.FORMAT,
        label_studio.FORMAT,
        argilla.FORMAT,
        vote_log.FORMAT,
        mt_bench.FORMAT,
        alpaca_eval.FORMAT,
        arena.FORMAT,
        crowd_kit.FORMAT,
        gavel.FORMAT,
        all_our_ideas.VOTES,
        all_our_ideas.NON_VOTES,
        no_more_marking.FORMAT,
        preference_pairs.FORMAT,
        evalica.FORMAT,
        rankings.BEST_WORST,
        rankings.RANKINGS,
        ratings.FORMAT,
        choix.FORMAT,
        plain.FORMAT,
    )
}
"""The formats by name."""


def recognised(sample: Sample, name: str | None = None) -> Format:
    """Return the format of a file: the one named, or the first that knows it.

    Examples
    --------
    >>> from aggcal.io.formats._sample import of_records
    >>> recognised(of_records("f", [{"worker": "w", "left": "a", "right": "b", "label": "a"}])).name
    'crowd-kit'
    """
    if name is None:
        found = next(known for known in FORMATS.values() if known.is_mine(sample))
        if found is rankings.RANKINGS and ratings.FORMAT.is_mine(sample):
            raise OptionError(
                f"{sample.name}: holds ranks and ratings; say which to use with --format rankings "
                "or --format ratings."
            )
        return found
    if name not in FORMATS:
        close = get_close_matches(name, FORMATS, 1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise OptionError(
            f"there is no format '{name}'{hint}; there are {', '.join(sorted(FORMATS))}."
        )
    return FORMATS[name]
