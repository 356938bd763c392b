"""Cases of people whose memories faded too soon or never, at the doors of the kit.

DC-01, DC-02 and DC-04 to DC-08 of the collected cases. Where the project decided otherwise than a
case, the test holds the case's policy and the project's default, and says so.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentkit import Kit
from agentkit.errors import NotFoundError
from agentkit.evaluation.importers import read_recordings
from agentkit.policy.decay import DecayPolicy
from agentkit.ports import Embedder
from agentkit.recall import explanation
from agentkit.records import MEMORY_TYPES, Memory, MemoryType, RecallResult, Scope
from agentkit.store import NewMemory
from agentkit.testing import FixedClock, HashEmbedder, TableEmbedder, new_memory
from tests.recall_scope import at_cosine

T0 = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE = Scope("alice")
QUESTION = "which one?"
TAXONOMY = """
version: 1
facets:
  kind:
    description: What it is for.
    values:
      task: {description: One piece of work.}
      core: {description: Always true.}
"""


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(T0)


def open_kit(
    folder: Path, clock: FixedClock, *, decay: str = "", embedder: Embedder | None = None
) -> Kit:
    """Open a project with decay of its own, and time enough on a busy machine."""
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("taxonomy", TAXONOMY),
        ("recall", "timeout_s: 60\n"),
        ("decay", decay or "{}\n"),
    ):
        (folder / "memory" / f"{name}.yaml").write_text(text, encoding="utf-8")
    return Kit.open(
        folder,
        embedder=embedder or TableEmbedder({QUESTION: (1.0, 0.0)}),
        clock=clock,
        index="none",
        worker="external",
    )


def near(cosine: float, text: str, *, days: float = 0.0, **fields: object) -> NewMemory:
    """A memory of some days ago whose content is at a cosine to the question."""
    new = new_memory(text, created_at=T0 - timedelta(days=days), **fields)  # pyright: ignore[reportArgumentType] - as in its signature
    return replace(new, vectors=at_cosine(cosine)[None])


async def added(kit: Kit, new: Sequence[NewMemory]) -> list[Memory]:
    store = await kit._parts.store(ALICE)  # pyright: ignore[reportPrivateUsage] - the door below
    return [one.memory for one in await store.add(ALICE, new, actor="test")]


def ids(result: RecallResult) -> list[str]:
    return [hit.memory.memory_id for hit in result.hits]


async def logged(kit: Kit) -> RecallResult:
    """The last recall as the log keeps it."""
    await kit.background.join(lane="log")
    return (await kit.retrievals(scope=ALICE, limit=1))[0].result


async def test_an_old_memory_that_matches_exactly_stays_reachable(
    tmp_path: Path, clock: FixedClock
) -> None:
    """DC-01, the default."""
    async with open_kit(tmp_path, clock) as kit:
        (old,) = await added(kit, [near(0.95, "old", days=242)])
        await added(kit, [near(0.40, f"fresh {number}") for number in range(10)])
        for _ in range(2):
            result = await kit.recall(kit.query(QUESTION, top_k=3), scope=ALICE)
            assert old.memory_id in ids(result)
            # The least similar of all sets the scale; with this one it is not the fresh ones.
            await added(kit, [near(0.0, "unrelated")])


async def test_a_loss_of_three_percent_a_day_is_applied_as_it_was_set(
    tmp_path: Path, clock: FixedClock
) -> None:
    """DC-01, without a floor.

    A half-life is what `decay.yaml` takes, so what a rate means need not be told by a warning: 3 %
    a day is written as 23.1 days.
    """
    own = "floor: 0\ntypes: {semantic: 23.105}\n"
    async with open_kit(tmp_path, clock, decay=own) as kit:
        (old,) = await added(kit, [near(0.95, "old", days=242)])
        await added(kit, [near(0.40, f"fresh {number}") for number in range(10)])
        await added(kit, [near(0.0, "unrelated")])
        await kit.recall(kit.query(QUESTION, top_k=3), scope=ALICE)
        (kept,) = [one for one in (await logged(kit)).pool if one.memory_id == old.memory_id]
        assert kept.features.cosine == pytest.approx(0.95, abs=1e-3)
        assert kept.factors.decay == pytest.approx(0.0007, abs=5e-5)
        rest = kept.factors.base * kept.factors.trust * kept.factors.confidence
        assert kept.score == pytest.approx(rest * kept.factors.decay)
        assert not kept.returned
        assert kept.factors.half_life_days == 23.105
        assert "half-life 23 d" in explanation(kept)


HALF_LIVES = """
default_half_life_days: 30
types: {semantic: 180, procedural: null}
tags: {"kind:task": 7, "kind:core": null}
"""
AGED: tuple[tuple[MemoryType, tuple[str, ...], int, float], ...] = (
    ("episodic", ("kind:task",), 14, 0.25),
    ("semantic", (), 90, 0.7071),
    ("procedural", (), 900, 1.0),
    ("episodic", (), 30, 0.5),
    ("semantic", ("kind:task",), 14, 0.25),
    ("semantic", ("kind:core", "kind:task"), 14, 1.0),
)


@pytest.mark.parametrize("floor", [0.0, DecayPolicy().floor])
async def test_half_lives_by_type_and_by_tag_come_from_yaml(
    tmp_path: Path, clock: FixedClock, floor: float
) -> None:
    """DC-02, without a floor as in the case, and above the project's own.

    Kinds are called types here. A tag beats the type, and of two tags the longest wins.
    """
    async with open_kit(tmp_path, clock, decay=f"floor: {floor}\n{HALF_LIVES}") as kit:
        held = await added(
            kit,
            [
                near(0.5, f"item {number}", days=days, memory_type=memory_type, tags=tags)
                for number, (memory_type, tags, days, _) in enumerate(AGED)
            ],
        )
        result = await kit.recall(kit.query(QUESTION, top_k=10), scope=ALICE)
        found = {hit.memory.memory_id: hit.factors.decay for hit in result.hits}
        assert [found[memory.memory_id] for memory in held] == pytest.approx(
            [floor + (1 - floor) * left for *_, left in AGED], abs=1e-4
        )


@pytest.mark.parametrize("boost_on", ["used", "recalled"])
async def test_a_memory_ages_by_its_words_and_its_use(
    tmp_path: Path, clock: FixedClock, boost_on: str
) -> None:
    """DC-04: by default a recall renews nothing; with `boost_on: recalled` it does."""
    clock.advance(days=-365)
    table = {QUESTION: (1.0, 0.0), "renewed": (0.6, 0.8), "only m3": (0.0, 1.0)}
    async with open_kit(
        tmp_path, clock, decay=f"boost_on: {boost_on}\n", embedder=TableEmbedder(table)
    ) as kit:
        m1, m2, m3 = await added(
            kit, [near(cosine, f"item {cosine}", days=365) for cosine in (0.9, 0.8, 0.1)]
        )
        clock.advance(days=364)
        await kit.edit(m1.memory_id, scope=ALICE, content="renewed")
        await kit.edit(m2.memory_id, scope=ALICE, tags=["core"])
        only = await kit.recall(kit.query("only m3", top_k=1), scope=ALICE)
        assert ids(only) == [m3.memory_id]
        await kit.background.join(lane="log")
        clock.advance(days=1)
        await kit.recall(QUESTION, scope=ALICE)
        ages = {one.memory_id: one.features.age_days for one in (await logged(kit)).pool}
        assert [ages[one.memory_id] for one in (m1, m2, m3)] == pytest.approx(
            [1.0, 365.0, 365.0 if boost_on == "used" else 1.0]
        )
        (kept,) = await kit.retrievals(scope=ALICE, limit=1)
        renewed_at = kept.asked_at - timedelta(days=ages[m1.memory_id])
        assert renewed_at == (await kit.memory(m1.memory_id, scope=ALICE)).edited_at


INSTANT = datetime(2025, 9, 20, 5, 1, 19, 729_000, tzinfo=UTC)
RECORDED = (1758344479.729, 1758344479729, "2025-09-20T05:01:19.729Z", "1758344479")
NO_TIMES = (0, -1, 99999999999999)


async def test_seconds_milliseconds_and_iso_are_one_instant_and_nonsense_is_told(
    tmp_path: Path, clock: FixedClock
) -> None:
    """DC-05: the task of a nonsense time is kept, dated to its import, and its line is named."""
    file = tmp_path / "chat.jsonl"
    lines = [
        {
            "messages": [
                {"role": "user", "content": f"Check pump {number}"},
                {"role": "assistant", "content": "It runs."},
            ],
            "ended_at": recorded,
        }
        for number, recorded in enumerate((*RECORDED, *NO_TIMES))
    ]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    report = read_recordings(file)
    assert [part.line for part in report.skipped] == [5, 6, 7]
    assert [part.reason for part in report.skipped] == [
        f"ended_at {recorded} is no time; left out" for recorded in NO_TIMES
    ]
    async with open_kit(tmp_path, clock, embedder=HashEmbedder()) as kit:
        await kit.import_recordings(report.recordings, scope=ALICE)
        held = await kit.memories(scope=ALICE)
        dated = [memory for memory in held if memory.created_at != T0]
        assert len(dated) == len(RECORDED)
        assert len(held) == len(RECORDED) + len(NO_TIMES)
        for memory in dated:
            assert abs(memory.created_at - INSTANT) < timedelta(seconds=1)
        await kit.recall(kit.query("which pump was checked?", top_k=10), scope=ALICE)
        ages = [one.features.age_days for one in (await logged(kit)).pool]
        assert sorted(map(int, ages)) == [0, 0, 0, 436, 436, 436, 436]


async def test_fading_is_a_matter_of_time_alone_and_forgets_nothing(
    tmp_path: Path, clock: FixedClock
) -> None:
    """DC-06: there is no decay pass; what else a worker does ten times changes no score."""

    def text(number: int) -> str:
        return f"Drawer {number} of cabinet {number * 7} holds item {number * 13}"

    async with open_kit(tmp_path, clock, embedder=HashEmbedder(256)) as kit:
        await added(
            kit,
            [
                new_memory(
                    text(number),
                    memory_type=MEMORY_TYPES[number % 3],
                    created_at=T0 - timedelta(days=number * 5),
                )
                for number in range(50)
            ],
        )
        await kit.settle()
        held = await kit.memories(scope=ALICE, limit=100)
        everything = kit.query("which drawer of which cabinet?", top_k=100)

        async def scores() -> dict[str, float]:
            result = await kit.recall(everything, scope=ALICE)
            await kit.background.join(lane="log")
            return {hit.memory.memory_id: hit.score for hit in result.hits}

        first = await scores()
        assert len(first) == 50
        for _ in range(9):
            await kit.reflect()
            await kit.settle()
            assert await scores() == first
        clock.advance(days=60)
        await kit.reflect()
        faded = await scores()
        assert all(faded[memory_id] < score for memory_id, score in first.items())
        for number in range(50):
            result = await kit.recall(kit.query(text(number), top_k=1), scope=ALICE)
            assert [hit.memory.content for hit in result.hits] == [text(number)]
        later = await kit.memories(scope=ALICE, limit=100)
        assert [(one.memory_id, one.content, one.status) for one in later] == [
            (one.memory_id, one.content, one.status) for one in held
        ]


BATCH = 1_000


async def test_whoever_clears_up_reaches_the_oldest_and_least_used(
    tmp_path: Path, clock: FixedClock
) -> None:
    """DC-07: nothing forgets by itself, so the job is the owner's loop over the kit's own doors."""
    async with open_kit(tmp_path, clock) as kit:
        await added(
            kit,
            [
                near(0.5, f"item {number}", days=400 + number / 5, confidence=0.05)
                for number in range(2_500)
            ],
        )
        young, pinned = await added(
            kit,
            [
                near(0.5, "young", days=10, confidence=0.05),
                near(0.5, "pinned", days=500, confidence=0.05, permanent=True),
            ],
        )

        async def clear_up() -> list[int]:
            batches: list[int] = []
            kept = 0
            while page := await kit.memories(scope=ALICE, limit=BATCH, offset=kept):
                gone = [
                    memory.memory_id
                    for memory in page
                    if memory.recalled_count == 0
                    and not memory.permanent
                    and clock() - memory.created_at > timedelta(days=365)
                ]
                kept += len(page) - len(gone)
                if gone:
                    done = await kit.forget(gone, scope=ALICE, reason="old and never recalled")
                    batches.append(len(done.forgotten))
            return batches

        assert sum(await clear_up()) == 2_500
        assert await clear_up() == []
        left = await kit.memories(scope=ALICE, limit=BATCH)
        assert [one.memory_id for one in left] == [young.memory_id, pinned.memory_id]
        result = await kit.recall(kit.query(QUESTION, top_k=100), scope=ALICE)
        assert set(ids(result)) == {young.memory_id, pinned.memory_id}
        (oldest,) = await kit.memories(scope=ALICE, statuses=["forgotten"], limit=1, offset=2_499)
        assert oldest.content == "item 2499"
        await kit.restore(oldest.memory_id, scope=ALICE)
        assert (await kit.memory(oldest.memory_id, scope=ALICE)).status == "active"


async def test_what_has_expired_is_brought_back_by_no_read_and_no_copy(
    tmp_path: Path, clock: FixedClock
) -> None:
    """DC-08, beside `test_what_has_expired_is_absent_from_every_path` of the lifecycle cases.

    A read renews a memory with `boost_on: recalled` and never by default. An export is a whole
    copy, so it holds the expired row, and a project that it is restored into hides it as well.
    """
    async with open_kit(tmp_path, clock, decay="boost_on: recalled\n") as kit:
        end = T0 - timedelta(minutes=1)
        new = near(0.9, "expired", days=1)
        new = replace(new, lesson=replace(new.lesson, valid_to=end))
        (expired,) = await added(kit, [new])
        (other,) = await added(kit, [near(0.1, "other", days=1)])
        for _ in range(2):
            for archived in (False, True):
                asked = kit.query(QUESTION, include_archived=archived)
                assert ids(await kit.recall(asked, scope=ALICE)) == [other.memory_id]
                await kit.background.join(lane="log")
        then = await kit.recall(QUESTION, scope=ALICE, as_of=end - timedelta(minutes=1))
        assert ids(then) == []
        with pytest.raises(NotFoundError):
            await kit.memory(expired.memory_id, scope=ALICE)
        file = tmp_path / "export.jsonl"
        await kit.export_to(file, scope=ALICE)
        assert expired.memory_id in file.read_text(encoding="utf-8")
    async with open_kit(tmp_path / "copy", clock) as copy:
        await copy.restore_from(file)
        assert ids(await copy.recall(QUESTION, scope=ALICE)) == [other.memory_id]
        assert [one.memory_id for one in await copy.memories(scope=ALICE)] == [other.memory_id]
        again = await added(copy, [near(0.9, "expired")])
        assert again[0].memory_id != expired.memory_id
        assert ids(await copy.recall(QUESTION, scope=ALICE))[0] == again[0].memory_id
