"""Learns from examples which messages end a task. Pure: vectors come from outside."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from agentkit.records import Float32Array
from agentkit.text import terms
from agentkit.working.phrases import clauses, tidy

_Float64s = npt.NDArray[np.float64]

# Set on 442 cases of three writers with the first 251 examples: words at 1.5 and a ridge of
# 1.5 found 0.56 of the English and 0.75 of the Chinese endings at precision 0.95; vectors alone
# 0.47 and 0.69; a ridge of 0.3 with these words 0.55 and 0.71.
_WORDS_WEIGHT = 1.5
_RIDGE = 1.5


def parts_of(message: str) -> tuple[str, str]:
    """Return what is embedded of a message: all of it, and its last clause.

    Args:
        message: What the user said.
    """
    said = clauses(tidy(message))
    return message, said[-1] if said else message


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClosingJudge:
    """A direction from messages with which a task goes on to messages that end it.

    Attributes:
        words: Column of each term and pair of terms of the examples.
        weights: One weight a feature, float64, of shape (2 * dim + len(words),).
        offset: What is added to their sum.
    """

    words: dict[str, int]
    weights: _Float64s
    offset: float

    @classmethod
    def fit(
        cls, messages: Sequence[str], *, vectors: Float32Array, closing: Sequence[bool]
    ) -> "ClosingJudge":
        """Return the judge that ridge regression makes of examples.

        Args:
            messages: The examples, at least one of each side.
            vectors: Embeddings of `parts_of` each, in order, of shape (2 * len(messages), dim),
                unit length.
            closing: Whether each ends a task.

        Raises:
            ValueError: If one side has no example.
        """
        if len(set(closing)) < 2:
            raise ValueError("examples of both sides are needed; add some to `closing`, `going_on`")
        seen = sorted({word for message in messages for word in _words(message)})
        words = {word: at for at, word in enumerate(seen)}
        rows = _features(messages, vectors, words)
        sides = np.where(np.asarray(closing), 1.0, -1.0)
        middle: _Float64s = np.asarray(rows.mean(axis=0), dtype=np.float64)
        mean = float(sides.mean())
        around: _Float64s = rows - middle
        # With fewer examples than features the dual form is the small one.
        inner = around @ around.T + _RIDGE * np.eye(len(rows))
        shares: _Float64s = np.asarray(np.linalg.solve(inner, sides - mean), dtype=np.float64)
        weights: _Float64s = np.asarray(shares @ around, dtype=np.float64)
        return cls(words=words, weights=weights, offset=mean - float(middle @ weights))

    def margins(self, messages: Sequence[str], *, vectors: Float32Array) -> list[float]:
        """Return how far messages are on the side of closing; examples lie near 1 and -1.

        Args:
            messages: What users said.
            vectors: Embeddings of `parts_of` each, as for `fit`.
        """
        found = _features(messages, vectors, self.words) @ self.weights + self.offset
        return [float(margin) for margin in found]


def _features(messages: Sequence[str], vectors: Float32Array, words: dict[str, int]) -> _Float64s:
    """Return one row a message: both vectors, then its known words, about as long as one."""
    bags = np.zeros((len(messages), len(words)))
    for row, message in zip(bags, messages, strict=True):
        said = _words(message)
        known = [words[word] for word in said if word in words]
        row[known] = _WORDS_WEIGHT / max(1.0, len(said) ** 0.5)
    pairs = vectors.astype(np.float64).reshape(len(messages), -1)
    return np.hstack([pairs, bags])


def _words(message: str) -> set[str]:
    """Return the terms of a message and the pairs of neighbours."""
    found = terms(message)
    return set(found) | {" ".join(pair) for pair in pairwise(found)}
