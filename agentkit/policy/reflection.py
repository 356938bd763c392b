"""`memory/reflection.yaml`: who reflects, what a memory is worth at the start, what is admitted."""

from typing import Annotated, Literal

from pydantic import Field

from agentkit.policy.model import PolicyModel
from agentkit.records import Source

Share = Annotated[float, Field(ge=0, le=1)]
Confidence = Annotated[float, Field(ge=0.05, le=0.95)]
ReflectionMode = Literal["auto", "self", "external"]


class TrustPolicy(PolicyModel):
    """Factor on every score of a memory, by who said it.

    Attributes:
        user: The user, in person.
        model_critic: A model that looked back on an episode.
        rule_critic: The rule critic, quoting an episode.
        agent: An agent in the middle of a task.
        imported: Memories that came in a file.
        tool: What a tool returned.
        web: Text from the web.
    """

    user: Annotated[Share, Field(gt=0)] = 1.0
    model_critic: Annotated[Share, Field(gt=0)] = 0.9
    rule_critic: Annotated[Share, Field(gt=0)] = 0.9
    agent: Annotated[Share, Field(gt=0)] = 0.8
    imported: Annotated[Share, Field(gt=0)] = 0.8
    tool: Annotated[Share, Field(gt=0)] = 0.6
    web: Annotated[Share, Field(gt=0)] = 0.4

    def of(self, source: Source) -> float:
        """Return the trust in a source, in (0, 1]."""
        by_source: dict[Source, float] = {
            "user": self.user,
            "model_critic": self.model_critic,
            "rule_critic": self.rule_critic,
            "agent": self.agent,
            "import": self.imported,
            "tool": self.tool,
            "web": self.web,
        }
        return by_source[source]


class ConfidencePolicy(PolicyModel):
    """How sure we are of a memory when it is written, by who said it.

    Attributes:
        user: Asked to be remembered by the user.
        model_critic: Lesson of a model.
        rule_critic: Lesson of the rule critic, with a quote that stands in its step; also the
            episodic memory of a task.
    """

    user: Confidence = 0.95
    model_critic: Confidence = 0.75
    rule_critic: Confidence = 0.65


class TranscriptPolicy(PolicyModel):
    """How much of a trajectory a model is shown.

    Attributes:
        budget_tokens: Estimated tokens of all steps together; each retry halves it.
        step_tokens: Longest single step; its head and tail are kept.
        summary_chunks: Most chunks of the left-out middle that are summarised first; 0 for none.
    """

    budget_tokens: Annotated[int, Field(ge=200)] = 12_000
    step_tokens: Annotated[int, Field(ge=20)] = 800
    summary_chunks: Annotated[int, Field(ge=0, le=32)] = 4


class AdmissionPolicy(PolicyModel):
    """What may become a memory.

    Attributes:
        content_chars: Longest content, characters.
        cue_chars: Longest cue, characters; longer ones are cut.
        cue_limit: Most cues kept.
        quote_chars: Longest quote kept as evidence, characters; longer ones are cut.
        point_limit: More list items or paragraphs than this are several topics: refused.
        near_duplicate_cosine: From here on a neighbour may be the same memory.
        briefed_overlap: Share of telling words in common with a memory of the briefing from
            which a lesson counts as repeated.
        prompt_overlap: Share of a lesson's word sequences that stand in a prompt or system text
            from which it counts as copied.
        unknown_tags: `drop` the tags that the taxonomy does not know, or `refuse` the lesson.
    """

    content_chars: Annotated[int, Field(ge=80)] = 1_200
    cue_chars: Annotated[int, Field(ge=20)] = 160
    cue_limit: Annotated[int, Field(ge=0)] = 8
    quote_chars: Annotated[int, Field(ge=20)] = 300
    point_limit: Annotated[int, Field(ge=1)] = 4
    near_duplicate_cosine: Share = 0.92
    briefed_overlap: Share = 0.6
    prompt_overlap: Share = 0.7
    unknown_tags: Literal["drop", "refuse"] = "drop"


class ConflictPolicy(PolicyModel):
    """When two memories are compared and when one is flagged.

    Attributes:
        candidate_cosine: Neighbours from here on are shown to the judge.
        candidate_limit: Most neighbours judged for a new memory.
        flag_confidence: A contradiction below this confidence flags nothing.
    """

    candidate_cosine: Share = 0.55
    candidate_limit: Annotated[int, Field(ge=0)] = 8
    flag_confidence: Share = 0.6


class ReflectionPolicy(PolicyModel):
    """The content of `memory/reflection.yaml`.

    Attributes:
        mode: `auto`: the model named here, else the agent's own, else rules. `self` and
            `external` force one.
        model: Model string for external reflection, or null.
        lesson_limit: Most lessons of one episode.
        timeout_s: Seconds one model call may take.
        attempts: Tries before a job is dead; each try asks in another way.
        trust: Trust by source.
        confidence: First confidence by source.
        transcript: How much a model is shown.
        admission: What may become a memory.
        conflict: When memories are compared and flagged.
    """

    mode: ReflectionMode = "auto"
    model: str | None = None
    lesson_limit: Annotated[int, Field(ge=0, le=50)] = 5
    timeout_s: Annotated[float, Field(gt=0)] = 120.0
    attempts: Annotated[int, Field(ge=1, le=20)] = 4
    trust: TrustPolicy = TrustPolicy()
    confidence: ConfidencePolicy = ConfidencePolicy()
    transcript: TranscriptPolicy = TranscriptPolicy()
    admission: AdmissionPolicy = AdmissionPolicy()
    conflict: ConflictPolicy = ConflictPolicy()
