"""A contradiction is seen where there is one, flags one side, and retires nothing."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import combinations

import pytest

from agentkit.policy.reflection import ReflectionPolicy
from agentkit.records import Judgement, Memory, MemoryType, Scope
from agentkit.reflection.conflict import RuleJudge, decide, judge, same_question
from agentkit.text import language_of

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
POLICY = ReflectionPolicy()
SURE = Judgement(relationship="contradicts", confidence=0.99, rationale="said the model")


def memory(content: str, *, days: int = 0, kind: MemoryType = "semantic") -> Memory:
    return Memory(
        memory_id=content,
        scope=Scope("u1"),
        memory_type=kind,
        content=content,
        status="active",
        confidence=0.75,
        alpha=3.0,
        beta=1.0,
        trust=0.9,
        source="model_critic",
        language=language_of(content),
        created_at=NOW + timedelta(days=days),
        recorded_at=NOW + timedelta(days=days),
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The team ships on Fridays.", "The team no longer ships on Fridays."),
        ("报表服务部署在 A 机房", "报表服务已从 A 机房迁到 B 机房"),
        ("The database is PostgreSQL 14", "The database is PostgreSQL 16"),
        ("The user prefers metric units", "The user prefers imperial units"),
        ("The server runs in Berlin", "The server runs in Paris"),
        ("Refunds take 5 days", "Refunds take 7 days"),
        ("The worker moved, it runs in Berlin", "The worker moved from Berlin to Paris"),
        ("备份每三天一次", "备份每五天一次"),
        ("用户喜欢喝茶", "用户不喜欢喝茶"),
        ("发布时间是周五", "发布时间是周一"),
    ],
)
def test_two_answers_to_one_question_contradict_and_the_old_one_is_flagged(
    old: str, new: str
) -> None:
    older, newer = memory(old), memory(new, days=1)
    said = judge(newer, older)
    assert said.relationship == "contradicts"
    assert decide(newer, older, said, policy=POLICY) == "old"


@pytest.mark.parametrize(
    ("old", "new", "relationship"),
    [
        ("Staging DB is read-only", " staging DB is read-only. ", "duplicate"),
        ("User prefers tea", "The user likes tea.", "duplicate"),
        ("The limit is 100 calls", "The limit is 100 calls for each key", "refines"),
        ("Mira works at Acme Labs as a controller.", "Mira asked for a yearly audit.", "unrelated"),
        ("Team A ships on Friday", "Team B ships on Monday", "consistent"),
        ("Order 1001 was refunded", "Order 1002 was refunded", "consistent"),
        ("The user likes tea", "用户不喜欢喝茶", "unrelated"),
    ],
)
def test_what_can_both_be_true_is_no_contradiction(old: str, new: str, relationship: str) -> None:
    assert judge(memory(new), memory(old)).relationship == relationship


def test_things_that_share_a_scope_or_words_do_not_conflict() -> None:
    contents = [
        "Cross-encoder reranks the top 50",
        "Dense search uses an HNSW graph",
        "Leeks are sown in March",
        "The probe landed on the far side in 2019",
        "Always rebase before a merge",
        "Never rebase another agent's branch",
        "Snapshots are taken nightly",
        "The snapshot tool is disabled on laptops",
    ]
    for one, other in combinations(contents, 2):
        for kind in ("semantic", "procedural"):
            said = judge(memory(one, kind=kind), memory(other, kind=kind))
            assert said.relationship != "contradicts", (one, other)


def test_events_contradict_nothing() -> None:
    said = judge(
        memory("The deploy did not work", kind="episodic"),
        memory("The deploy did work", kind="episodic"),
    )
    assert said.relationship == "unrelated"


def test_a_judge_that_is_wrong_cannot_flag_facts_about_the_same_person() -> None:
    works = memory("Mira works at Acme Labs as a controller.")
    for other in ("Mira administers the Acme Labs git server.", "Mira asked for a yearly audit."):
        new = memory(other, days=1)
        assert not same_question(new, works)
        assert decide(new, works, SURE, policy=POLICY) is None


def test_a_chinese_pair_reaches_past_the_guard_of_a_model_judge() -> None:
    old, new = memory("报表服务部署在 A 机房"), memory("报表服务已从 A 机房迁到 B 机房", days=1)
    assert decide(new, old, SURE, policy=POLICY) == "old"


def test_two_languages_are_left_to_the_model() -> None:
    assert same_question(memory("用户不喜欢喝茶"), memory("The user likes tea"))


OLD = memory("The team ships on Fridays.")
NEW = memory("The team no longer ships on Fridays.", days=1)


def test_the_side_with_less_behind_it_is_flagged_and_a_tie_flags_the_older() -> None:
    assert decide(NEW, OLD, SURE, policy=POLICY) == "old"
    assert decide(replace(NEW, confidence=0.5), OLD, SURE, policy=POLICY) == "new"
    assert decide(replace(NEW, trust=0.4), OLD, SURE, policy=POLICY) == "new"
    earlier = replace(NEW, created_at=NOW - timedelta(days=9))
    assert decide(earlier, OLD, SURE, policy=POLICY) == "new"


def test_what_the_user_keeps_for_good_is_flagged_by_the_user_alone() -> None:
    kept = replace(OLD, permanent=True, source="user", confidence=0.3)
    assert decide(NEW, kept, SURE, policy=POLICY) == "new"
    assert decide(kept, NEW, SURE, policy=POLICY) == "old"
    by_user = replace(NEW, source="user", permanent=True, confidence=0.95, trust=1.0)
    assert decide(by_user, kept, SURE, policy=POLICY) == "old"


@pytest.mark.parametrize("relationship", ["duplicate", "refines", "consistent", "unrelated"])
def test_only_a_contradiction_flags(relationship: str) -> None:
    said = replace(SURE, relationship=relationship)
    assert decide(NEW, OLD, said, policy=POLICY) is None


def test_an_unsure_contradiction_flags_nothing() -> None:
    assert decide(NEW, OLD, replace(SURE, confidence=0.4), policy=POLICY) is None


async def test_the_rule_judge_is_the_pure_function_behind_the_port() -> None:
    assert await RuleJudge().judge(NEW, OLD) == judge(NEW, OLD)
