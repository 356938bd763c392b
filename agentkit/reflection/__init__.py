"""Looking back on an episode: critics, admission of what they say, and the conflict judge."""

from agentkit.reflection.admission import admit
from agentkit.reflection.choose import (
    AttemptPlan,
    CriticKind,
    CriticPlan,
    choose_critics,
    plan_attempt,
)
from agentkit.reflection.conflict import RuleJudge, decide, judge, same_question
from agentkit.reflection.judging import ModelJudge
from agentkit.reflection.model import ModelCritic, OwnRun
from agentkit.reflection.prompting import forbidden_texts
from agentkit.reflection.rules import RuleCritic, TagFinder, review
from agentkit.reflection.secrets import MASK, Redaction, redact
from agentkit.reflection.transcript import Transcript, TranscriptStep, bound_transcript

__all__ = [
    "MASK",
    "AttemptPlan",
    "CriticKind",
    "CriticPlan",
    "ModelCritic",
    "ModelJudge",
    "OwnRun",
    "Redaction",
    "RuleCritic",
    "RuleJudge",
    "TagFinder",
    "Transcript",
    "TranscriptStep",
    "admit",
    "bound_transcript",
    "choose_critics",
    "decide",
    "forbidden_texts",
    "judge",
    "plan_attempt",
    "redact",
    "review",
    "same_question",
]
