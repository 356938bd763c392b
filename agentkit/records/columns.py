"""What recall needs of each memory, as the store hands it over: numbers, vectors, term counts."""

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from agentkit.records.memory import MemoryStatus, MemoryType, Tag

# Named tuples where there is one for each memory: a frozen dataclass takes three times as long to
# make, which is felt when a scope is read whole.
Float32Array = npt.NDArray[np.float32]
KeyKind = Literal["content", "cue"]


class TermCounts(NamedTuple):
    """Terms of one text, hashed, so that a cold scope loads without tokenising.

    Attributes:
        terms: shape (n,), uint64, ascending and unique: 64-bit hashes of the terms.
        counts: shape (n,), uint16: how often each term occurs, at least 1.
        length: Number of terms with repeats.
    """

    terms: npt.NDArray[np.uint64]
    counts: npt.NDArray[np.uint16]
    length: int


class KeyEntry(NamedTuple):
    """One key by which a memory is found.

    Attributes:
        key_id: `memory_id` and ordinal, as `{memory_id}:{ordinal}`.
        kind: `content` or `cue`.
        terms: Its term counts.
        vector: shape (dim,), float32, L2-normalised, or None while it has no embedding.
    """

    key_id: str
    kind: KeyKind
    terms: TermCounts
    vector: Float32Array | None


class MemoryEntry(NamedTuple):
    """One memory as the recall index sees it. Times are seconds since 1970 UTC, NaN if unset.

    Attributes:
        memory_id: The memory.
        agent_id: Agent it belongs to, or None for all agents of the user.
        memory_type: Type.
        status: Status.
        tags: Sorted tags.
        confidence: In (0, 1).
        trust: In (0, 1].
        permanent: No decay.
        demoted: Lessons were extracted.
        used_count: Confirmed uses.
        recalled_count: Recalls.
        created_s: When it was learnt or happened.
        edited_s: Last change of content.
        used_s: Last confirmed use.
        recalled_s: Last recall.
        verified_s: Last verification.
        valid_from_s: Not true before.
        valid_to_s: Not visible after.
        episode_id: Episode, or None.
        position: Order among the memories of one episode, or -1: neighbours lend score.
        keys: At least one; the content comes first.
    """

    memory_id: str
    memory_type: MemoryType
    confidence: float
    trust: float
    created_s: float
    keys: tuple[KeyEntry, ...]
    agent_id: str | None = None
    status: MemoryStatus = "active"
    tags: tuple[Tag, ...] = ()
    permanent: bool = False
    demoted: bool = False
    used_count: int = 0
    recalled_count: int = 0
    edited_s: float = math.nan
    used_s: float = math.nan
    recalled_s: float = math.nan
    verified_s: float = math.nan
    valid_from_s: float = math.nan
    valid_to_s: float = math.nan
    episode_id: str | None = None
    position: int = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScopeChanges:
    """What changed in the memories of one user since a revision.

    Attributes:
        revision: Revision that the answer brings the reader to.
        complete: True when this is everything, so what the reader holds must be dropped first.
        entries: New and changed memories that some recall could return, by memory id.
        removed: Ids that no recall may return any more (forgotten, superseded, purged ...).
        refused: Why the vectors in use must not be compared with the reader's own, or "": they
            are of another embedder, and none came along.
    """

    revision: int
    complete: bool
    entries: tuple[MemoryEntry, ...] = ()
    removed: tuple[str, ...] = ()
    refused: str = ""
