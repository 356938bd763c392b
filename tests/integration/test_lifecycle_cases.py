"""Cases of people who used other memory stores, at the doors of the kit.

ST-01, ST-02, ST-05, ST-11, ST-13, IS-03, IS-07 and DC-08 of the collected cases.
"""

import subprocess
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pydantic_ai import Agent

from agentkit import Hindsight, Kit
from agentkit.errors import InputError, NotFoundError
from agentkit.records import Lesson, Memory, Scope, Tag, Verdict
from agentkit.testing import FixedClock, HashEmbedder, Script, scripted_with

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE, BOB = Scope("alice"), Scope("bob")
CSV = Tag("data_form", "csv")


@pytest.fixture
def clock() -> FixedClock:
    return FixedClock(NOW)


def open_kit(folder: Path, clock: FixedClock) -> Kit:
    return Kit.open(folder, embedder=HashEmbedder(), clock=clock, worker="external")


@pytest.fixture
async def kit(tmp_path: Path, clock: FixedClock) -> AsyncIterator[Kit]:
    async with open_kit(tmp_path, clock) as opened:
        yield opened


async def written(kit: Kit, text: str, scope: Scope = ALICE, **fields: object) -> Memory:
    """Write what an agent learnt."""
    lesson = kit.lesson(text, memory_type="semantic", **fields)
    report = await kit.write(lesson, scope=scope)
    assert report.memory is not None, report.admission.reason
    return report.memory


async def found(
    kit: Kit, text: str, scope: Scope = ALICE, *, tags: object = None, match: str = "all"
) -> list[str]:
    """Ids that a recall returns; none where it says that it dropped the tags to find any."""
    result = await kit.recall(kit.query(text, tags=tags, match=match), scope=scope)
    if result.relaxations:
        return []
    return [hit.memory.memory_id for hit in result.hits]


async def test_bookkeeping_is_no_edit(kit: Kit, clock: FixedClock) -> None:
    """ST-01."""
    memory = await written(kit, "Reports go out on Fridays")
    clock.advance(days=100)
    result = await kit.recall("when do reports go out?", scope=ALICE)
    verdict = Verdict(memory_id=memory.memory_id, kind="helpful", source="person")
    await kit.feedback(result.retrieval_id, [verdict], scope=ALICE)
    await kit.edit(memory.memory_id, scope=ALICE, tags=["data_form:csv"], cues=["weekly"])
    await kit.settle()
    kept = await kit.memory(memory.memory_id, scope=ALICE)
    assert (kept.created_at, kept.edited_at) == (NOW, None)
    assert kept.used_count == 1
    edited = await kit.edit(memory.memory_id, scope=ALICE, content="Reports go out on Mondays")
    assert (edited.created_at, edited.edited_at) == (NOW, NOW + timedelta(days=100))


async def test_an_edit_keeps_the_rest_and_a_removed_tag_is_gone_after_a_restart(
    tmp_path: Path, clock: FixedClock
) -> None:
    """ST-02."""
    async with open_kit(tmp_path, clock) as kit:
        memory = await written(
            kit, "The hobby is chess", tags=["data_form:csv", "domain:preferences"], cues=["hobby"]
        )
        await kit.settle()
        assert await found(kit, "hobby", tags=["data_form:csv"]) == [memory.memory_id]
        edited = await kit.edit(memory.memory_id, scope=ALICE, content="The hobby is rowing")
        changed = replace(
            memory,
            content=edited.content,
            edited_at=edited.edited_at,
            revision=edited.revision,
            last_recalled_at=edited.last_recalled_at,
            recalled_count=edited.recalled_count,
            status=edited.status,
        )
        assert edited == changed
        await kit.edit(memory.memory_id, scope=ALICE, tags=["domain:preferences"])
        await kit.settle()
        for match in ("all", "any"):
            assert memory.memory_id not in await found(
                kit, "hobby", tags=["data_form:csv"], match=match
            )
        assert await kit.memories(scope=ALICE, tag=CSV) == ()
    async with open_kit(tmp_path, clock) as again:
        assert await found(again, "hobby", tags=["data_form:csv"]) == []
        assert await found(again, "hobby is rowing") == [memory.memory_id]
        assert all(check.ok for check in await again.doctor())


SEARCHER = """
import asyncio, sys
from agentkit import Kit
from agentkit.testing import HashEmbedder

async def main() -> None:
    async with Kit.open(sys.argv[1], embedder=HashEmbedder(), worker="external") as kit:
        scope = kit.scope("alice")
        hits = (await kit.recall("what is the door code?", scope=scope)).hits
        print([hit.memory.content for hit in hits], len(await kit.memories(scope=scope)))

asyncio.run(main())
"""


async def test_forgotten_means_gone_everywhere_at_once(
    kit: Kit, tmp_path: Path, repository: Path
) -> None:
    """ST-05."""
    memory = await written(kit, "Door code is blue-falcon", tags=["data_form:csv"])
    other = await written(kit, "Parking is free")
    await kit.settle()
    assert memory.memory_id in await found(kit, "door code")
    await kit.forget([memory.memory_id], scope=ALICE, reason="moved")
    assert memory.memory_id not in await found(kit, "door code")
    assert await found(kit, "door code", tags=["data_form:csv"]) == []
    assert [one.memory_id for one in await kit.memories(scope=ALICE)] == [other.memory_id]
    briefing = await kit.brief("what is the door code?", scope=ALICE)
    assert "blue-falcon" not in briefing.text
    said = subprocess.run(
        [sys.executable, "-c", SEARCHER, str(tmp_path)],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "blue-falcon" not in said
    assert said.strip().endswith(" 1")
    await kit.settle()
    checks = {check.name: check for check in await kit.doctor()}
    assert checks["index"].detail == "1 keys, 0 missing, 0 too many"


async def test_a_restored_memory_is_found_again_by_every_path(kit: Kit) -> None:
    memory = await written(kit, "Door code is blue-falcon")
    await kit.forget([memory.memory_id], scope=ALICE, reason="moved")
    restored = await kit.restore(memory.memory_id, scope=ALICE, reason="moved back")
    assert restored.status == memory.status
    assert await found(kit, "door code") == [memory.memory_id]
    await kit.settle()
    assert all(check.ok for check in await kit.doctor())
    with pytest.raises(NotFoundError):
        await kit.restore(memory.memory_id, scope=BOB)


async def test_writing_the_same_again_is_one_memory_that_a_search_prints_once(kit: Kit) -> None:
    """ST-11."""
    first = await written(kit, "Staging DB is read-only")
    lesson = kit.lesson("Staging DB is read-only", memory_type="semantic")
    forms = [*[lesson.content] * 30, " staging DB is  read-only. "]
    for form in forms:
        report = await kit.write(replace(lesson, content=form), scope=ALICE)
        assert report.memory is not None
        assert (report.memory.memory_id, report.duplicate) == (first.memory_id, True)
    assert len(await kit.memories(scope=ALICE)) == 1
    assert await found(kit, "is the staging DB read-only?") == [first.memory_id]


async def test_an_operation_that_is_tried_again_changes_nothing(kit: Kit) -> None:
    """ST-11, with a client that lost the answer."""
    lesson = kit.lesson("Staging DB is read-only", memory_type="semantic")
    first = await kit.write(replace(lesson, operation_id="op-1"), scope=ALICE)
    same = replace(lesson, content="Staging DB is read-only now", operation_id="op-1")
    again = await kit.write(same, scope=ALICE)
    assert (again.memory, again.duplicate) == (first.memory, True)
    for _ in range(3):
        await kit.write(replace(lesson, operation_id="op-2"), scope=ALICE)
    assert first.memory is not None
    kinds = [one.kind for one in await kit.history(first.memory.memory_id, scope=ALICE)]
    assert kinds == ["created", "verified"]
    other = await kit.write(replace(lesson, operation_id="op-1"), scope=BOB)
    assert not other.duplicate


async def test_composed_and_decomposed_accents_are_one(kit: Kit) -> None:
    """ST-13."""
    first = await written(kit, "Le caf\u00e9 ouvre \u00e0 huit heures")
    again = await written(kit, "Le cafe\u0301 ouvre a\u0300 huit heures")
    assert again.memory_id == first.memory_id
    for form in ("caf\u00e9", "cafe\u0301"):
        assert await found(kit, form) == [first.memory_id]
    edited = await kit.edit(
        first.memory_id, scope=ALICE, content="Le cafe\u0301 ouvre", cues=["cafe\u0301"]
    )
    assert (edited.content, edited.cues) == ("Le caf\u00e9 ouvre", ("caf\u00e9",))


async def test_purging_all_of_one_user_leaves_the_others(tmp_path: Path, clock: FixedClock) -> None:
    """IS-03."""
    names = {"alice": 3, "bob": 4, "shared": 2, "alice-2": 1, "Alice": 1}
    async with open_kit(tmp_path, clock) as kit:
        for name, number in names.items():
            for n in range(number):
                await written(kit, f"Shelf {n} of {name} holds paper", Scope(name))
        await kit.settle()
        await kit.purge_user(scope=ALICE)
    async with open_kit(tmp_path, clock) as again:
        for name, number in {**names, "alice": 0}.items():
            assert len(await again.memories(scope=Scope(name))) == number
            assert len(await found(again, "what holds paper?", Scope(name))) == number
        await again.settle()
        checks = {check.name: check for check in await again.doctor()}
        assert checks["index"].detail == "8 keys, 0 missing, 0 too many"


async def test_nothing_named_is_nothing_done(kit: Kit) -> None:
    """IS-07."""
    for n in range(5):
        await written(kit, f"Shelf {n} holds paper")
    store = await kit._parts.store(ALICE)  # pyright: ignore[reportPrivateUsage] - the door below
    for call in (
        kit.forget([], scope=ALICE, reason="r"),
        store.purge_memories(ALICE, []),
        kit.purge_memory("", scope=ALICE),
        kit.purge_memory("%", scope=ALICE),
        kit.purge_episode("", scope=ALICE),
        kit.purge_user(scope=Scope("alice", "cook")),
        kit.edit("*", scope=ALICE, content="x"),
    ):
        with pytest.raises(InputError):
            await call
    assert len(await kit.memories(scope=ALICE)) == 5
    assert await kit.memories(scope=ALICE, statuses=[]) == ()


async def test_what_has_expired_is_absent_from_every_path(kit: Kit, clock: FixedClock) -> None:
    """DC-08."""
    end = NOW + timedelta(minutes=1)
    lesson = replace(
        kit.lesson("Parking is free today", memory_type="semantic", tags=["data_form:csv"]),
        valid_to=end,
    )
    first = (await kit.write(lesson, scope=ALICE)).memory
    other = await written(kit, "Parking was full yesterday")
    assert first is not None
    await kit.settle()
    assert first.memory_id in await found(kit, "is parking free?")
    clock.advance(minutes=2)
    assert await found(kit, "is parking free?") == [other.memory_id]
    assert await found(kit, "parking", tags=["data_form:csv"]) == []
    assert [one.memory_id for one in await kit.memories(scope=ALICE)] == [other.memory_id]
    assert await kit.memories(scope=ALICE, tag=CSV) == ()
    with pytest.raises(NotFoundError):
        await kit.memory(first.memory_id, scope=ALICE)
    with pytest.raises(NotFoundError):
        await kit.edit(first.memory_id, scope=ALICE, content="Parking is free again")
    assert "free" not in (await kit.brief("is parking free?", scope=ALICE)).text
    again = await kit.write(replace(lesson, valid_to=None), scope=ALICE)
    assert again.memory is not None
    assert not again.duplicate
    assert again.memory.memory_id in await found(kit, "is parking free?")


async def test_an_end_that_an_edit_sets_counts_at_once(kit: Kit) -> None:
    memory = await written(kit, "Parking is free today")
    assert await found(kit, "is parking free?") == [memory.memory_id]
    await kit.edit(memory.memory_id, scope=ALICE, valid_to=NOW)
    assert await found(kit, "is parking free?") == []
    await kit.edit(memory.memory_id, scope=ALICE, valid_to=None)
    assert await found(kit, "is parking free?") == [memory.memory_id]


async def test_an_edit_passes_the_same_gate_as_a_new_memory(kit: Kit) -> None:
    memory = await written(kit, "The service has a key")
    key = "sk-proj-" + "a1B2" * 8
    edited = await kit.edit(
        memory.memory_id, scope=ALICE, content=f"The service key is {key}", cues=["c" * 500]
    )
    assert key not in edited.content
    assert "[secret]" in edited.content
    assert len(edited.cues[0]) <= 160
    with pytest.raises(InputError, match="at most"):
        await kit.edit(memory.memory_id, scope=ALICE, content="long " * 1_000)
    remembered = await kit.remember("The fiscal year starts in April", scope=ALICE)
    assert remembered.memory is not None
    with pytest.raises(InputError, match="came from the user"):
        await kit.edit(remembered.memory.memory_id, scope=ALICE, content="x", actor="agent")
    history = await kit.history(memory.memory_id, scope=ALICE)
    assert key not in "".join(f"{one.old}{one.new}" for one in history)


@pytest.mark.parametrize(
    "text", ["nul \x00 byte", "half \ud83d pair", "long " * 200, "cafe\u0301 绿茶 🍵", "\ufffe end"]
)
async def test_any_text_goes_in_by_any_door(kit: Kit, text: str) -> None:
    memory = await written(kit, f"Shelf holds {text}", cues=[text])
    lesson: Lesson = kit.lesson(f"Box holds {text}", memory_type="semantic")
    await kit.write(replace(lesson, operation_id=text[:200], intent=text), scope=ALICE)
    await kit.write(replace(lesson, operation_id=text[:200]), scope=ALICE)
    await kit.remember(f"Drawer holds {text}", scope=ALICE)
    await kit.edit(memory.memory_id, scope=ALICE, content=f"Rack holds {text}", reason=text)
    result = await kit.recall(f"what holds {text}?", scope=ALICE, session_id=text[:200])
    assert result.hits
    verdict = Verdict(
        memory_id=result.hits[0].memory.memory_id, kind="helpful", source="person", reason=text
    )
    await kit.feedback(result.retrieval_id, [verdict], scope=ALICE)
    assert len(await kit.retrievals(scope=ALICE, session_id=text[:200])) == 1
    agent = Agent(
        scripted_with(Script([f"noted {text}"])), capabilities=[Hindsight(kit, user_id="alice")]
    )
    await agent.run(f"Please look at {text}")
    await kit.background.join()
    (episode,) = await kit.episodes(scope=ALICE)
    assert (await kit.trajectory(episode.episode_id, scope=ALICE)).steps
    await kit.reflect()
    await kit.forget([memory.memory_id], scope=ALICE, reason=text)
    await kit.restore(memory.memory_id, scope=ALICE, reason=text)
    assert len(await kit.history(memory.memory_id, scope=ALICE)) >= 4
    report = await kit.purge_user(scope=ALICE)
    assert report.left == ()
    assert report.erased["memories"] >= 3
