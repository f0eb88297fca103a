"""What is to be held equal when items are compared: the length of an answer, its style."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from aggcal._core.arrays import CodeArray, FloatArray, IntArray, TextArray, frozen
from aggcal._core.tables import aligned
from aggcal.errors import FeatureError, OptionError, count, option, some

if TYPE_CHECKING:
    from aggcal.data.base import AnyJudgments
    from aggcal.data.judgments import Judgments

_SAME = 1e-9
"""Share of a covariate's spread below which it does not vary, or says what others say already:
rounding leaves less."""


@dataclass(frozen=True, eq=False)
class Control:
    """Numbers that describe each item, or what each item gave in each context.

    Their effect on the judgments is estimated and taken out of the scores. `read_control` reads
    them from a file.

    Parameters
    ----------
    item_ids
        The items; several times each where there are contexts.
    matrix
        A row for each entry, a column for each covariate.
    names
        What the covariates are called.
    context_ids
        The context of each entry, where an item's values depend on it.

    Examples
    --------
    >>> ids = np.array(["a", "b"], dtype=object)
    >>> Control(ids, np.array([[120.0], [80.0]]), ("words",))
    Control(2 rows, words)
    """

    item_ids: TextArray
    matrix: FloatArray
    names: tuple[str, ...]
    context_ids: TextArray | None = None
    source: str = "control"
    notes: tuple[str, ...] = ()
    """What was made of the table in reading it, in words."""

    def __post_init__(self) -> None:
        ids = [np.asarray(self.item_ids, dtype=object)]
        if self.context_ids is not None:
            ids.append(np.asarray(self.context_ids, dtype=object))
            object.__setattr__(self, "context_ids", frozen(ids[1]))
        object.__setattr__(self, "item_ids", frozen(ids[0]))
        object.__setattr__(self, "matrix", frozen(np.asarray(self.matrix, dtype=np.float64)))
        shape = self.matrix.shape
        if shape != (len(ids[0]), len(self.names)) or any(len(each) != shape[0] for each in ids):
            raise FeatureError(
                f"{self.source}: {len(ids[0])} items and {count(len(self.names), 'name')} do not "
                f"fit a matrix of shape {shape}; give a row for each entry and a column for each "
                "name."
            )
        if not np.isfinite(self.matrix).all():
            raise FeatureError(f"{self.source}: a value is not a finite number; fill it in.")
        self._refuse_useless()

    def _refuse_useless(self) -> None:
        """Refuse covariates that never vary, or that others determine."""
        about = self.matrix - self.matrix.mean(axis=0)
        sizes = np.maximum(np.abs(self.matrix).max(axis=0, initial=0.0), 1e-300)
        for name, sd, size in zip(self.names, np.std(about, axis=0), sizes, strict=True):
            if not sd > _SAME * size:
                raise FeatureError(
                    f"{self.source}: {some([name])} is the same in every row, so there is nothing "
                    "to hold equal; leave the column out."
                )
        scaled, known = self.scaled, np.zeros((len(about), 0))
        for k, name in enumerate(self.names):
            rest = scaled[:, k] - known @ (known.T @ scaled[:, k])
            rest -= known @ (known.T @ rest)  # once more: rounding would pass for something new
            size = float(np.linalg.norm(rest))
            if size <= _SAME * np.sqrt(len(scaled)):
                raise FeatureError(
                    f"{self.source}: {some([name])} follows exactly from "
                    f"{some(self.names[:k])}, so their effects cannot be "
                    "told apart; leave one of these columns out."
                )
            known = np.column_stack([known, rest / size])

    def __repr__(self) -> str:
        return f"Control({count(len(self.item_ids), 'row')}, {', '.join(self.names)})"

    @property
    def scaled(self) -> FloatArray:
        """The covariates about their mean, in units of their standard deviation in the table."""
        about = self.matrix - self.matrix.mean(axis=0)
        return np.asarray(about / np.sqrt(np.mean(np.square(about), axis=0)))

    def check(self, judgments: Judgments) -> None:
        """Refuse judgments for which values are missing, or of which they cannot explain any."""
        found = self.differences(judgments, judgments.left, judgments.right, judgments.context)
        refuse_unable(self, np.abs(found).max(axis=0, initial=0.0))

    def differences(
        self, judgments: Judgments, left: CodeArray, right: CodeArray, context: CodeArray | None
    ) -> FloatArray:
        """Return the left item's covariates less those of the right one, rows by covariates.

        Parameters
        ----------
        judgments
            Whose ids the codes stand for.
        left, right, context
            Codes of each row.
        """
        if self.context_ids is not None:
            refuse_without(self, judgments, None if context is None else int((context < 0).sum()))
        covariates = coded(self, judgments)
        without = covariates.lacking(left, right, context)
        if len(without):
            raise lacking(self, judgments, without)
        return covariates.differences(left, right, context)


@dataclass(frozen=True, eq=False)
class Covariates:
    """What is held equal, by the numbers of items: ``keys``, in rising order.

    Where values depend on the context, a key is its number × items + that of the item.
    """

    keys: IntArray
    values: FloatArray
    n_items: int
    by_context: bool

    @property
    def nbytes(self) -> int:
        """How much room it takes."""
        return self.keys.nbytes + self.values.nbytes

    def differences(
        self, left: CodeArray, right: CodeArray, context: CodeArray | None
    ) -> FloatArray:
        """Return the left item's covariates less those of the right one, rows by covariates."""
        one, two = (self._found(self._wanted(side, context)) for side in (left, right))
        return np.asarray(self.values[one] - self.values[two])

    def lacking(self, left: CodeArray, right: CodeArray, context: CodeArray | None) -> IntArray:
        """Return the keys that rows ask for and that have no values."""
        for side in (left, right):
            wanted = self._wanted(side, context)
            without = np.ones(len(wanted), dtype=bool)
            if len(self.keys):
                without = self.keys[self._found(wanted)] != wanted
            if without.any():
                return np.unique(wanted[without])
        return np.empty(0, dtype=np.int64)

    def _wanted(self, side: CodeArray, context: CodeArray | None) -> IntArray:
        wanted = side.astype(np.int64)
        if self.by_context and context is not None:
            wanted = context.astype(np.int64) * self.n_items + wanted
        return wanted

    def _found(self, wanted: IntArray) -> IntArray:
        return np.minimum(np.searchsorted(self.keys, wanted), max(len(self.keys) - 1, 0))


def coded(control: Control, judgments: AnyJudgments) -> Covariates:
    """Return the covariates by the numbers that judgments give items and contexts."""
    keys, rows = _keys(control, judgments)
    by_context = control.context_ids is not None
    return Covariates(keys, control.scaled[rows], judgments.n_items, by_context=by_context)


def refuse_unable(control: Control, largest: FloatArray) -> None:
    """Refuse covariates that are the same for both items of every judgment.

    ``largest`` is the largest difference of each.
    """
    for name, most in zip(control.names, largest.tolist(), strict=True):
        if not most > _SAME:
            raise FeatureError(
                f"{control.source}: {some([name])} is the same for both items of every judgment, "
                "so its effect cannot be estimated; leave the column out."
            )


def refuse_without(control: Control, judgments: AnyJudgments, without: int | None) -> None:
    """Refuse judgments of which so many rows have no context; None where none has one."""
    if without is None or judgments.context_ids is None:
        raise OptionError(
            f"{control.source}: its values depend on a context, but the judgments have none; "
            f"name their column with {option('context')}."
        )
    if without:
        name = judgments.context_name or "context"
        raise FeatureError(
            f"{control.source}: its values depend on the {name}, which "
            f"{count(without, 'row of the judgments lacks', 'rows of the judgments lack')}; "
            "fill it in or leave them out."
        )


def lacking(control: Control, judgments: AnyJudgments, keys: IntArray) -> FeatureError:
    """Say which entries are missing."""
    group, item = np.divmod(keys, judgments.n_items)
    names = [str(judgments.item_ids[k]) for k in item.tolist()]
    if control.context_ids is not None and judgments.context_ids is not None:
        ids, called = judgments.context_ids, judgments.context_name or "context"
        pairs = zip(names, group.tolist(), strict=True)
        names = [f"{name} in {called} {ids[g]}" for name, g in pairs]
    return FeatureError(
        f"{control.source}: there is no row for {some(names)}; add what is missing "
        f"({count(len(names), 'row')}) or leave these judgments out."
    )


def _keys(control: Control, judgments: AnyJudgments) -> tuple[IntArray, IntArray]:
    """Return the codes of the entries in rising order, and the row of each."""
    ids, spelling = control.item_ids, judgments.spelling
    if spelling is not None:
        ids = spelling.ids(ids)
    code = _numbers(judgments.item_ids, ids)
    known = code >= 0
    if control.context_ids is not None and judgments.context_ids is not None:
        group = _numbers(judgments.context_ids, control.context_ids)
        known &= group >= 0
        code = group * judgments.n_items + code
    rows = np.flatnonzero(known)
    rows = rows[np.argsort(code[rows], kind="stable")]
    keys = code[rows]
    again = np.flatnonzero(keys[1:] == keys[:-1])
    if len(again):
        one, two = (_name(control, int(rows[again[0] + k])) for k in (0, 1))
        same = f"{one} has" if one == two else f"{one} and {two} are one item and have"
        raise FeatureError(f"{control.source}: {same} several rows; keep one of them.")
    return keys, rows


def _name(control: Control, row: int) -> str:
    ids = control.context_ids
    return some(
        [control.item_ids[row] if ids is None else f"{control.item_ids[row]} in {ids[row]}"]
    )


def _numbers(known: TextArray, ids: TextArray) -> IntArray:
    """Return the position of ids among known ones; −1 where they are not."""
    found = aligned(np.arange(float(len(known))), known, ids)
    return np.where(np.isfinite(found), found, -1.0).astype(np.int64)
