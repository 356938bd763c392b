"""How much of a recall the log keeps: the whole pool, or what was returned alone."""

import hashlib
from dataclasses import replace

from agentkit.records import RecallResult

_BYTES = 8


def sampled(retrieval_id: str, *, share: float) -> bool:
    """Return whether the log keeps the whole pool of a recall.

    The id decides: the same for every process, and who is in at one share is in at any larger one.

    Args:
        retrieval_id: Id of the recall.
        share: Share of recalls that are kept whole, in [0, 1].
    """
    digest = hashlib.blake2b(retrieval_id.encode("utf-8"), digest_size=_BYTES).digest()
    return int.from_bytes(digest, "big") < share * (1 << 8 * _BYTES)


def without_pool(result: RecallResult) -> RecallResult:
    """Return an answer with what was returned as its pool: enough to be judged, not to be replayed.

    Args:
        result: The answer of a recall.
    """
    returned = tuple(candidate for candidate in result.pool if candidate.returned)
    return replace(result, pool=returned, whole=False)
