"""What it means that SQL, index and blobs agree, and what can be wrong."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from agentkit.ports import IndexItem
from agentkit.store.rows.levels import KeyState

DisagreementKind = Literal[
    "key without vector",
    "vector damaged",
    "index lacks key",
    "index has foreign key",
    "index differs",
    "index unproven",
    "rebuild unfinished",
    "outbox waiting",
    "blob missing",
    "blob damaged",
    "blob unread",
    "blob orphaned",
    "blob unknown",
]

# Indexes that normalise again differ from SQL by about 1e-7; another text by more than this.
SAME_VECTOR = 1e-4

_FIXES: dict[DisagreementKind, str] = {
    "key without vector": "--mend embeds them",
    "vector damaged": "--mend embeds them again",
    "index lacks key": "--mend writes them from SQL",
    "index has foreign key": "--mend removes them",
    "index differs": "--mend writes them from SQL",
    "index unproven": "stop the process that owns the index, or see why it cannot be opened",
    "rebuild unfinished": "--mend goes on with it, as `agentkit reindex` does",
    "outbox waiting": "--mend does them",
    "blob missing": "restore the trajectories from a backup",
    "blob damaged": "restore the trajectories from a backup",
    "blob unread": "prove again; if it stays, see what the storage of the trajectories says",
    "blob orphaned": "--mend removes them: no episode points there",
    "blob unknown": "no sealing wrote them: delete them by hand if nobody needs them",
}
_BEYOND_MENDING: frozenset[DisagreementKind] = frozenset(
    {"index unproven", "blob missing", "blob damaged", "blob unread", "blob unknown"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """One way in which the copies disagree with SQL.

    Attributes:
        kind: What is wrong.
        subjects: Ids of keys or episodes, addresses of blobs, or a message; at least one, sorted.
    """

    kind: DisagreementKind
    subjects: tuple[str, ...]

    @property
    def fix(self) -> str:
        """What to do about it."""
        return _FIXES[self.kind]

    @property
    def mendable(self) -> bool:
        """Whether `Store.mend` can do something about it."""
        return self.kind not in _BEYOND_MENDING


@dataclass(frozen=True, slots=True, kw_only=True)
class Consistency:
    """What a proof looked at, and what it found.

    Attributes:
        keys: Keys in SQL, each compared with the index where that could be opened.
        indexed: Keys in the index, or None where it could not be opened or there is none.
        blobs: Trajectories, each read and proven by its hash.
        disagreements: What is wrong; empty when everything agrees.
    """

    keys: int
    indexed: int | None
    blobs: int
    disagreements: tuple[Disagreement, ...]

    @property
    def ok(self) -> bool:
        """Whether SQL, index and blobs agree."""
        return not self.disagreements


class Findings:
    """Collects what is wrong while a proof is on its way."""

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._subjects: dict[DisagreementKind, set[str]] = {}

    def add(self, kind: DisagreementKind, subjects: Iterable[str]) -> None:
        """Take subjects of a kind; none is harmless."""
        self._subjects.setdefault(kind, set()).update(subjects)

    def disagreements(self) -> tuple[Disagreement, ...]:
        """Return everything found, in the order in which the kinds were first asked about."""
        return tuple(
            Disagreement(kind=kind, subjects=tuple(sorted(subjects)))
            for kind, subjects in self._subjects.items()
            if subjects
        )


def steady(before: Sequence[KeyState], after: Mapping[str, KeyState]) -> tuple[KeyState, ...]:
    """Return the keys that did not move while the index was read.

    Args:
        before: Keys as they were before the index was read.
        after: The same keys afterwards, by id.
    """
    return tuple(
        key
        for key in before
        if not key.queued
        and (now := after.get(key.key_id)) is not None
        and not now.queued
        and now.revision == key.revision
    )


def compare(keys: Sequence[KeyState], held: Mapping[str, IndexItem], findings: Findings) -> None:
    """Compare steady keys with what the index holds of them.

    Args:
        keys: Keys that did not move while the index was read.
        held: Items of the index, by id of the key.
        findings: Takes what is wrong.
    """
    wanted = {key.key_id: key.item() for key in keys}
    pairs = [(name, item, held.get(name)) for name, item in wanted.items()]
    findings.add("index lacks key", (name for name, item, own in pairs if item and not own))
    findings.add("index has foreign key", (name for name, item, own in pairs if own and not item))
    findings.add(
        "index differs", (name for name, item, own in pairs if item and own and _differ(item, own))
    )


def _differ(wanted: IndexItem, held: IndexItem) -> bool:
    fields = ("user_id", "agent_id", "memory_id", "memory_type")
    if any(getattr(wanted, name) != getattr(held, name) for name in fields):
        return True
    if wanted.vector.shape != held.vector.shape:
        return True
    return bool(np.abs(wanted.vector - held.vector).max(initial=0.0) > SAME_VECTOR)
