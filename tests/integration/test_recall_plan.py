"""Recall in a scope that is too large to be scanned, with a real Chroma."""

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentkit import Kit
from agentkit.cli.edge import run
from agentkit.kit.background import Background
from agentkit.kit.opening import open_parts
from agentkit.kit.parts import Parts
from agentkit.kit.recalling import Recaller
from agentkit.records import MemoryType, RecallResult, Scope, Tag
from agentkit.serve.documents import recall_document
from agentkit.store import NewMemory
from agentkit.testing import FixedClock, HashEmbedder, new_memory

NOW = datetime(2026, 11, 18, 14, 30, tzinfo=UTC)
OWNER, STRANGER = Scope("owner"), Scope("stranger")
SIZE = 120
POLICY = """\
plan:
  exact_up_to: 50
  over_fetch: 1
  most_keys: 20
pool_final: 10
timeout_s: 60
"""
QUESTION = "which valve leaked at the pump"
# Nothing of what the others say.
FAR = "quarterly ledger reconciliation spreadsheet"


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


@pytest.fixture
async def parts(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Parts]:
    opened = parts_in(tmp_path, clock, index="chroma")
    yield opened
    await opened.stores.close()


@pytest.fixture
def recaller(parts: Parts) -> Recaller:
    return recaller_of(parts)


def parts_in(folder: Path, clock: FixedClock, **settings: object) -> Parts:
    (folder / "memory").mkdir(exist_ok=True)
    (folder / "memory" / "recall.yaml").write_text(POLICY, encoding="utf-8")
    overrides = {"worker": "external", **settings}
    return open_parts(folder, clock=clock, embedder=HashEmbedder(), overrides=overrides)


async def nothing() -> None:
    return None


def recaller_of(parts: Parts) -> Recaller:
    return Recaller(parts, background=Background(exit_work=nothing))


def notes(number: int = SIZE, said: str = "the valve at pump") -> list[NewMemory]:
    return [new_memory(f"{said} {place} leaked on day {place}") for place in range(number)]


async def fill(
    parts: Parts, *new: NewMemory, scope: Scope = OWNER, settled: bool = True
) -> list[str]:
    store = await parts.store(scope)
    written = await store.add(scope, new, actor="test")
    if settled:
        assert (await store.settle()).problem == ""
    return [one.memory.memory_id for one in written]


def ids(result: RecallResult) -> list[str]:
    return [hit.memory.memory_id for hit in result.hits]


async def ask(
    recaller: Recaller, parts: Parts, text: str = QUESTION, *, scope: Scope = OWNER, **asked: object
) -> RecallResult:
    query = Kit(parts).query(text, **asked)  # pyright: ignore[reportArgumentType] - the door checks
    return await recaller.recall(query, scope=scope)


async def test_a_large_scope_is_answered_out_of_the_index_and_says_so(
    parts: Parts, recaller: Recaller
) -> None:
    # Of notes that are all alike: a graph of near neighbours may miss one that is like no other.
    written = await fill(parts, *notes())
    result = await ask(recaller, parts, "the valve at pump 7 leaked")
    assert len(ids(result)) == 5
    assert set(ids(result)) <= set(written)
    assert result.approximate is not None
    assert 10 <= result.approximate.candidates < SIZE
    assert (result.approximate.overlap, result.degraded) == (None, "")
    assert "never measured" in str(result.approximate)


async def test_a_small_scope_is_scanned_exactly(parts: Parts, recaller: Recaller) -> None:
    await fill(parts, *notes(50))
    result = await ask(recaller, parts)
    assert (result.approximate, result.degraded) == (None, "")
    assert len(result.hits) == 5


async def test_a_scope_that_grows_over_the_limit_is_approximate_from_then_on(
    parts: Parts, recaller: Recaller
) -> None:
    await fill(parts, *notes(50))
    assert (await ask(recaller, parts)).approximate is None
    assert recaller.held(OWNER) == 50
    await fill(parts, new_memory("one more"))
    answers = [(await ask(recaller, parts)).approximate is None for _ in range(2)]
    assert answers == [True, False]
    assert recaller.held(OWNER) is None


async def test_what_the_index_does_not_know_yet_is_found(parts: Parts, recaller: Recaller) -> None:
    await fill(parts, *notes())
    (new,) = await fill(parts, new_memory("the gasket of boiler seven burst"), settled=False)
    result = await ask(recaller, parts, "gasket of boiler seven")
    assert result.approximate is not None
    assert new in ids(result)


async def test_an_index_far_behind_is_not_asked_and_the_answer_says_why(
    parts: Parts, recaller: Recaller
) -> None:
    await fill(parts, *notes(), settled=False)
    result = await ask(recaller, parts)
    assert (len(result.hits), result.approximate) == (5, None)
    assert "the vector index lacks more than 10 memories" in result.degraded


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"index": "none"}, "there is no vector index"),
        ({"index": "chroma", "index_url": "http://127.0.0.1:9/gone"}, "vector index"),
    ],
)
async def test_without_an_index_the_scope_is_scanned_and_the_answer_says_why(
    tmp_path: Path, clock: FixedClock, settings: dict[str, object], reason: str
) -> None:
    parts = parts_in(tmp_path, clock, **settings)
    store = await parts.store(OWNER)
    await store.add(OWNER, notes(55), actor="test")
    # A row of the outbox goes only when an index took it in; here none does.
    vectors = await HashEmbedder().embed([QUESTION], kind="query")
    assert reason in (await store.near(OWNER, vectors[0], limit=10)).problem
    result = await ask(recaller_of(parts), parts)
    assert (len(result.hits), result.approximate) == (5, None)
    assert "scanned whole" in result.degraded
    await parts.stores.close()


async def test_a_question_without_a_vector_is_scanned(tmp_path: Path, clock: FixedClock) -> None:
    parts = parts_in(tmp_path, clock, index="chroma")
    await fill(parts, *notes(55))
    await parts.stores.close()
    wordy = open_parts(
        tmp_path, clock=clock, embedder="none", overrides={"worker": "external", "index": "chroma"}
    )
    result = await ask(recaller_of(wordy), wordy)
    assert len(result.hits) == 5
    assert "the question has no vector" in result.degraded
    await wordy.stores.close()


async def test_a_tag_that_few_carry_is_found_however_far_they_are(
    parts: Parts, recaller: Recaller
) -> None:
    rare = [new_memory(f"{FAR} {place}", tags=("tool:csv",)) for place in range(3)]
    await fill(parts, *notes(), *rare)
    result = await ask(recaller, parts, tags=["tool:csv"])
    assert sorted(hit.memory.content for hit in result.hits) == [f"{FAR} {n}" for n in range(3)]
    assert all(Tag("tool", "csv") in hit.memory.tags for hit in result.hits)


async def test_a_tag_that_nobody_carries_is_dropped_as_in_an_exact_scan(
    parts: Parts, recaller: Recaller
) -> None:
    await fill(parts, *notes())
    result = await ask(recaller, parts, tags=["tool:csv"])
    assert len(result.hits) == 5
    assert "dropped the filter tool:csv" in result.relaxations[0]


@pytest.mark.parametrize("number", [3, 40])
@pytest.mark.parametrize("kind", ["procedural", "archived", "within", "agent"])
async def test_a_filter_never_starves_the_answer(
    parts: Parts, recaller: Recaller, clock: FixedClock, kind: str, number: int
) -> None:
    await fill(parts, *notes())
    clock.advance(days=30)
    memory_type: MemoryType = "procedural" if kind == "procedural" else "semantic"
    scope = Scope("owner", "planner") if kind == "agent" else OWNER
    far = [new_memory(f"{FAR} {place}", memory_type=memory_type) for place in range(number)]
    written = await fill(parts, *far, scope=scope)
    if kind == "archived":
        store = await parts.store(OWNER)
        for memory_id in written:
            await store.change_status(OWNER, memory_id, "archived", actor="test", reason="old")
        await store.settle()
    asked: dict[str, dict[str, object]] = {
        "procedural": {"memory_type": "procedural"},
        "archived": {"include_archived": True, "text": FAR},
        "within": {"within": "today"},
        "agent": {"text": FAR},
    }
    given = asked[kind]
    result = await ask(recaller, parts, str(given.pop("text", QUESTION)), scope=scope, **given)
    assert result.approximate is not None
    found = [hit for hit in result.hits if hit.memory.content.startswith(FAR)]
    assert len(found) == min(number, 5)


async def test_an_agent_that_owns_little_of_a_large_scope_still_sees_what_all_may(
    parts: Parts, recaller: Recaller
) -> None:
    await fill(parts, *notes(said="the valve at pump"), scope=Scope("owner", "planner"))
    shared = await fill(parts, *[new_memory(f"{FAR} {place}") for place in range(15)])
    result = await ask(recaller, parts)
    assert result.approximate is not None
    assert len(result.hits) == 5
    assert set(ids(result)) <= set(shared)


async def test_another_users_memories_are_no_candidates_however_near(
    parts: Parts, recaller: Recaller
) -> None:
    own = await fill(parts, *notes(60, said=FAR))
    await fill(parts, *[new_memory(f"{QUESTION} {n}") for n in range(60)], scope=STRANGER)
    result = await ask(recaller, parts)
    assert result.approximate is not None
    assert {member.memory_id for member in result.pool} <= set(own)
    assert len(result.hits) == 5


async def test_what_is_forgotten_is_not_shown_though_the_index_still_has_it(
    parts: Parts, recaller: Recaller
) -> None:
    written = await fill(parts, *notes(), new_memory("the gasket of boiler seven burst"))
    store = await parts.store(OWNER)
    await store.forget(OWNER, [written[-1]], actor="test", reason="wrong")
    result = await ask(recaller, parts, "gasket of boiler seven")
    assert result.approximate is not None
    assert written[-1] not in {member.memory_id for member in result.pool}


async def test_the_past_is_always_scanned(
    parts: Parts, recaller: Recaller, clock: FixedClock
) -> None:
    await fill(parts, *notes())
    clock.advance(days=2)
    result = await ask(recaller, parts, as_of=NOW + timedelta(days=1))
    assert (len(result.hits), result.approximate, result.degraded) == (5, None, "")


@pytest.mark.parametrize(("phrase", "kept"), [("today", True), ("last week", False)])
async def test_a_time_in_the_question_filters_candidates_too(
    parts: Parts, recaller: Recaller, clock: FixedClock, phrase: str, kept: bool
) -> None:
    await fill(parts, *notes())
    clock.advance(days=30)
    await fill(parts, new_memory(FAR))
    result = await ask(recaller, parts, f"{QUESTION} {phrase}")
    assert result.approximate is not None
    assert ([hit.memory.content for hit in result.hits] == [FAR]) is kept
    assert bool(result.relaxations) is not kept


async def test_memories_most_like_a_new_one_are_found_in_a_large_scope(
    parts: Parts, recaller: Recaller
) -> None:
    written = await fill(
        parts, *notes(), new_memory("gasket of boiler seven"), new_memory("gasket of boiler eight")
    )
    (memory,) = await (await parts.store(OWNER)).memories(OWNER, ids=written[-1:])
    rivals = await recaller.rivals(memory, scope=OWNER, limit=3)
    assert [rivals[0].memory.memory_id, len(rivals)] == [written[-2], 3]


async def test_tags_are_inferred_from_the_candidates_of_each_question(
    parts: Parts, recaller: Recaller
) -> None:
    tagged = [new_memory(f"{FAR} {n}", tags=("shelf:books",)) for n in range(60)]
    tagged += [new_memory(f"{QUESTION} {n}", tags=("tool:csv",)) for n in range(60)]
    await fill(parts, *tagged)
    inferred = [
        {str(one.tag) for one in (await ask(recaller, parts, text)).intent}
        for text in (QUESTION, FAR)
    ]
    assert inferred == [{"tool:csv"}, {"shelf:books"}]


async def test_a_measured_overlap_is_shown_with_every_later_answer_of_that_user(
    tmp_path: Path, parts: Parts, clock: FixedClock
) -> None:
    await fill(parts, *notes())
    await fill(parts, *notes(55), scope=STRANGER)
    await parts.stores.close()
    async with Kit.open(
        tmp_path, clock=clock, embedder=HashEmbedder(), index="chroma", worker="external"
    ) as kit:
        for place in (3, 40, 77):
            await kit.recall(f"which valve leaked on day {place}", scope=OWNER)
        await kit.background.join(lane="log")
        measured = await kit.measure_overlap(scope=OWNER)
        clock.advance(days=1)
        result = await kit.recall(QUESTION, scope=OWNER)
        other = await kit.recall(QUESTION, scope=STRANGER)
        await kit.background.join(lane="log")
        (logged, *before) = await kit.retrievals(scope=OWNER)
    assert (measured.queries, measured.logged, measured.problem) == (3, 3, "")
    assert measured.overlap is not None
    assert 0.0 < measured.overlap <= 1.0
    assert result.approximate is not None
    assert (result.approximate.overlap, result.approximate.measured_at) == (measured.overlap, NOW)
    assert other.approximate is not None
    assert other.approximate.overlap is None
    assert logged.result.approximate == result.approximate
    assert len(before) == 3
    shown = recall_document(result, logged.query)["approximate"]
    assert json.loads(json.dumps(shown))["measured_at"] == NOW.isoformat()


def test_the_command_line_says_approximate_and_measures_the_overlap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agentkit.yaml").write_text("index: chroma\nembedder: local\n", encoding="utf-8")
    (tmp_path / "memory").mkdir()
    small = POLICY.replace("exact_up_to: 50", "exact_up_to: 1")
    (tmp_path / "memory" / "recall.yaml").write_text(small, encoding="utf-8")
    project = ["--project", str(tmp_path)]
    for text in ("the valve leaked", "the gasket burst", "the ledger was late"):
        assert run(["remember", text, "--user", "owner", *project]) == 0
    assert run(["recall", "which valve leaked", "--user", "owner", *project]) == 0
    assert "never measured" in capsys.readouterr().err
    assert run(["doctor", "--overlap", "owner", *project]) == 0
    assert "100.0% of the exact ten best found, over 1 queries" in capsys.readouterr().out
    assert run(["recall", "which valve leaked", "--user", "owner", *project]) == 0
    assert "100% of the exact ten best on" in capsys.readouterr().err
    assert run(["doctor", "--overlap", "nobody", "--json", *project]) == 0
    assert json.loads(capsys.readouterr().out)["overlap"] is None
