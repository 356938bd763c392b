"""What a reader of one format gives for one value of a file."""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass

from agentkit.evaluation.importers.source import JsonValue, compact
from agentkit.records import Outcome, Recording

_DIGEST_CHARS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One value of a file, read.

    Attributes:
        recording: The task, or None if the value holds none.
        problems: What could not be used, in words; with a recording, what it had to do without.
    """

    recording: Recording | None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format of recorded sessions. A new one is a new entry of the registry.

    Attributes:
        name: Name as the caller writes it, such as `tau-bench`.
        expects: What a file of it holds, in words, for messages.
        recognises: Whether a value of a file looks like one of this format.
        read: Reads one value that was recognised.
        gather: True if a file may spread one session over the items of its list.
    """

    name: str
    expects: str
    recognises: Callable[[JsonValue], bool]
    read: Callable[[JsonValue], Reading]
    gather: bool = False


@dataclass(frozen=True, slots=True)
class Rated:
    """A recorded rating.

    Attributes:
        reward: In [0, 1], or None.
        outcome: What it means.
        problem: Why a recorded rating was not taken, or "".
    """

    reward: float | None
    outcome: Outcome
    problem: str = ""


def rate(reward: JsonValue) -> Rated:
    """Return what a recorded reward means: 1 is success, 0 is failure, between is unknown.

    Args:
        reward: As recorded; null means none.

    Source:
        tau-bench counts a run as passed within 1e-6 of 1.
    """
    if reward is None:
        return Rated(None, "unknown")
    if isinstance(reward, bool):
        reward = float(reward)
    if not isinstance(reward, int | float) or not math.isfinite(reward) or not 0 <= reward <= 1:
        return Rated(None, "unknown", f"reward {compact(reward):.40} is not in [0, 1]; left out")
    if reward >= 1 - 1e-6:
        return Rated(1.0, "success")
    return Rated(float(reward), "failure" if reward <= 1e-6 else "unknown")


def digest(value: JsonValue) -> str:
    """Return a short id of a value's content, the same wherever it stands in a file."""
    text = compact(value).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:_DIGEST_CHARS]
