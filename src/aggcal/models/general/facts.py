"""What decides which terms judgments need: ties, strengths, contexts and categories, counted."""

from __future__ import annotations

from functools import cached_property, singledispatch

import numpy as np

from aggcal._core.arrays import FloatArray, IntArray, sums
from aggcal.data.base import AnyJudgments
from aggcal.data.control import Control
from aggcal.data.judgments import Judgments
from aggcal.data.row_columns import codes_of
from aggcal.data.weights import Tally


class Facts:
    """Counts of judgments in memory, each made when it is asked for.

    Examples
    --------
    >>> import aggcal
    >>> both = aggcal.read_judgments([("ann", "a", "b", "left"), ("bob", "a", "c", "tie")])
    >>> Facts(both).n_ties, Facts(both).n_contexts
    (1, 0)
    """

    def __init__(self, judgments: Judgments) -> None:
        self._judgments = judgments

    @cached_property
    def n_annotators(self) -> int:
        """How many annotators there are."""
        return self._judgments.n_annotators

    @cached_property
    def n_ties(self) -> int:
        """How many judgments are ties."""
        return self._judgments.tallies.n_ties

    @cached_property
    def top_grade(self) -> int:
        """The largest strength of an answer, in steps; 0 where none has one."""
        grade = self._judgments.grade
        return 0 if grade is None else int(np.abs(grade).max(initial=0))

    @cached_property
    def tally(self) -> Tally:
        """What tells whether weights are numbers of answers."""
        return Tally.of(self._judgments)

    @cached_property
    def n_contexts(self) -> int:
        """How many contexts there are; 0 where none are known."""
        context = self._judgments.context
        return 0 if context is None else len(np.unique(context[context >= 0]))

    @cached_property
    def annotators_in_contexts(self) -> int:
        """How many pairs of an annotator and a context there are."""
        context = self._judgments.context
        if context is None:
            return 0
        known, number = context >= 0, int(context.max(initial=0)) + 1
        owner = self._judgments.annotator[known].astype(np.int64)
        return len(np.unique(owner * number + context[known]))

    @property
    def contexts_of_one(self) -> bool:
        """Whether each context is of one annotator: its effects are then that annotator's taste."""
        return self.n_annotators > 1 and 0 < self.n_contexts == self.annotators_in_contexts

    @cached_property
    def in_contexts(self) -> int:
        """How many judgments have a context."""
        context = np.asarray(self._judgments.context)
        return int(np.asarray(self._judgments.count)[context >= 0].sum())

    @cached_property
    def cells(self) -> dict[str, IntArray]:
        """Of the context and of each category: the pairs with an item that occur, numbered."""
        n, found = self._judgments.n_items, {}
        for name, code in codes_of(self._judgments).items():
            known, group = code >= 0, code.astype(np.int64)[code >= 0]
            sides = (self._judgments.left[known], self._judgments.right[known])
            found[name] = np.unique(np.concatenate([group * n + side for side in sides]))
        return found

    @cached_property
    def category_weights(self) -> dict[str, FloatArray]:
        """The weight of the judgments in each category, by the name of the column."""
        weight, found = np.asarray(self._judgments.weight), {}
        for column in self._judgments.categories:
            known = column.code >= 0
            most = max(len(column.ids), int(column.code.max(initial=-1)) + 1)
            found[column.name] = sums(column.code[known], weight[known], most)
        return found

    def check_control(self, control: Control) -> None:
        """Refuse judgments for which values are missing, or of which they cannot explain any."""
        control.check(self._judgments)


@singledispatch
def facts_of(judgments: AnyJudgments) -> Facts:
    """Return the counts of judgments wherever their rows lie; an engine registers its own."""
    return Facts(judgments.on_one_machine("counting ties and contexts"))
