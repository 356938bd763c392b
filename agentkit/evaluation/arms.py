"""The rows of the table: plain lexical, plain dense, fixed fusion, and agentkit's own recall."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from agentkit.evaluation.corpora.corpus import Group
from agentkit.evaluation.lexical import Bm25
from agentkit.records import Float32Array

ArmName = Literal["lexical", "dense", "fixed", "agentkit"]
Float64Array = npt.NDArray[np.float64]
FIXED_WEIGHT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Material:
    """One group with the vectors of its texts.

    Attributes:
        group: Documents and questions.
        document_vectors: shape (documents, dim), float32, L2-normalised, or None.
        query_vectors: shape (queries, dim), float32, L2-normalised, or None.
    """

    group: Group
    document_vectors: Float32Array | None
    query_vectors: Float32Array | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmRankings:
    """What one arm returned for the questions of one group.

    Attributes:
        arm: Which arm.
        ranked: Document ids, best first, one ranking a question in order.
    """

    arm: ArmName
    ranked: tuple[tuple[str, ...], ...]


def rank_baselines(material: Material, *, depth: int) -> tuple[ArmRankings, ...]:
    """Return the rankings of the arms to compare with; all of them rank the whole group.

    Args:
        material: Documents and questions; without vectors only the lexical arm runs.
        depth: Length of the rankings, at least 1.

    Returns:
        `lexical`, then with vectors `dense` and `fixed`. Ties: the later document first.
    """
    bm25 = Bm25([document.text for document in material.group.documents])
    ids = [document.doc_id for document in material.group.documents]
    words = [bm25.scores(query.text) for query in material.group.queries]
    lexical = _rankings("lexical", scores=words, ids=ids, depth=depth)
    if material.document_vectors is None or material.query_vectors is None:
        return (lexical,)
    cosines = material.query_vectors.astype(np.float64) @ material.document_vectors.T
    fused = [
        FIXED_WEIGHT * minmax(cosine) + (1.0 - FIXED_WEIGHT) * minmax(word)
        for cosine, word in zip(cosines, words, strict=True)
    ]
    return (
        lexical,
        _rankings("dense", scores=list(cosines), ids=ids, depth=depth),
        _rankings("fixed", scores=fused, ids=ids, depth=depth),
    )


def minmax(scores: Float64Array) -> Float64Array:
    """Return the scores stretched to [0, 1]; all zero when they are all alike.

    Args:
        scores: shape (documents,), float64.
    """
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def _rankings(
    arm: ArmName, *, scores: Sequence[Float64Array], ids: Sequence[str], depth: int
) -> ArmRankings:
    later_first = -np.arange(len(ids))
    orders = (np.lexsort((later_first, -one))[:depth].tolist() for one in scores)
    return ArmRankings(arm=arm, ranked=tuple(tuple(map(ids.__getitem__, o)) for o in orders))
