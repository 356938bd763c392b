"""What a purge is about, and what it says that it did."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeTarget:
    """What is to be erased for good.

    Attributes:
        memory_ids: Memories, those that rest on nothing else included; sorted.
        episode_ids: Episodes; sorted.
        everything: Whether all of the user goes, whatever is named.
    """

    memory_ids: tuple[str, ...] = ()
    episode_ids: tuple[str, ...] = ()
    everything: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgeReport:
    """What a purge erased, or would erase.

    Attributes:
        target: The memories and episodes that are gone.
        erased: Things erased, by kind: memories, keys, vectors, events, trajectories ...
        rewritten: Things of others, by kind, out of which texts, quotes or entries of what is
            gone were taken.
        left: What may still hold something and why, in words; empty when nothing does.
    """

    target: PurgeTarget
    erased: Mapping[str, int] = field(default_factory=dict[str, int])
    rewritten: Mapping[str, int] = field(default_factory=dict[str, int])
    left: tuple[str, ...] = ()
