"""What people call columns, outcomes and steps of "better": the one place for all of them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable


def _spaced(*names: str) -> tuple[str, ...]:
    """Add to each name how a person types it: with spaces where programs have underscores."""
    return tuple(dict.fromkeys(s for name in names for s in (name, name.replace("_", " "))))


# fmt: off
OWN = ("annotator", "winner", "loser", "left", "right", "outcome", "weight", "criterion")
"""The columns of our own tables."""
EXTRA = ("seconds", "ranking", "screen", "reason", "sided")
"""Others of our own that few tables have."""
TALLIES = {"left_wins": "left", "right_wins": "right", "ties": "tie"}
"""How often each side won, where a row tells of several answers."""
OF_TABLES = (*TALLIES, "swapped")
"""Columns that a table of pairs has only where the user says so, or where it is certain."""

ANNOTATOR = _spaced(
    "annotator", "annotator_id", "worker", "worker_id", "workerid", "judge", "judge_id", "judgeid",
    "rater", "rater_id", "reviewer", "assessor", "participant", "voter", "user", "reviewer_id",
    "reviewerid", "reviewer_name", "reviewername", "member name", "member #", "reviewer_email",
    "annotator_name",
    "rater_name", "judge_name", "judgename", "participant_id", "prolific_pid", "prolific_id",
    "respondent_id", "email address", "teacher", "marker", "examiner", "coder", "labeler",
    "labeller", "user_id", "completed_by", "responseid", "response_id", "respondent", "evaluator",
    "juror", "jury", "jury_member", "prüfer", "prüferin",
    "lehrer", "lehrerin", "lehrkraft", "gutachter", "gutachterin", "bewerter", "korrektor",
    "jurymitglied", "juge", "enseignant", "enseignante", "correcteur", "évaluateur", "juez",
    "evaluador", "giudice",
    "listener", "interviewer", "taster",
    "grader", "voter_id", "antwort id", "profesor", "profesora", "docente",
    "jurado", "examinador", "userid", "_annotator_id", "_session_id", "session_id",
    "evaluation_session_id",
)
"""Who judged, the surest name first."""
PEOPLE = re.compile(
    r"worker|annotator|judge|rater|reviewer|assessor|coder|label+er|participant|subject|respondent"
    r"|voter|user|person|pid$|email|e-mail|teacher|marker|examiner|prüf|lehr|gutacht|^name$"
    r"|^your name$|jury|juror|juge|enseignant|korrektor|bewert|response ?id|^who$|^wer$|^by$"
)
"""What columns are called that name people, among other things."""

_PAIRS = (
    ("left", "right"), ("model_a", "model_b"), ("item_a", "item_b"), ("option_a", "option_b"),
    ("item_1", "item_2"), ("item1", "item2"), ("option_1", "option_2"), ("option1", "option2"),
    ("generator_1", "generator_2"), ("left choice id", "right choice id"), ("left_id", "right_id"),
    ("choice_a", "choice_b"), ("choice_1", "choice_2"), ("choice1", "choice2"),
    ("response_a", "response_b"), ("response_1", "response_2"), ("output_1", "output_2"),
    ("text_a", "text_b"), ("text_1", "text_2"), ("text1", "text2"), ("a", "b"), ("x", "y"),
)
LEFT_RIGHT = tuple(zip(*(_spaced(*side) for side in zip(*_PAIRS, strict=True)), strict=True))
"""What was shown side by side."""

WINNER_LOSER = (
    ("winner", "loser"), ("winner_id", "loser_id"), ("winner id", "loser id"),
    ("chosen", "notchosen"), ("chosen", "not_chosen"), ("chosen", "not chosen"),
    ("chosen", "rejected"),
    ("preferred", "other"), ("preferred", "over"), ("better", "worse"),
)
"""What was put above what."""
BEATEN = (
    *WINNER_LOSER, ("won", "lost"), ("winning", "losing"), ("wins", "loses"),
    ("chosen", "unchosen"), ("selected", "rejected"),
    ("gewinner", "verlierer"), ("gagnant", "perdant"), ("ganador", "perdedor"),
    ("vincitore", "perdente"),
)
"""Words by which the names of two columns differ, of which one holds what was put above."""
_ONE_OTHER = (
    ("left", "right"), ("a", "b"), ("x", "y"), ("first", "second"), ("one", "two"),
    ("links", "rechts"), ("gauche", "droite"), ("linker", "rechter"), ("erster", "zweiter"),
    ("erste", "zweite"), ("izquierda", "derecha"), ("sinistra", "destra"), ("sinistro", "destro"),
    ("white", "black"), ("home", "away"), ("esquerda", "direita"),
)
"""What people call the two sides, in names of columns and in answers."""
SIDES = (*_ONE_OTHER, ("1", "2"), ("0", "1"), ("premier", "second"), ("top", "bottom"))
"""Words by which the names of two columns differ that hold what was shown side by side."""

OUTCOME = (
    "outcome", "winner", "label", "preference", "selected", "result", "choice", "vote", "answer",
)
DECIDED = re.compile(
    r"outcome|choice|chosen|answer|response|winner|prefer|better|best|result|label|vote|decision"
    r"|select|verdict|decid|urteil|ergebnis|wahl|gewinner|r[eé]sultat|pr[eé]f[eé]r|entscheidung"
    r"|\bwins?\b|_wins?\b|won\b|\bftr\b|besser|meilleur|mieux|choix|scelta|mejor"
)
"""What columns are called that say which of two won."""
CHANCE = re.compile(r"^(?:p|prob|probability|chance)[ _]")
"""How the name of a column begins that holds a probability."""
LOST = frozenset((
    "loser", "lost", "losing", "worse", "worst", "weaker", "weakest", "rejected", "unchosen",
    "inferior", "disliked", "dispreferred", "unpreferred", "least preferred", "least liked",
    "not preferred", "not chosen", "not selected", "schlechter", "schlechtere", "schlechterer",
    "schlechteste", "schwächer", "schwächere", "schwächerer", "verlierer", "pire", "perdant",
    "moins bon", "moins bonne", "peor", "perdedor", "peggiore", "perdente", "slechter",
))  # fmt: skip
"""What columns are called that say which of two lost, beside words that only ask."""
ASKING = frozenset((
    "which", "what", "who", "is", "was", "the", "one", "of", "id", "item", "essay", "text",
    "script", "response", "answer", "model", "image", "option", "welcher", "welche", "welches",
    "wer", "ist", "quelle", "quel", "est", "la", "le", "cuál", "cual", "es", "el", "copie",
    "arbeit", "aufsatz",
))  # fmt: skip
"""Words by which a column asks for one of two, whichever that is."""
NEGATIVE = re.compile(
    r"\b(?:los(?:e|es|er|ers|ing|t)|wors\w*|weak\w*|least|less|lesser|low|lower|lowest|fewer|fewest"
    r"|not|no|non|bad|poor|poorer|poorest|reject\w*|eliminat\w*|discard\w*|remove\w*|unchosen"
    r"|unselected|unpreferred|dispreferred|inferior|dislik\w*|nicht|kein\w*|weniger|schlecht\w*"
    r"|schwäch\w*|verlier\w*|pire|pas|moins|perdant|menos|peor|perdedor|peggio\w*|meno|perdente"
    r"|slecht\w*|niet|minder)\b"
)
"""Words in the name of a column by which it may say which of two lost."""
KEY = re.compile(
    r"\d\s*(?:=|means|is\b|ist\b|bedeutet)"
    r"|\b(?:best|better|worst|highest|lowest|higher|beste[rs]?|left|right)\b",
    re.IGNORECASE,
)
"""What a line above a table holds that may say what its numbers mean."""
TALLIED = re.compile(r"\b(?:wins?|won|winner|votes?|chosen|preferred|selected|on)\b")
"""What columns are called that say of one side how often it won."""
TIED = ("tie", "ties", "tied", "draw", "draws")
"""The same of neither."""
ASKED = re.compile(r"question$|prompt$|criteri(?:on|um|a)$|aspect$|attribute$|dimension$")
"""What columns are called that say what was asked, beside who won."""
SWAPPED = re.compile(r"swap|flip|revers|mirror|shown.first|first.shown|left.is")
"""What columns are called that say in which rows the sides were exchanged."""
ITEM = _spaced(
    "item", "item_id", "paper", "paper_id", "submission", "submission_id", "submission #",
    "submission number", "pid", "essay", "script", "poster", "product", "forum", "student", "pupil",
    "candidate", "contestant", "schüler", "schülerin", "aufsatz", "arbeit", "beitrag", "élève",
    "copie", "klausur", "antrag", "team", "movie", "movie_id", "movieid", "entrant", "entrant_no",
    "abstract", "abstract_id", "asin", "paper title", "alumno", "alumna", "estudiante",
)
LIKELY = re.compile(r"item|image|stimul|text|essay|option|model|answer|input|id$|name|response")
"""What columns are called, beside their sides, that hold items."""
MEASURED = re.compile(
    r"\b(?:rt|time|date|timestamp|duration|seconds|ms|trial|index|order|age|confidence|position|rank"
    r"|width|height|length|count|number|progress|version|page|lastpage|seed|latitude|longitude"
    r"|batch|round|session|block|year)\b"
)
"""What columns are called that hold neither items, people nor ratings."""
PER_ITEM = ("id", "model", "system", "name")
"""What the column of items may be called where no name is surer: often it is something else."""
RANKS = ("rank", "place", "position", "placement", "rang", "platz")
"""Which place an item got: the lowest number is the best, so that none of these is a rating."""
AVERAGES = (
    "points possible", "possible points", "max points",
    "mean", "average", "avg", "median", "mittelwert", "durchschnitt", "moyenne", "promedio",
)
SUMMARIES = (
    *AVERAGES, "total", "sum", "grand total", "summe", "gesamt", "somme", "media", "suma", "max",
    "maximum", "min", "minimum", "std", "stdev", "sd", "range", "count",
)
"""The rows and columns in which a spreadsheet adds up the others."""
RATING = _spaced(
    "rating", "score", "mark", "grade", "stars", "points", "overall merit", "overall score",
    "total score", "overall evaluation", "overall rating", "overall_rating", "ovemer",
    "overall_assessment", "overall assessment", "overall_recommendation", "overall recommendation",
    "recommendation", "overall_score", "total_score", "schulnote", "punkte", "punktzahl",
    "bewertung", "overall", "mos",
    "note", "zensur", "calificación", "puntuación", "punteggio", "quality",
)
MARKS = ("mark", "grade", "note", "schulnote", "zensur", "calificación")
"""What schools call ratings: of these the lowest number is the best in some countries."""
GROUP = (
    "ranking", "task", "task_id", "entry", "question", "question_id", "prompt", "prompt_id",
    "context", "list", "set",
)
"""What names one ranking of several rows."""
SHOWN = (
    "items", "options", "choices", "set", "alternatives", "outputs", "responses", "answers",
    "candidates", "models", "completions",
)
"""What lists all items of a screen in one cell."""
OF_SURVEYS = frozenset(("lastpage", "submitdate", "startlanguage"))
"""Columns of LimeSurvey, whose ``id`` is that of who answered."""
SECONDS = {
    "seconds": 1.0, "duration_s": 1.0, "duration_ms": 1e3, "lead_time": 1.0,
    "response time (s)": 1.0, "response_time_ms": 1e3,
}
"""How long a judgment took, and how many of the unit make a second."""
TIMES = ("count", "counts", "n", "freq", "frequency", "times", "n_votes", "num_votes", "votes")
"""How often a row was observed."""
CONTEXTS = {
    "prompt": ("prompt", "prompt_id", "instruction", "question", "question_id", "input", "query",
               "instruction_id", "context"),
    "task": ("task", "task_id", "question_id", "prompt_id"),
    "session": ("session", "session_id", "session id", "evaluation_session_id", "conversation_id"),
}
"""Which columns a context may mean that no column is called by."""

NAMES = frozenset((
    *OWN, *EXTRA, *ANNOTATOR, *OUTCOME, *ITEM, *RATING, *GROUP, *SHOWN, *SECONDS,
    "rank", "best", "worst", *(name for pair in (*LEFT_RIGHT, *WINNER_LOSER) for name in pair),
))
"""The columns by which the header of a table, its delimiter and a sheet are told."""
MAY_BE_DATA = frozenset((
    "left", "right", "text", "answer", "choice", "set", "list", "user", "label",
))

PLACES = ({"0", "1"}, {"left", "right"})
"""What two columns hold that name places and no items."""
OUTCOMES = ("left", "right", "tie", "skip", "failed")
GRADES = {
    "left": 1, "left+": 2, "left++": 3, "tie": 0, "right": -1, "right+": -2, "right++": -3,
}
"""How many steps better the left item is."""
MEANINGS = (*OUTCOMES, "left+", "right+", "left++", "right++")
NO_SIDE = ("tie", "skip", "failed")
NOTHING = ("na", "n/a", "null")
"""Cells that R, databases and people leave blank with a word."""
NUMBERLESS = (
    *NOTHING, "none", "nil", "n.a.", "k.a.", "keine angabe", "no answer", "not applicable",
    "prefer not to say", "don't know", "abs", "abs.", "absent", "abwesend", "krank",
    "-", "\u2013", "\u2014", "?", "(read only)",
)
"""The same where a number belongs."""
DAMAGE = (
    (
        "is an error of a spreadsheet",
        "correct the formula that makes the id and export the table again",
        re.compile(r"#(n/a|ref!|name\?|value!|div/0!|num!|null!|spill!)", re.IGNORECASE).fullmatch,
    ),
    (
        "is a long number that a spreadsheet has abbreviated",
        "format the column as text in the spreadsheet and export it again",
        re.compile(r"[0-9]([.,][0-9]+)?E\+(1[1-9]|[2-9][0-9])").fullmatch,
    ),
)
"""What spreadsheets do to ids: what it is called, what to do about it, and how to tell."""

_THINGS = (
    "model", "item", "option", "choice", "response", "output", "text", "answer", "assistant",
    "candidate", "system", "generator", "completion", "summary", "image", "sample",
)
_ANSWERS = (
    *_ONE_OTHER, ("[[a]]", "[[b]]"), ("←", "→"), ("<-", "->"), (">", "<"),
    ("the_first_one", "the_second_one"), ("la_première", "la_seconde"), ("le_premier", "le_second"),
    ("arrowleft", "arrowright"), ("l", "r"),
    ("leftvote", "rightvote"), ("left_vote", "right_vote"), ("a>b", "b>a"), ("[[a>b]]", "[[b>a]]"),
    ("1-0", "0-1"),
    *((f"{thing}{end}", f"{thing}{other}") for thing in _THINGS
      for end, other in (("_a", "_b"), ("_1", "_2"), ("1", "2"))),
    *LEFT_RIGHT,
)
BOTH_BAD = (
    "both_bad", "bothbad", "tie_(bothbad)", "tie_(both_bad)", "bothbad_vote", "both_are_bad",
)
NEITHER = "neither"
_TIES = (
    "tie", "tied", "tievote", "tie_vote", "draw", "equal", "even", "same", "both", "both_good",
    "no_preference", "no_difference", "[[c]]", "a=b", "[[a=b]]", "about_the_same", "the_same",
    "about_equal", "about_equally_good", "equally_good", "roughly_equal", "roughly_the_same",
    "unentschieden", "gleich", "gleich_gut", "beide", "beide_gleich_gut", "beide_gleich",
    "kein_unterschied", "égalité", "égal", "pas_de_différence", "aucune_différence", "empate",
    "pari", "parità", "1/2_1/2", "½_½",
    "=", "~", "≈", "a_~_b", "a~b", "gelijk", "égales", "égaux", "identiques", "both_equal",
    "both_are_good", "i_like_both", "no_clear_preference", "both_are_equal",
    "both_are_equally_good", "neither_is_better",
)


TRUTH = {
    **dict.fromkeys(("true", "yes", "ja", "oui", "sí", "wahr", "vrai"), 1.0),
    **dict.fromkeys(("false", "no", "nein", "non", "falsch", "faux"), 0.0),
}
"""What answers whether one side was preferred."""


_ONE_SIGN = str.maketrans(" -\u2013", "___")


def spelt(label: str) -> str:
    """Return a label without its capitals, and with one sign for all that parts words.

    Examples
    --------
    >>> spelt(" Model A"), spelt("both-bad")
    ('model_a', 'both_bad')
    """
    return label.strip().lower().translate(_ONE_SIGN)


LABELS: dict[str, str] = {
    **{spelt(left): "left" for left, _ in _ANSWERS},
    **{spelt(right): "right" for _, right in _ANSWERS},
    **dict.fromkeys((*_TIES, *BOTH_BAD, NEITHER), "tie"),
    **dict.fromkeys(("skip", "skipped", "ignore"), "skip"),
    **dict.fromkeys(("failed", "error"), "failed"),
}
"""What labels mean, as `spelt` writes them."""

_LEVELS = {word: level for level, words in enumerate((
    "slightly marginally somewhat a_bit a_little a_little_bit weakly barely",
    "moderately",
    "much significantly far clearly strongly considerably substantially a_lot greatly",
    "very_much extremely overwhelmingly vastly very_strongly",
), 1) for word in words.split()}
"""How much better a word says that an item is: 2 is what "better" alone says."""
# fmt: on
_WORDS = "|".join(sorted(_LEVELS, key=len, reverse=True))
_SENTENCES = (
    r"(?P<side>[^<>=]+?)_?(?P<sign>>{1,3}|<{1,3})_?(?P<other>[^<>=]+)",
    (
        rf"(?:the_)?(?P<side>.+?)_(?:is_|was_)?(?:(?P<how>{_WORDS})_)?"
        r"(?P<verdict>better|worse|preferred|wins|won|beats?|loses|lost)"
        r"(?:_(?:than_)?(?:the_)?(?P<other>.+))?"
    ),
    (
        rf"(?:i_)?(?:(?P<how>{_WORDS})_)?prefer(?:_the)?_(?P<side>.+?)"
        r"(?:_(?:over|to)_(?:the_)?(?P<other>.+))?"
    ),
)
_NAMED = {k: v for k, v in LABELS.items() if v in ("left", "right")} | {"1": "left", "2": "right"}
_NAMED |= {
    f"{thing}_{end}": side
    for thing in ("copie", "essay", "script", "arbeit", "aufsatz", "paper")
    for end, side in (("a", "left"), ("b", "right"), ("1", "left"), ("2", "right"))
}
_IN_ENGLISH = {
    "ist": "is", "est": "is", "besser": "better", "meilleure": "better", "meilleur": "better",
    "schlechter": "worse", "la": "the", "le": "the", "der": "the", "die": "the", "das": "the",
}  # fmt: skip
_LONGEST_LABEL = 80  # characters: what is longer is a text, not a step of a scale
OPPOSITE = {"left": "right", "right": "left"}


def step(label: str) -> tuple[str, int] | None:
    """Return which side a label calls better and by how much, from 1 to 4; None if it does not.

    Examples
    --------
    >>> step("A is slightly better"), step("Response B is much better"), step("a>>b")
    (('left', 1), ('right', 3), ('left', 3))
    >>> step("strongly prefer B"), step("much better"), step("a>>a"), step("Text 1 ist besser")
    (('right', 3), None, None, ('left', 2))
    """
    words = spelt(label).strip("[]().!_").split("_")
    text = "_".join(_IN_ENGLISH.get(word, word) for word in words)
    for sentence in _SENTENCES:
        match = re.fullmatch(sentence, text)
        if match is None:
            continue
        part = match.groupdict()
        side, other = _NAMED.get(part["side"]), part.get("other")
        if side is None or (other is not None and _NAMED.get(other) != OPPOSITE[side]):
            return None
        if sign := part.get("sign"):
            return (side if sign[0] == ">" else OPPOSITE[side]), 1 + len(sign)
        better = OPPOSITE[side] if part.get("verdict") in ("worse", "loses", "lost") else side
        return better, _LEVELS[part["how"] or "moderately"]
    return None


def is_label(text: str) -> bool:
    """Whether a text is an outcome label, also one that says how much better an item is.

    Examples
    --------
    >>> is_label("Model A"), is_label("A is much better"), is_label("gpt-4")
    (True, True, False)
    """
    if spelt(text) in LABELS or text.lower() in MEANINGS:
        return True
    return len(text) < _LONGEST_LABEL and step(text) is not None


def paired(columns: Collection[str], every: Collection[str] = ()) -> bool:
    """Whether columns hold pairs: two that go together, and are not the first of ``every`` one.

    Examples
    --------
    >>> paired({"a", "b"}), paired({"a", "b", "c"}), paired({"chosen", "rejected"})
    (True, False, True)
    """
    return any(
        one in columns and two in columns and third(one, two) not in (every or columns)
        for one, two in (*LEFT_RIGHT, *WINNER_LOSER)
    )


def third(one: str, two: str) -> str | None:
    """Return what the next column is called of a series of which two are the first.

    Examples
    --------
    >>> third("option_a", "option_b"), third("1", "2"), third("left", "right")
    ('option_c', '3', None)
    """
    end = {"a": "c", "x": "z", "1": "3", "0": "2"}.get(one[-1])
    return None if end is None or one[:-1] != two[:-1] else one[:-1] + end


def names_table(cells: set[str], names: frozenset[str] | set[str]) -> bool:
    """Whether cells name two known columns, beyond what may be an id or an outcome.

    Examples
    --------
    >>> names_table({"item", "score"}, NAMES), names_table({"a", "b"}, NAMES)
    (True, False)
    """
    return sum(len(name) > 1 for name in cells & names - MAY_BE_DATA) > 1


_TITLES = 30
"""Rows in which a header is looked for: titles above a table are fewer."""


def header_row(rows: Iterable[Iterable[str]], names: Collection[str]) -> tuple[int, int]:
    """Return which row names the columns of a table, and how many of the wanted ones it names.

    It is the first with something in it, unless that names none of them and one below, which has
    more cells, names two: people write titles above their tables. Below a title of one cell it is
    the widest row, if that holds no numbers.

    Examples
    --------
    >>> header_row([["Our survey"], [], ["item", "score"], ["a", "1"]], NAMES)
    (2, 2)
    """
    wanted = frozenset(names)
    first = last = widest = fits = 0
    for k, row in enumerate(rows):
        cells = [cell for cell in (text.strip().lower() for text in row) if cell]
        fit = len(wanted.intersection(cells))
        if cells and not widest:
            first = last = k
            titled = len(cells) == 1
            if fit:
                return k, fit
        elif len(cells) > widest:
            if names_table({*cells}, wanted):
                return k, fit
            headed = titled and not any(cell[0].isdigit() for cell in cells)
            last, fits = (k, fit) if headed else (first, 0)
        widest = max(widest, len(cells))
        if widest and k - first >= _TITLES:
            break
    return last, fits
