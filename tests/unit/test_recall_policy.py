"""The shipped policy files hold the defaults of the code."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.loader import load_yaml
from agentkit.policy.recall import FusionPolicy, RecallPolicy
from agentkit.records import QuerySignals


def test_the_shipped_files_are_the_defaults(repository: Path) -> None:
    assert load_yaml(repository / "memory" / "recall.yaml", RecallPolicy) == RecallPolicy()
    assert load_yaml(repository / "memory" / "decay.yaml", DecayPolicy) == DecayPolicy()


def test_every_key_stands_in_the_shipped_files_with_a_comment(repository: Path) -> None:
    for name, model in (("recall", RecallPolicy), ("decay", DecayPolicy)):
        text = (repository / "memory" / f"{name}.yaml").read_text(encoding="utf-8")
        for key in model.model_fields:
            assert f"\n{key}:" in text, f"{key} is missing in {name}.yaml"


def test_every_signal_of_a_query_has_a_coefficient() -> None:
    signals = set(QuerySignals.__dataclass_fields__)
    assert set(FusionPolicy.model_fields) == signals | {"bias", "unmatched"}


def test_numbers_out_of_range_and_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError):
        RecallPolicy(demoted_weight=0.0)
    with pytest.raises(ValidationError):
        RecallPolicy.model_validate({"timeouts_s": 2.0})
