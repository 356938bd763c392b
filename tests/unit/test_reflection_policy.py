"""The shipped `memory/reflection.yaml` says what the code does without it."""

from pathlib import Path
from typing import get_args

import pytest

from agentkit.errors import ConfigError
from agentkit.policy.loader import load_yaml
from agentkit.policy.reflection import ReflectionPolicy
from agentkit.records import Source


def test_the_shipped_file_holds_the_defaults(repository: Path) -> None:
    assert load_yaml(repository / "memory" / "reflection.yaml", ReflectionPolicy) == (
        ReflectionPolicy()
    )


def test_every_source_has_a_trust() -> None:
    policy = ReflectionPolicy()
    for source in get_args(Source):
        assert 0 < policy.trust.of(source) <= 1


def test_a_misspelt_key_names_the_nearest(tmp_path: Path) -> None:
    file = tmp_path / "reflection.yaml"
    file.write_text("lesson_limt: 3\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="lesson_limit"):
        load_yaml(file, ReflectionPolicy)
