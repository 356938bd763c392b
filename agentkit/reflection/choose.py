"""Who looks back on an episode, and who takes over when that one is down."""

from dataclasses import dataclass
from typing import Literal

from agentkit.policy.reflection import ReflectionMode

CriticKind = Literal["external", "self", "rules"]
Rung = Literal["native", "tool", "text"]
LEAST_BUDGET_TOKENS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticPlan:
    """One critic to ask.

    Attributes:
        kind: `external`: a model that is shown a transcript. `self`: the agent's own model,
            instructions and history. `rules`: no model.
        model: Model string for `external`; None for the agent's own model, and for `rules`.
    """

    kind: CriticKind
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptPlan:
    """How a model is asked at one attempt.

    Attributes:
        rung: `native` JSON schema, `tool` call, or `text` with JSON in it.
        budget_tokens: Budget of the transcript.
    """

    rung: Rung
    budget_tokens: int


def choose_critics(
    mode: ReflectionMode, *, policy_model: str | None, own_model: bool, own_history: bool
) -> tuple[CriticPlan, ...]:
    """Return the critics to ask, first choice first; the rules always come last.

    Args:
        mode: `auto`, `self` or `external`.
        policy_model: The model named in `memory/reflection.yaml`, or None.
        own_model: Whether the agent's own model is at hand (live, or by its model string).
        own_history: Whether its messages are at hand too; without them it is shown a transcript.
    """
    named = [CriticPlan(kind="external", model=policy_model)] if policy_model else []
    own = [CriticPlan(kind="self" if own_history else "external")] if own_model else []
    as_other = [CriticPlan(kind="external")] if own_model else []
    plans = {
        "auto": [*named, *own],
        "self": own,
        "external": named or as_other,
    }[mode]
    return (*plans, CriticPlan(kind="rules"))


def plan_attempt(attempt: int, *, budget_tokens: int, native: bool) -> AttemptPlan:
    """Return how to ask at an attempt: each one asks in another way than the one before.

    The first asks by schema, the second by tool call with half of the transcript, the third and
    later ones for JSON in plain text with a quarter and less.

    Args:
        attempt: Number of the attempt, from 1.
        budget_tokens: Budget of the transcript at the first attempt.
        native: Whether the model takes a JSON schema for its answer.
    """
    rungs: tuple[Rung, ...] = ("native", "tool", "text") if native else ("tool", "text")
    halved = budget_tokens // 2 ** min(attempt - 1, 16)
    return AttemptPlan(
        rung=rungs[min(attempt, len(rungs)) - 1],
        budget_tokens=max(halved, min(LEAST_BUDGET_TOKENS, budget_tokens)),
    )
