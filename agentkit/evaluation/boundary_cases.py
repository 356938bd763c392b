"""Labelled cases of where a task ends: one JSON object a line, read with the place of a mistake."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from agentkit.errors import InputError
from agentkit.records import Language

Trigger = Literal["done", "quiet", "topic", "reopen", "remember", "forget"]
CaseHalf = Literal["fit", "report"]


class CaseTurn(BaseModel):
    """One turn of the task before the prompt.

    Attributes:
        user: What the user said.
        answer: The last text of the model, or "".
        tool_calls: Number of tool calls in between, at least 0.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    user: str
    answer: str
    tool_calls: int = Field(ge=0)

    @property
    def steps(self) -> int:
        """Steps that the turn puts on the bench: its words, and each call with its return."""
        return 1 + bool(self.answer) + 2 * self.tool_calls


class BoundaryCase(BaseModel):
    """A case with its label.

    Attributes:
        id: `<trigger>/<language>/<half>/<number>`.
        trigger: The rule that is asked.
        fires: Whether it should fire.
        kind: Reason of the label, for people.
        turns: The turns of the task so far, 1 to 5.
        prompt: What the user says next; "" for `quiet` alone.
        keep: What should be remembered; only for a `remember` that fires.
        about: What should be forgotten; only for a `forget` that fires.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str = Field(pattern=r"^[a-z]+/[a-z]{2}/(fit|report)/\d+$")
    trigger: Trigger
    fires: bool = Field(strict=True)
    kind: str = Field(pattern=r"^[a-z0-9_]+$")
    turns: tuple[CaseTurn, ...] = Field(min_length=1, max_length=5)
    prompt: str
    keep: str | None = None
    about: str | None = None

    @property
    def language(self) -> str:
        """Language that the case is in, as its id says."""
        return self.id.split("/")[1]

    @property
    def steps(self) -> int:
        """Steps of the task before the prompt."""
        return sum(turn.steps for turn in self.turns)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.id.split("/")[0] != self.trigger:
            raise ValueError(f"id {self.id!r} is not one of trigger {self.trigger!r}")
        if (self.trigger == "quiet") != (not self.prompt):
            raise ValueError("`prompt` is blank for quiet, and only there")
        for key, value, owner in (
            ("keep", self.keep, "remember"),
            ("about", self.about, "forget"),
        ):
            if (value is not None) != (self.trigger == owner and self.fires):
                raise ValueError(f"`{key}` belongs to each {owner} that fires, and only there")
        return self


def read_cases(
    folder: Path, *, half: CaseHalf, languages: Sequence[Language]
) -> tuple[BoundaryCase, ...]:
    """Return the cases of one half, in the order of the files.

    Args:
        folder: Folder of `<half>.<language>.jsonl`.
        half: `fit` or `report`.
        languages: Languages wanted; each needs its file.

    Raises:
        InputError: With file and line, if a file is missing or a case is damaged, in the wrong
            file, or stands twice.
    """
    found: dict[str, BoundaryCase] = {}
    for language in languages:
        file = folder / f"{half}.{language}.jsonl"
        for number, line in enumerate(_lines(file), start=1):
            case = _read(line, place=f"{file}:{number}")
            if case.id.split("/")[1:3] != [language, half]:
                raise InputError(f"{file}:{number}: case {case.id!r} belongs into another file")
            if case.id in found:
                raise InputError(f"{file}:{number}: case {case.id!r} stands twice; renumber one")
            found[case.id] = case
    return tuple(found.values())


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InputError(f"{file}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: is not UTF-8 text; save it as UTF-8") from error


def _read(line: str, *, place: str) -> BoundaryCase:
    try:
        return BoundaryCase.model_validate_json(line)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"])) or "the case"
        raise InputError(f"{place}: {key}: {first['msg']}") from error
