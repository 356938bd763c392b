"""How a memory fades: the content of `memory/decay.yaml`."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field, field_validator

from agentkit.policy.model import PolicyModel
from agentkit.records import MemoryType

# Ten years: whoever wants longer writes null, which means no decay at all.
MOST_HALF_LIFE_DAYS = 3_650.0

HalfLifeDays = Annotated[float, Field(gt=0, le=MOST_HALF_LIFE_DAYS)]


class DecayPolicy(PolicyModel):
    """The content of `memory/decay.yaml`.

    `decay = floor + (1 - floor) * 2 ** (-age_days / half_life_days)` and
    `half_life_days = base * (1 + boost * ln(1 + uses))`, where `base` is that of the tag, else
    of the type, else the default.

    Attributes:
        floor: Factor that an old memory never falls below, in [0, 1]. 0 lets it vanish.
        default_half_life_days: Half-life of a type that `types` does not name; null: no decay.
        types: Half-life by memory type; null: no decay.
        tags: Half-life by `facet:value`; it beats the type's. Of several the longest wins, and
            null, no decay, is the longest.
        boost: How much uses lengthen the half-life, dimensionless, at least 0.
        longest_half_life_days: What the boost never lengthens a half-life beyond. A longer base
            stands as it is.
        boost_on: What counts as a use and starts the age anew: `used` is a verdict that it
            helped, `recalled` is any recall that returned it.

    Source:
        `design.md`, section 6. The half-lives are a judgement: on LoCoMo part a, fit half, dated
        and asked about any of its eight months alike, episodic recall@10 is 0.741 without decay,
        0.732 at 365 days, 0.697 at 180, 0.647 at 120, 0.563 at 60.
    """

    floor: float = Field(default=0.45, ge=0, le=1)
    default_half_life_days: HalfLifeDays | None = 180.0
    types: Mapping[MemoryType, HalfLifeDays | None] = {
        "episodic": 180.0,
        "semantic": 365.0,
        "procedural": 730.0,
    }
    tags: Mapping[str, HalfLifeDays | None] = {}
    boost: float = Field(default=0.5, ge=0, le=10)
    longest_half_life_days: HalfLifeDays = 1_825.0
    boost_on: Literal["used", "recalled"] = "used"

    @field_validator("tags")
    @classmethod
    def _named_in_full(
        cls, tags: Mapping[str, HalfLifeDays | None]
    ) -> Mapping[str, HalfLifeDays | None]:
        for name in tags:
            facet, colon, value = name.partition(":")
            if not (facet and colon and value):
                raise ValueError(f"tag {name!r} must be written facet:value")
        return tags
