"""Whether a lesson only repeats what was in the prompt: the briefing, or the system text."""

import re
from collections.abc import Sequence
from functools import lru_cache

from agentkit.records import Lesson, Memory, Trajectory
from agentkit.reflection.facts import differences
from agentkit.reflection.gist import covered, jaccard, plain
from agentkit.reflection.quotes import stands_in
from agentkit.text import terms

# Shorter sentences ("Be brief.") are too common to be anybody's.
LEAST_COPIED_CHARS = 12
SEQUENCE_TERMS = 4
# What the user said anew in this episode must carry at least half of the lesson.
OWN_WORDS_SHARE = 0.5
_PIECES = re.compile(r"[\n.!?。！？]+")


def copied_from(content: str, texts: Sequence[str], *, overlap: float) -> bool:
    """Whether a content is a copy out of one of the texts that the model was given.

    Args:
        content: Content of a lesson.
        texts: System texts and rendered prompts.
        overlap: Share of the content's sequences of four terms that stand in a text from which
            it is a copy, in [0, 1].
    """
    wanted = plain(content)
    if len(wanted) < LEAST_COPIED_CHARS:
        return False
    sequences = _sequences(content)
    for text in texts:
        if wanted in " ".join(text.casefold().split()):
            return True
        if sequences:
            shared = len(sequences & _sequences(text)) / len(sequences)
            if shared >= overlap:
                return True
    return False


def repeated_memory(
    lesson: Lesson,
    briefed: Sequence[Memory],
    *,
    trajectory: Trajectory | None,
    overlap: float,
) -> Memory | None:
    """Return the recalled memory that a lesson only repeats, or None.

    What the user said anew in the episode is no repetition, even where it is the same thing.

    Args:
        lesson: A lesson of the episode.
        briefed: Memories that were in its briefing.
        trajectory: Its steps.
        overlap: Share of telling terms in common from which it is the same, in [0, 1].
    """
    if trajectory is not None and _said_anew(lesson, trajectory):
        return None
    for memory in briefed:
        same = plain(lesson.content) == plain(memory.content)
        near = jaccard(lesson.content, memory.content) >= overlap
        if same or (near and not differences(lesson.content, memory.content)):
            return memory
    return None


def _said_anew(lesson: Lesson, trajectory: Trajectory) -> bool:
    for evidence in lesson.evidence:
        step = trajectory.step(evidence.step_id)
        if step is None or step.kind != "user" or not stands_in(evidence.quote, step.text):
            continue
        if covered(lesson.content, evidence.quote) >= OWN_WORDS_SHARE:
            return True
    return False


@lru_cache(maxsize=64)
def _sequences(text: str) -> frozenset[tuple[str, ...]]:
    """Return the sequences of four neighbouring terms within the sentences of a text."""
    found: set[tuple[str, ...]] = set()
    for piece in _PIECES.split(text):
        words = terms(piece)
        found.update(
            tuple(words[at : at + SEQUENCE_TERMS]) for at in range(len(words) - SEQUENCE_TERMS + 1)
        )
    return frozenset(found)
