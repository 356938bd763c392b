"""What every policy file's model has in common."""

from pydantic import BaseModel, ConfigDict


class PolicyModel(BaseModel):
    """A frozen part of the policy; unknown keys and words for numbers are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
