"""Bootstrap intervals of means, Wilson intervals of shares. Pure; the seed is an argument."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Float64Array = npt.NDArray[np.float64]

# Efron and Tibshirani 1993, section 13.3: at least 1,000 for a percentile interval.
RESAMPLES = 1000
LEVEL = 0.95
# With fewer groups the bootstrap over groups is too narrow to be believed.
LEAST_GROUPS = 20
SEED = 20261130


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its interval.

    Attributes:
        mean: The mean over the questions.
        low: Lower end of the 95 % interval.
        high: Upper end of the 95 % interval.
    """

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Resamples:
    """Drawn once and used for every arm, so that arms can be compared in pairs.

    Attributes:
        weights: shape (resamples, units), float64: how often each unit was drawn.
        unit_of: shape (questions,), int64: the unit that each question belongs to.
        by_group: True when whole users are drawn, False when single questions are.
    """

    weights: Float64Array
    unit_of: npt.NDArray[np.int64]
    by_group: bool


def draw(groups: Sequence[str], *, resamples: int = RESAMPLES, seed: int = SEED) -> Resamples:
    """Return the resamples for a set of questions.

    Args:
        groups: User of each question; with at least 20 users whole users are drawn.
        resamples: How many, at least 1.
        seed: Seed of the drawing; the same seed gives the same intervals.
    """
    names = sorted(set(groups))
    by_group = len(names) >= LEAST_GROUPS
    place = {name: number for number, name in enumerate(names)}
    units = len(names) if by_group else len(groups)
    unit_of = np.array([place[group] for group in groups] if by_group else range(units), np.int64)
    rng = np.random.Generator(np.random.PCG64(seed))
    drawn = rng.multinomial(units, np.full(units, 1.0 / units), size=resamples) if units else None
    weights = np.zeros((resamples, 0)) if drawn is None else drawn.astype(np.float64)
    return Resamples(weights, unit_of, by_group)


def interval(values: Float64Array, *, resamples: Resamples) -> Interval:
    """Return the mean of the values with its percentile interval.

    Args:
        values: shape (questions,), one value a question; for a paired difference the difference
            of two arms' values.
        resamples: Drawn for the same questions.

    Returns:
        All three are NaN when there is no question.
    """
    if not len(values):
        return Interval(float("nan"), float("nan"), float("nan"))
    units = resamples.weights.shape[1]
    sums = np.bincount(resamples.unit_of, weights=values, minlength=units)
    sizes = np.bincount(resamples.unit_of, minlength=units).astype(np.float64)
    means = (resamples.weights @ sums) / (resamples.weights @ sizes)
    tail = (1.0 - LEVEL) / 2.0
    low, high = np.quantile(means, [tail, 1.0 - tail]).tolist()
    return Interval(float(values.mean()), low, high)


# The 0.975 quantile of the normal distribution, for intervals of 95 %.
_Z = 1.959964


def wilson(hits: int, *, of: int) -> Interval:
    """Return a share with its 95 % score interval, which holds at 0 and 1 as well.

    Args:
        hits: How many were right, in [0, of].
        of: How many there were.

    Returns:
        All three are NaN when there were none.

    Source:
        Wilson, JASA 1927.
    """
    if not of:
        return Interval(float("nan"), float("nan"), float("nan"))
    share, spread = hits / of, _Z * _Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = math.sqrt(spread * share * (1 - share) + spread * spread / 4) / (1 + spread)
    return Interval(share, max(middle - half, 0.0), min(middle + half, 1.0))
