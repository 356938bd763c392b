"""What holds of every briefing: budget, no repeats, a line for each type, the same each time."""

from datetime import UTC, datetime
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from agentkit.policy.recall import BriefingPolicy
from agentkit.recall import BriefingView, compose
from agentkit.records import MEMORY_TYPES, Briefing, Factors, Hit, Memory, MemoryType, Scope

AT = datetime(2026, 11, 2, tzinfo=UTC)
WRAPPER = 10
FACTORS = Factors(
    dense=1.0,
    lexical=0.0,
    tag=0.0,
    lent=0.0,
    decay=1.0,
    trust=1.0,
    confidence=1.0,
    demoted=1.0,
    disputed=1.0,
)
POLICIES = st.builds(
    BriefingPolicy,
    near_duplicate=st.sampled_from([0.5, 0.8, 1.0]),
    diversity=st.sampled_from([0.0, 0.3, 0.9]),
    least_share=st.sampled_from([0.0, 0.5, 1.0]),
)


def one_hit(at: int, *, memory_type: MemoryType, content: str, score: float) -> Hit:
    memory = Memory(
        memory_id=f"m{at:02d}",
        scope=Scope("u1"),
        memory_type=memory_type,
        content=content,
        status="active",
        confidence=0.8,
        alpha=3.2,
        beta=0.8,
        trust=1.0,
        source="user",
        created_at=AT,
        recorded_at=AT,
    )
    return Hit(memory=memory, score=score, similarity=1.0, factors=FACTORS, explanation="")


@st.composite
def hits(draw: st.DrawFn) -> list[Hit]:
    texts = st.lists(st.sampled_from("pump valve order gate 14 16 not".split()), min_size=1)
    said = draw(st.lists(st.tuples(texts, st.sampled_from(MEMORY_TYPES)), max_size=9))
    scores = draw(
        st.lists(st.sampled_from([0.0, 0.3, 0.5, 0.9, 1.0]), min_size=len(said), max_size=len(said))
    )
    return [
        one_hit(at, memory_type=memory_type, content=" ".join(words), score=score)
        for at, ((words, memory_type), score) in enumerate(
            zip(said, sorted(scores, reverse=True), strict=True)
        )
    ]


@st.composite
def unlike_hits(draw: st.DrawFn) -> list[Hit]:
    """Hits of nearly one length that share no word, so that the budget alone leaves some out."""
    said = draw(st.lists(st.sampled_from(MEMORY_TYPES), min_size=3, max_size=7))
    sizes = draw(st.lists(st.integers(3, 5), min_size=len(said), max_size=len(said)))
    return [
        one_hit(at, memory_type=memory_type, content="abcdefg"[at] * size, score=1.0 - at / 20)
        for at, (memory_type, size) in enumerate(zip(said, sizes, strict=True))
    ]


def render(view: BriefingView) -> str:
    return "|" * WRAPPER + "".join(f"{one.memory_id} {one.content}\n" for one in view.memories)


def cost(hit: Hit) -> int:
    return len(f"{hit.memory.memory_id} {hit.memory.content}\n")


def brief(found: list[Hit], budget: int, policy: BriefingPolicy) -> Briefing:
    return compose(
        found,
        budget_tokens=budget,
        policy=policy,
        render=render,
        estimate=len,
        retrieval_id="r1",
    )


@given(found=hits(), budget=st.integers(0, 200), policy=POLICIES)
def test_a_briefing_keeps_its_budget_and_order_and_is_the_same_each_time(
    found: list[Hit], budget: int, policy: BriefingPolicy
) -> None:
    one = brief(found, budget, policy)
    assert one == brief(found, budget, policy)
    assert len(one.text) == one.tokens <= budget
    assert list(one.memory_ids) == sorted(one.memory_ids)
    assert one.text == "" or one.text == render_of(found, one)
    assert all(entry.included == (entry.why_not == "") for entry in one.entries)


def render_of(found: list[Hit], briefing: Briefing) -> str:
    taken = [hit for hit in found if hit.memory.memory_id in briefing.memory_ids]
    return "|" * WRAPPER + "".join(f"{h.memory.memory_id} {h.memory.content}\n" for h in taken)


@given(found=hits(), budget=st.integers(0, 200), policy=POLICIES)
def test_of_memories_that_say_the_same_one_alone_is_in(
    found: list[Hit], budget: int, policy: BriefingPolicy
) -> None:
    one = brief(found, budget, policy)
    taken = [hit for hit in found if hit.memory.memory_id in one.memory_ids]
    for first, second in combinations(taken, 2):
        assert sorted(set(first.memory.content.split())) != sorted(
            set(second.memory.content.split())
        )
    for entry in one.entries:
        if entry.why_not.startswith("says the same as "):
            assert entry.why_not.removeprefix("says the same as ") in one.memory_ids


@given(found=unlike_hits() | hits(), budget=st.integers(WRAPPER, 60), policy=POLICIES)
def test_no_type_takes_a_second_line_while_one_of_like_value_has_none(
    found: list[Hit], budget: int, policy: BriefingPolicy
) -> None:
    one = brief(found, budget, policy)
    left_out = {entry.memory_id: entry.why_not for entry in one.entries if not entry.included}
    lines: dict[MemoryType, list[Hit]] = {}
    for hit in found:
        if hit.memory.memory_id in one.memory_ids:
            lines.setdefault(hit.memory.memory_type, []).append(hit)
    if all(len(own) < 2 for own in lines.values()):
        return
    first_lines = WRAPPER + sum(max(map(cost, own)) for own in lines.values())
    for hit in found:
        owed = hit.memory.memory_type not in lines
        if owed and hit.score >= policy.least_share * found[0].score:
            why_not = left_out[hit.memory.memory_id]
            assert why_not.startswith("says the same") or first_lines + cost(hit) > budget
