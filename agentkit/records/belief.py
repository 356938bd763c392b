"""How sure we are of a memory: a Beta posterior over "this is right"."""

from dataclasses import dataclass

PRIOR_COUNTS = 4.0
CONFIRMED_COUNTS = 1.0
REFUTED_COUNTS = 2.0
MOST_COUNTS = 8.0
LEAST_CONFIDENCE = 0.05
MOST_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Belief:
    """Pseudo-counts for and against a memory.

    Attributes:
        alpha: Counts for, above 0.
        beta: Counts against, above 0.

    Source:
        A Beta prior worth four observations: alpha = 4c, beta = 4(1-c); a confirmation adds 1
        for, a refutation 2 against; at most 8 counts are remembered, so no history is too long
        to overturn.
    """

    alpha: float
    beta: float

    @classmethod
    def start(cls, confidence: float) -> "Belief":
        """Return the prior for an initial confidence, clamped into [0.05, 0.95]."""
        held = min(max(confidence, LEAST_CONFIDENCE), MOST_CONFIDENCE)
        return cls(PRIOR_COUNTS * held, PRIOR_COUNTS * (1 - held))

    @property
    def confidence(self) -> float:
        """Mean of the posterior, in (0, 1)."""
        return self.alpha / (self.alpha + self.beta)

    def confirmed(self) -> "Belief":
        """Return the belief after it helped or was learnt again."""
        return _scaled(self.alpha + CONFIRMED_COUNTS, self.beta)

    def refuted(self) -> "Belief":
        """Return the belief after it misled or turned out to be outdated."""
        return _scaled(self.alpha, self.beta + REFUTED_COUNTS)


def _scaled(alpha: float, beta: float) -> Belief:
    """Scale the counts down to the most that is remembered, keeping their ratio."""
    scale = min(1.0, MOST_COUNTS / (alpha + beta))
    return Belief(alpha * scale, beta * scale)
