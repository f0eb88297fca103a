"""Questions to whoever sits at the terminal; without one, nothing is asked."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from aggcal.cli.progress import LINE
from aggcal.errors import InputError, OptionError, did_you_mean, printable


class Asker:
    """Asks, or refuses with the sentence that says which option answers."""

    def __init__(self, *, may_ask: bool) -> None:
        self.may_ask = may_ask and sys.stdin.isatty() and sys.stderr.isatty()

    def choose(self, question: str, known: Sequence[str], otherwise: InputError | str) -> str:
        """Ask for one of several answers; ``otherwise`` says what to do where nobody can be asked.

        An answer may be written in whatever letters.
        """
        self._refuse(otherwise)
        by_letters = {each.strip().lower(): each for each in known}
        while True:
            said = self._said(f"{question} ({', '.join(known)})")
            if said.lower() in by_letters:
                return by_letters[said.lower()]
            self._say(f"'{said}' is not one of these{did_you_mean(said, known)}.")

    def text(self, question: str, otherwise: InputError | str) -> str:
        """Ask for a text that is not empty."""
        self._refuse(otherwise)
        while True:
            said = self._said(question)
            if said:
                return said

    def _refuse(self, otherwise: InputError | str) -> None:
        if not self.may_ask:
            raise OptionError(otherwise) if isinstance(otherwise, str) else otherwise

    def _said(self, question: str) -> str:
        self._say(f"{question}", end=" ")
        answer = sys.stdin.readline()
        if not answer:
            raise OptionError("no answer was given, so nothing was written; run the command again.")
        return answer.strip()

    @staticmethod
    def _say(text: str, end: str = "\n") -> None:
        LINE.end()
        LINE.say(f"{printable(text)}{end}")
