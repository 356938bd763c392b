"""What a model is asked to answer, and how its answer is read, however it is wrapped.

The schema is kept simple for strict providers: no unions, no free-form objects.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from agentkit.errors import ReflectionError
from agentkit.records import Outcome, Relationship, VerdictKind

Output = TypeVar("Output", bound=BaseModel)
_THINKING = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL | re.IGNORECASE)
_OPEN_THINKING = re.compile(r"^.*</(?:think|thinking|reasoning)>", re.DOTALL | re.IGNORECASE)
_FENCE = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_TRAILING_COMMA = re.compile(r",(\s*[}\]])")
_OPENING = re.compile(r"[{\[]")
_BEGUN = re.compile(r"\{\s*\"[^\"]*\"\s*:|\[\s*(?:\{\s*\"|\"|\[)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A JSON value in a text.

    Attributes:
        value: The value.
        end: Where the text goes on.
    """

    value: object
    end: int


class EvidenceOutput(BaseModel):
    """A quote out of a step."""

    model_config = ConfigDict(extra="ignore")

    step_id: str = Field(description="Id of the step, as shown, such as s0004.")
    quote: str = Field(description="Words copied from that step, at most 200 characters.")


class LessonOutput(BaseModel):
    """One thing worth remembering."""

    model_config = ConfigDict(extra="ignore")

    content: str = Field(description="One topic, understandable without the transcript.")
    memory_type: Literal["semantic", "procedural"] = Field(
        default="semantic",
        description="semantic: a fact or preference. procedural: how to do or not to do a thing.",
    )
    cues: list[str] = Field(
        default_factory=list[str], description="Short phrases: in which situation this helps."
    )
    tags: list[str] = Field(
        default_factory=list[str], description="Tags from the list that was given."
    )
    evidence: list[EvidenceOutput] = Field(default_factory=list[EvidenceOutput])

    @field_validator("memory_type", mode="before")
    @classmethod
    def _known_type(cls, given: object) -> object:
        """Take other words for a fact as what they mean."""
        return given if given in ("semantic", "procedural") else "semantic"


class VerdictOutput(BaseModel):
    """What became of a recalled memory."""

    model_config = ConfigDict(extra="ignore")

    memory_id: str
    kind: VerdictKind
    reason: str = ""


class ReflectionOutput(BaseModel):
    """A look back on an episode. An empty list of lessons means: nothing to learn."""

    model_config = ConfigDict(extra="ignore")

    lessons: list[LessonOutput]
    summary: str = ""
    outcome: Outcome = "unknown"
    went_well: str = ""
    to_change: str = ""
    verdicts: list[VerdictOutput] = Field(default_factory=list[VerdictOutput])

    @field_validator("outcome", mode="before")
    @classmethod
    def _known_outcome(cls, given: object) -> object:
        """Take any other word as unknown."""
        return given if given in ("success", "failure") else "unknown"


class JudgementOutput(BaseModel):
    """How a new memory stands to an old one."""

    model_config = ConfigDict(extra="ignore")

    relationship: Relationship
    confidence: float = Field(ge=0, le=1)
    rationale: str = ""


def parse_reflection(reply: str) -> ReflectionOutput:
    """Return the reflection in a model's reply.

    Takes plain JSON, JSON in fences or prose, after thinking, and a bare list of lessons.

    Args:
        reply: The reply as it came.

    Raises:
        ReflectionError: If there is no whole reflection in it; retryable. The reply itself is
            not repeated in the message.
    """
    return _parse(reply, ReflectionOutput, list_key="lessons")


def parse_judgement(reply: str) -> JudgementOutput:
    """Return the judgement in a model's reply, however it is wrapped.

    Args:
        reply: The reply as it came.

    Raises:
        ReflectionError: If there is no whole judgement in it; retryable.
    """
    return _parse(reply, JudgementOutput, list_key=None)


def schema_text(output: type[BaseModel]) -> str:
    """Return the JSON schema of an output, for a prompt that asks for plain JSON."""
    return json.dumps(output.model_json_schema(), ensure_ascii=False)


def _parse(reply: str, output: type[Output], *, list_key: str | None) -> Output:
    bare = _OPEN_THINKING.sub("", _THINKING.sub("", reply)).strip()
    if not bare:
        raise ReflectionError("the model's answer is empty")
    for text in (bare, *_FENCE.findall(bare)):
        for value in _values(text):
            try:
                if list_key and isinstance(value, list):
                    return output.model_validate({list_key: cast("list[object]", value)})
                return output.model_validate(value)
            except ValidationError:
                continue  # prose may hold other JSON before the answer
    cut = "{" in bare and bare.count("{") > bare.count("}")
    why = "its JSON is cut off" if cut else "it holds no JSON of the form asked for"
    problem = f"the model's answer cannot be read: {why} ({len(bare)} characters)"
    raise ReflectionError(problem, unusable=not cut)


def _values(text: str) -> Iterator[object]:
    """Yield the outermost JSON values in a text, in order."""
    decoder = json.JSONDecoder(strict=False)
    at = 0
    while (opening := _OPENING.search(text, at)) is not None:
        start = opening.start()
        found = _decode(decoder, text, start)
        if found is None:
            # An answer that was cut: what stands inside it is a piece and no answer.
            if _BEGUN.match(text, start):
                return
            at = start + 1
            continue
        yield found.value
        at = found.end


def _decode(decoder: json.JSONDecoder, text: str, start: int) -> _Found | None:
    """Return the value at a place; trailing commas are forgiven."""
    try:
        value, end = decoder.raw_decode(text, start)
        return _Found(value=value, end=end)
    except ValueError:
        mended = _TRAILING_COMMA.sub(r"\1", text[start:])
    except RecursionError:
        return None
    try:
        return _Found(value=decoder.raw_decode(mended)[0], end=len(text))
    except (ValueError, RecursionError):
        return None
