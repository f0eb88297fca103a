"""How a fit with the annotators integrated out goes on, and when it has come to rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from aggcal.aggregation.solve.population import Path, coordinates, extrapolated, mixed
from aggcal.models.beliefs import Population

SETTLING = 3
"""Iterations before which nothing is concluded from how things go."""
_STALLED, DAMPED = 0.9, 0.5
"""Where an iteration changes nearly as much as the last, variances move half of their way only:
near-separable data go round in circles otherwise."""
_STEADY = 10.0
"""How much larger the step before the last may be: a lower number costs fast fits an iteration."""
_AITKEN = 3
"""Iterations between two extrapolations of the spreads, which approach their ends geometrically."""
_PATIENT, INNER = 20, 5
"""Iterations after which scores are solved for, by so many steps, before spreads are mixed."""
_CIRCLING = 4
"""Patient iterations after which, if the least of their moves is not below half of the least before
them, what is kept of variances goes half of its way to 1: single items of thousands, whose few
annotators say little, went round in circles for ever."""
_ASTRAY = 30
"""Iterations in a row, each moving further than σ or the unit itself, after which a start is given
up: of 561 small fits that came to rest, none moved so far in more than 18."""


@dataclass
class Course:
    """How a fit has gone from its start."""

    tolerance: float
    """Change in an iteration at which it has settled."""
    moves: list[float] = field(default_factory=list)
    objectives: list[float] = field(default_factory=list)
    path: Path = field(default_factory=list)
    kept: float = 0.0
    """How much of the rows' variances is kept in an iteration."""
    settled: bool = False

    @property
    def astray(self) -> bool:
        """Whether the start leads nowhere."""
        return len(self.moves) >= _ASTRAY and min(self.moves[-_ASTRAY:]) > 1.0

    @property
    def patient(self) -> bool:
        """Whether scores are solved for before each update: weakly determined spreads spiral."""
        return len(self.moves) >= _PATIENT

    def _circles(self) -> bool:
        """Whether the last patient iterations came no nearer than those before them."""
        patient = len(self.moves) - _PATIENT
        if patient < 2 * _CIRCLING or patient % _CIRCLING:
            return False
        return min(self.moves[-_CIRCLING:]) > 0.5 * min(self.moves[-2 * _CIRCLING : -_CIRCLING])

    def lead(self, old: Population, new: Population, default_sd: float) -> Population:
        """Return where an update of the spreads leads, with those before it."""
        self.path.append((coordinates(old), coordinates(new)))
        if self.patient:
            return mixed(self.path, default_sd)
        if len(self.path) <= _AITKEN:
            return new
        ahead = extrapolated(self.path, default_sd)
        self.path.clear()
        return ahead

    def add(self, far: float) -> None:
        """Add how far an iteration went."""
        if len(self.moves) >= SETTLING:
            stalled = self.patient or far > _STALLED * self.moves[-1]
            self.kept = max(self.kept, DAMPED) if stalled else self.kept
            if self._circles():
                self.kept = 0.5 * (1.0 + self.kept)
            # One small step among larger ones is where an extrapolation happened to land.
            self.settled = far < self.tolerance and self.moves[-1] < _STEADY * self.tolerance
        self.moves.append(far)
        if len(self.moves) == _PATIENT:
            self.path.clear()
