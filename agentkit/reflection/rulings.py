"""What the agent itself gave as a rule with its reason, and how it ended."""

import re
from dataclasses import dataclass

from agentkit.records import Step, Trajectory
from agentkit.text import is_farewell

LEAST_CHARS = 20
MOST_CHARS = 400
_SENTENCE = re.compile(r"[^.!?。！？\n]+(?:\.(?=\w)[^.!?。！？\n]+)*[.!?。！？]?")
_RULING = re.compile(
    r"\b(?:can ?not|can['’]t|must|only (?:if|when)|non-refundable|not (?:allowed|possible|"
    r"eligible|permitted)|requires?|unable to|because|since)\b|"
    r"不能|无法|必须|只有|需要先|因为|不支持|不可以",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"\b(?:because|since|as (?:it|the|your|you)|without|due to|if|unless|must|requires?)\b|"
    r"因为|由于|除非|如果|必须|所以|需要",
    re.IGNORECASE,
)
_ASKING = re.compile(
    r"[?？]|\b(?:please|could you|would you|let me know)\b|请问|请提供|请告诉", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A sentence of the agent that states a rule with its reason.

    Attributes:
        step: The model step.
        sentence: The sentence as it stands in the step.
    """

    step: Step
    sentence: str


def best_ruling(trajectory: Trajectory) -> Ruling | None:
    """Return the sentence that looks most like a rule with a reason, the first of equals.

    Args:
        trajectory: The steps of a task that was a success; else rules may be wrong ones.
    """
    best: Ruling | None = None
    most = 0
    for step in trajectory.steps:
        if step.kind != "model":
            continue
        for match in _SENTENCE.finditer(step.text):
            sentence = match.group().strip(" -*\t")
            weight = _weight(sentence)
            if weight > most:
                best, most = Ruling(step=step, sentence=sentence), weight
    return best


def last_answer(trajectory: Trajectory) -> Step | None:
    """Return the agent's last words that are no farewell, or None."""
    spoken = [step for step in trajectory.steps if step.kind == "model" and step.text.strip()]
    telling = [step for step in spoken if not is_farewell(step.text)]
    return next(reversed(telling or spoken), None)


def _weight(sentence: str) -> int:
    """Return how much a sentence looks like a rule with its reason; 0 for none."""
    if not LEAST_CHARS <= len(sentence) <= MOST_CHARS or _ASKING.search(sentence):
        return 0
    if not (_RULING.search(sentence) and _REASON.search(sentence)):
        return 0
    return len(_RULING.findall(sentence)) + len(_REASON.findall(sentence))
