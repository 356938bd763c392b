"""The retrieval log: whole, labelled once a voice, and no change of the memories it counts."""

from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from agentkit.errors import InputError, NotFoundError
from agentkit.records import (
    Candidate,
    Factors,
    Features,
    Query,
    RecallResult,
    Retrieval,
    Scope,
    Step,
    Tag,
    Verdict,
    VerdictKind,
)
from agentkit.store import Store
from agentkit.store.doors.retrievals import DROP_BATCH
from agentkit.testing import FixedClock, MemoryBlobs, new_episode, new_memory

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE = Scope("alice")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
async def store(clock: FixedClock, database_url: str) -> AsyncIterator[Store]:
    opened = Store.open(
        database_url=database_url,
        blobs=MemoryBlobs(),
        index_path=None,
        embedder=None,
        clock=clock,
    )
    yield opened
    await opened.close()


def candidate(memory_id: str, *, returned: bool) -> Candidate:
    return Candidate(
        memory_id=memory_id,
        rank=1,
        features=Features(
            cosine=0.5,
            bm25=1.0,
            tag_overlap=0.0,
            age_days=1.0,
            used_count=0,
            recalled_count=0,
            confidence=0.75,
            trust=0.8,
            memory_type="semantic",
            status="active",
            permanent=False,
            demoted=False,
            tags=(Tag("tool", "csv"),),
        ),
        factors=Factors(
            dense=0.5,
            lexical=0.2,
            tag=0.0,
            lent=0.0,
            decay=1.0,
            trust=0.8,
            confidence=0.9,
            demoted=1.0,
            disputed=1.0,
        ),
        returned=returned,
        why_not="" if returned else "rank 6 of 5",
    )


def retrieval(
    retrieval_id: str,
    memory_ids: Sequence[str],
    *,
    scope: Scope = ALICE,
    timed_out: bool = False,
    left_out: Sequence[str] = (),
    session_id: str = "daily",
) -> Retrieval:
    pool = [candidate(memory_id, returned=True) for memory_id in memory_ids]
    pool += [candidate(memory_id, returned=False) for memory_id in left_out]
    return Retrieval(
        retrieval_id=retrieval_id,
        scope=scope,
        session_id=session_id,
        query=Query(text="gaps?", tags=(Tag("tool", "csv"),)),
        asked_at=NOW + timedelta(hours=1),
        policy_fingerprint="p1",
        result=RecallResult(
            retrieval_id=retrieval_id,
            pool=tuple(pool),
            latency_ms={"total": 3.5},
            timed_out=timed_out,
        ),
    )


async def write(store: Store, content: str, scope: Scope = ALICE) -> str:
    (result,) = await store.add(scope, [new_memory(content)], actor="t")
    return result.memory.memory_id


def verdict(memory_id: str, kind: VerdictKind) -> Verdict:
    return Verdict(memory_id=memory_id, kind=kind, source="person", reason="said so")


async def test_a_record_comes_back_as_it_was_logged(store: Store) -> None:
    memory_id, other = await write(store, "one"), await write(store, "two")
    record = retrieval("r1", [memory_id], left_out=[other])
    await store.log_retrieval(record)
    assert await store.retrieval(ALICE, "r1") == record
    assert await store.retrievals(ALICE, session_id="daily") == (record,)
    assert await store.retrievals(ALICE, session_id="other") == ()


async def test_being_recalled_is_counted_and_changes_nothing_else(
    store: Store, clock: FixedClock
) -> None:
    memory_id, other = await write(store, "one"), await write(store, "two")
    before, revision = await store.memory(ALICE, memory_id), await store.revision(ALICE)
    clock.advance(days=100)
    record = retrieval("r1", [memory_id], left_out=[other])
    await store.log_retrieval(record)
    await store.log_retrieval(record)
    memory = await store.memory(ALICE, memory_id)
    assert (memory.recalled_count, memory.last_recalled_at) == (1, NOW + timedelta(hours=1))
    assert (memory.created_at, memory.edited_at) == (before.created_at, None)
    assert (memory.revision, memory.last_used_at) == (before.revision, None)
    assert await store.revision(ALICE) == revision
    assert len(await store.history(ALICE, memory_id)) == 1
    assert (await store.memory(ALICE, other)).recalled_count == 0


async def test_a_log_of_one_user_never_touches_anothers_memory(store: Store) -> None:
    foreign = await write(store, "secret", Scope("bob"))
    await store.log_retrieval(retrieval("r1", [foreign]))
    assert (await store.memory(Scope("bob"), foreign)).recalled_count == 0
    await store.label(ALICE, "r1", [verdict(foreign, "misleading")])
    assert (await store.memory(Scope("bob"), foreign)).confidence == pytest.approx(0.75)


async def test_a_recall_of_another_scope_is_not_found(store: Store) -> None:
    await store.log_retrieval(retrieval("r1", [], scope=Scope("alice", "cook")))
    for scope in (Scope("bob"), Scope("alice", "writer")):
        with pytest.raises(NotFoundError):
            await store.retrieval(scope, "r1")
        with pytest.raises(NotFoundError):
            await store.label(scope, "r1", [])
        assert await store.retrievals(scope) == ()
    assert len(await store.retrievals(ALICE)) == 1


@pytest.mark.parametrize(
    ("kind", "confidence", "used"),
    [("helpful", 0.8, 1), ("misleading", 0.5, 0), ("outdated", 0.5, 0), ("unused", 0.75, 0)],
)
async def test_a_verdict_counts_once_a_recall(
    store: Store, clock: FixedClock, kind: VerdictKind, confidence: float, used: int
) -> None:
    memory_id = await write(store, "one")
    await store.log_retrieval(retrieval("r1", [memory_id]))
    clock.advance(days=1)
    for _ in range(3):
        await store.label(ALICE, "r1", [verdict(memory_id, kind)])
    memory = await store.memory(ALICE, memory_id)
    assert memory.confidence == pytest.approx(confidence)
    assert memory.used_count == used
    assert memory.last_used_at == (NOW + timedelta(days=1) if used else None)
    assert (await store.retrieval(ALICE, "r1")).verdicts == (verdict(memory_id, kind),)
    kinds = [event.kind for event in await store.history(ALICE, memory_id)]
    assert kinds == (["created"] if kind == "unused" else ["created", "judged"])


async def test_a_verdict_on_what_was_not_recalled_is_refused(store: Store) -> None:
    memory_id, other = await write(store, "one"), await write(store, "two")
    await store.log_retrieval(retrieval("r1", [memory_id]))
    with pytest.raises(InputError, match="not among"):
        await store.label(ALICE, "r1", [verdict(memory_id, "helpful"), verdict(other, "helpful")])
    assert (await store.memory(ALICE, memory_id)).used_count == 0
    assert (await store.retrieval(ALICE, "r1")).verdicts == ()


async def test_the_late_result_of_a_timed_out_recall_replaces_the_empty_one(store: Store) -> None:
    memory_id = await write(store, "one")
    await store.log_retrieval(retrieval("r1", [], timed_out=True))
    late = retrieval("r1", [], timed_out=True, left_out=[memory_id])
    await store.log_retrieval(late)
    assert await store.retrieval(ALICE, "r1") == late
    assert (await store.memory(ALICE, memory_id)).recalled_count == 0


async def test_a_policy_is_kept_once(store: Store) -> None:
    await store.save_policy("p1", "decay: 1")
    await store.save_policy("p1", "decay: 1")
    assert await store.policy("p1") == "decay: 1"
    assert await store.policy("p2") is None


async def test_a_text_that_no_database_holds_is_refused_in_words(store: Store) -> None:
    with pytest.raises(InputError, match="which no database can keep"):
        await store.save_policy("fingerprint", "half \ud83d")
    assert await store.policy("fingerprint") is None


async def logged_ids(store: Store, scope: Scope = ALICE) -> list[str]:
    return sorted(one.retrieval_id for one in await store.retrievals(scope, limit=50))


async def test_old_records_go_and_what_they_taught_stays(store: Store) -> None:
    memory_id = await write(store, "one")
    foreign = await write(store, "two", Scope("bob"))
    await store.log_retrieval(retrieval("r1", [memory_id]))
    await store.log_retrieval(retrieval("r2", [foreign], scope=Scope("bob")))
    await store.label(ALICE, "r1", [verdict(memory_id, "helpful")])
    judged = await store.memory(ALICE, memory_id)
    asked = NOW + timedelta(hours=1)
    assert await store.drop_old_retrievals(before=asked) == 0
    assert await logged_ids(store) == ["r1"]
    assert await store.drop_old_retrievals(before=asked + timedelta(seconds=1)) == 2
    assert await logged_ids(store) == await logged_ids(store, Scope("bob")) == []
    assert await store.memory(ALICE, memory_id) == judged
    assert (judged.recalled_count, judged.used_count) == (1, 1)
    with pytest.raises(NotFoundError):
        await store.label(ALICE, "r1", [verdict(memory_id, "outdated")])


async def test_more_old_records_than_fit_a_batch_all_go(store: Store) -> None:
    for number in range(DROP_BATCH + 1):
        await store.log_retrieval(retrieval(f"r{number:04d}", []))
    before = NOW + timedelta(days=1)
    assert await store.drop_old_retrievals(before=before) == DROP_BATCH + 1
    assert await logged_ids(store) == []


async def test_old_records_stay_while_verdicts_may_still_come(store: Store) -> None:
    step = Step(step_id="s0001", kind="user", text="Fill the gaps", at=NOW)
    await store.append_steps(ALICE, "open", [step])
    waiting = await store.seal(ALICE, new_episode("Fill the gaps", at=NOW), episodic=None)
    done = await store.seal(ALICE, new_episode("Say hello", at=NOW), episodic=None, reflect=False)
    for retrieval_id, session_id in (("r1", "open"), ("r2", "other"), ("r3", "another")):
        await store.log_retrieval(retrieval(retrieval_id, [], session_id=session_id))
    await store.attach_retrievals(ALICE, ["r2"], waiting.episode.episode_id)
    await store.attach_retrievals(ALICE, ["r3"], done.episode.episode_id)
    assert await store.drop_old_retrievals(before=NOW + timedelta(days=1)) == 1
    assert await logged_ids(store) == ["r1", "r2"]
