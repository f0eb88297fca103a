"""A statement and its conditions: the form of everything that is claimed of results."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from aggcal._core.text import brief

if TYPE_CHECKING:
    from aggcal.calibration.inputs import Inputs

_EVEN_SD = 1.5
"""How many times the smallest sd of the model the largest may be and still count as one: the
theorems want 1, and a stricter bound would withdraw them for sds that differ by rounding."""


@dataclass(frozen=True)
class Condition:
    """Something a statement needs, and whether it was checked."""

    needs: str
    holds: bool | None = None
    note: str = ""
    """What is known of it, where there is more to say than ``holds``."""


@dataclass(frozen=True)
class Guarantee:
    """One statement.

    ``claim`` is the claim alone, in one sentence; ``says`` the fuller text.

    ``about`` is ``consensus``, ``model`` or ``truth``; ``kind`` is ``bound`` (proved), ``identity``
    (exact), ``confidence`` (right in that share of studies, whatever the true scores),
    ``posterior`` (a probability under the model and its priors), ``estimate`` or ``diagnostic``
    (neither promises anything).
    """

    name: str
    title: str
    says: str
    about: str
    kind: str
    values: dict[str, float | int | None]
    conditions: tuple[Condition, ...] = ()
    claim: str = ""

    __repr__ = brief

    def __post_init__(self) -> None:
        if not self.claim:
            object.__setattr__(self, "claim", self.says)

    @property
    def holds(self) -> bool | None:
        """Whether all its conditions hold; None if some cannot be checked."""
        checks = [condition.holds for condition in self.conditions]
        if False in checks:
            return False
        return None if None in checks else True

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        said = asdict(self) | {"holds": self.holds}
        del said["name"]
        return said


def unshifted(claim: Guarantee, shift: float) -> Guarantee:
    """Return a claim about scores before anchors moved all of them, saying so."""
    if shift == 0.0:
        return claim
    about = "This is about the scores before the anchors moved all of them by"
    says = f"{claim.says} {about} {shift:.3g}."
    return replace(claim, says=says, claim=f"Before the shift: {claim.claim}")


def noise_conditions(inputs: Inputs) -> tuple[Condition, ...]:
    """Return what theorems about a model of known sd suppose of its errors."""
    variances = inputs.variances
    even = variances is None or float(variances.max() / variances.min()) <= _EVEN_SD**2
    return (
        Condition("the stated model sd is correct, or at most 1.4 times too large"),
        Condition("the model's errors have the same sd for all items", even),
        Condition(
            "the model's errors are independent (also of the judgments) and roughly normal",
            False if inputs.agreement is not None and inputs.agreement.plain else None,
        ),
    )
