"""With as many candidates as there are memories, the approximate plan is the exact scan."""

import asyncio
from datetime import UTC, datetime, timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit.kit.approximate import Planner, Search
from agentkit.policy.decay import DecayPolicy
from agentkit.policy.recall import PlanPolicy, RecallPolicy
from agentkit.recall import Ranking, RankQuery, ScopeIndex, rank
from agentkit.records import Float32Array, Query, Scope, Tag, TimeRange
from agentkit.store import NewMemory, Store
from agentkit.store.stores import SharedStore
from agentkit.testing import FixedClock, HashEmbedder, memory_store, new_memory

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)
OWNER, AGENT, STRANGER = Scope("owner"), Scope("owner", "planner"), Scope("stranger")
EMBEDDER = HashEmbedder(16)
# The whole of every scope drawn below.
WHOLE = RecallPolicy(plan=PlanPolicy(exact_up_to=1, over_fetch=20))

words = st.lists(st.sampled_from("pump valve order 缺失 数据 null".split()), min_size=1, max_size=5)
texts = words.map(" ".join)


@st.composite
def memories(draw: st.DrawFn) -> NewMemory:
    return new_memory(
        f"{draw(texts)} {draw(st.integers(0, 999))}",
        memory_type=draw(st.sampled_from(("semantic", "procedural"))),
        cues=tuple(draw(st.lists(texts, max_size=2, unique=True))),
        tags=draw(st.sampled_from(((), ("tool:csv",), ("tool:csv", "domain:law")))),
        confidence=draw(st.sampled_from((0.3, 0.75, 0.9))),
        created_at=NOW - timedelta(days=draw(st.integers(0, 90))),
    )


queries = st.builds(
    Query,
    text=texts,
    memory_types=st.sampled_from(((), ("semantic",))),
    top_k=st.integers(1, 8),
    min_confidence=st.sampled_from((0.0, 0.5)),
    tags=st.sampled_from(((), (Tag("tool", "csv"),), (Tag("tool", "git"),))),
    within=st.sampled_from((None, TimeRange(NOW - timedelta(days=30), None))),
)


async def written(store: Store, scope: Scope, new: list[NewMemory]) -> None:
    await store.add(scope, new, actor="test")


async def ranked(index: ScopeIndex, query: Query, vector: Float32Array, scope: Scope) -> Ranking:
    asked = RankQuery.of(query, text=query.text, vector=vector, agent_id=scope.agent_id)
    return rank(index, asked, policy=WHOLE, decay=DecayPolicy(), now_s=NOW.timestamp())


async def both(
    held: dict[Scope, list[NewMemory]], late: list[NewMemory], query: Query, scope: Scope
) -> tuple[Ranking, Ranking]:
    store = memory_store(clock=FixedClock(NOW), embedder=EMBEDDER)
    for owner, new in held.items():
        await written(store, owner, new)
    await store.settle()
    await written(store, OWNER, late)
    (vector,) = await EMBEDDER.embed([query.text], kind="query")
    planner = Planner(WHOLE, stores=SharedStore(store))
    planned = await planner.plan(
        [Search(query, vector)], scope=scope, now=NOW, held=None, choice="approximate"
    )
    assert planned.index is not None, planned.reason
    exact = ScopeIndex()
    exact.apply(await store.changes(scope, since=0))
    answers = (
        await ranked(planned.index, query, vector, scope),
        await ranked(exact, query, vector, scope),
    )
    await store.close()
    return answers


@settings(max_examples=40, deadline=None)
@given(
    st.lists(memories(), min_size=1, max_size=12),
    st.lists(memories(), max_size=4),
    st.lists(memories(), max_size=4),
    st.lists(memories(), max_size=3),
    queries,
    st.sampled_from((OWNER, AGENT)),
)
def test_with_every_key_asked_for_the_answer_is_that_of_the_exact_scan(
    own: list[NewMemory],
    agents: list[NewMemory],
    strangers: list[NewMemory],
    late: list[NewMemory],
    query: Query,
    scope: Scope,
) -> None:
    held = {OWNER: own, AGENT: agents, STRANGER: strangers}
    approximate, exact = asyncio.run(both(held, late, query, scope))
    assert approximate == exact
