"""How memories fade, and by which clock they age."""

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import RecallPolicy
from agentkit.recall import RankQuery, explanation, rank
from agentkit.recall.decay import base_half_life_days
from agentkit.records import (
    Candidate,
    MemoryType,
    Tag,
)
from tests.recall_scope import DAY_S, NOW_S, holding, memory, unit

QUERY = unit(1.0, 0.0)


def aged(decay: DecayPolicy, **changes: Any) -> Candidate:
    """The one memory of a scope, as recall sees it."""
    index = holding(memory("m", vector=QUERY, **changes))
    found = rank(
        index, RankQuery(text="", vector=QUERY), policy=RecallPolicy(), decay=decay, now_s=NOW_S
    )
    return found.pool[0]


CASE = DecayPolicy(
    floor=0.0,
    default_half_life_days=30.0,
    types={"semantic": 180.0, "procedural": None},
    tags={"kind:task": 7.0, "kind:core": None},
)
TASK, CORE = Tag("kind", "task"), Tag("kind", "core")


@pytest.mark.parametrize(
    ("days", "changes", "expected"),
    [
        (14, {"memory_type": "episodic", "tags": (TASK,)}, 0.25),
        (90, {"memory_type": "semantic"}, 0.7071),
        (900, {"memory_type": "procedural"}, 1.0),
        (30, {"memory_type": "episodic"}, 0.5),
        (14, {"memory_type": "semantic", "tags": (TASK,)}, 0.25),
        (14, {"memory_type": "semantic", "tags": (CORE, TASK)}, 1.0),
    ],
)
def test_a_tag_beats_the_type_and_of_several_tags_the_longest_wins(
    days: int, changes: dict[str, Any], expected: float
) -> None:
    found = aged(CASE, created_s=NOW_S - days * DAY_S, **changes)
    assert found.factors.decay == pytest.approx(expected, abs=1e-4)
    base = base_half_life_days(found.features.memory_type, found.features.tags, policy=CASE)
    assert found.factors.half_life_days == (base if np.isfinite(base) else None)


def test_the_default_floor_keeps_the_oldest_reachable_and_none_lets_it_vanish() -> None:
    ancient = NOW_S - 100_000 * DAY_S
    assert aged(DecayPolicy(), created_s=ancient).factors.decay == pytest.approx(0.45)
    assert aged(DecayPolicy(floor=0.0), created_s=ancient).factors.decay < 1e-6


def test_age_runs_from_the_last_edit_use_or_verification_and_not_from_a_recall() -> None:
    year, yesterday = NOW_S - 365 * DAY_S, NOW_S - DAY_S
    policy = DecayPolicy(types={"semantic": 180.0})
    assert aged(policy, created_s=year, edited_s=yesterday).features.age_days == 1.0
    assert aged(policy, created_s=year, used_s=yesterday).features.age_days == 1.0
    assert aged(policy, created_s=year, verified_s=yesterday).features.age_days == 1.0
    assert aged(policy, created_s=year).features.age_days == 365.0
    recalled = aged(policy, created_s=year, recalled_s=yesterday, recalled_count=9)
    assert recalled.features.age_days == 365.0
    assert recalled.factors.half_life_days == 180.0
    assert "365 d, half-life 180 d" in explanation(recalled)


def test_the_classic_form_counts_a_recall_as_a_use() -> None:
    classic = DecayPolicy(boost_on="recalled", types={"semantic": 180.0})
    found = aged(classic, created_s=NOW_S - 365 * DAY_S, recalled_s=NOW_S, recalled_count=9)
    assert found.features.age_days == 0.0
    assert found.factors.half_life_days == pytest.approx(180 * (1 + 0.5 * np.log(10)))


def test_uses_lengthen_the_half_life_up_to_the_cap_and_a_longer_base_stands() -> None:
    half_lives: dict[MemoryType, float | None] = {"semantic": 180.0, "procedural": 365.0}
    policy = DecayPolicy(boost=0.5, longest_half_life_days=200.0, types=half_lives)
    created = NOW_S - 30 * DAY_S
    assert aged(policy, created_s=created, used_count=1).factors.half_life_days == 200.0
    assert aged(policy, created_s=created, used_count=0).factors.half_life_days == 180.0
    procedural = aged(policy, created_s=created, used_count=5, memory_type="procedural")
    assert procedural.factors.half_life_days == 365.0


def test_a_time_in_the_future_counts_as_now_and_a_permanent_memory_never_fades() -> None:
    assert aged(DecayPolicy(), created_s=NOW_S + 5 * DAY_S).factors.decay == 1.0
    permanent = aged(DecayPolicy(), created_s=NOW_S - 9_999 * DAY_S, permanent=True)
    assert permanent.factors.decay == 1.0
    assert permanent.factors.half_life_days is None
    assert "(permanent)" in explanation(permanent)


@pytest.mark.parametrize("days", [0, -3, 1e9])
def test_a_senseless_half_life_is_refused(days: float) -> None:
    with pytest.raises(ValidationError):
        DecayPolicy(default_half_life_days=days)


def test_a_tag_without_its_facet_is_refused() -> None:
    with pytest.raises(ValidationError, match="must be written facet:value"):
        DecayPolicy(tags={"csv": 3.0})
