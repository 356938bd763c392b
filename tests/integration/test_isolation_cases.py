"""Cases of people whose memory reached others, on every database and in both modes of isolation.

IS-01, IS-05, IS-06 and IS-08 of the collected cases; the others have tests beside what they are
about.
"""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from agentkit import Kit
from agentkit.cli.edge import run
from agentkit.errors import InputError, NotFoundError
from agentkit.records import RESERVED, Scope
from agentkit.serve.tools import MemoryTools
from agentkit.testing import HashEmbedder
from tests.databases import DATABASES, database_of

FAMILY = ("acme", "acme-corp", "acme/eu", "acme%", "acm_", "Acme")
SECRET = "The safe is behind the map"


@pytest.fixture(params=[*DATABASES, "a store each"])
async def kit(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Kit]:
    """A project with time enough on a busy machine."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    is_split = request.param == "a store each"
    async with Kit.open(
        tmp_path,
        embedder=HashEmbedder(),
        database_url=None if is_split else database_of(request, request.param, tmp_path),
        isolation="physical" if is_split else "logical",
        index="none",
        worker="external",
    ) as opened:
        yield opened


async def remembered(kit: Kit, text: str, scope: Scope) -> str:
    report = await kit.remember(text, scope=scope)
    assert report.memory is not None
    return report.memory.memory_id


async def test_a_name_that_begins_like_another_shares_nothing_with_it(
    kit: Kit, tmp_path: Path
) -> None:
    """IS-01."""
    ids: dict[str, str] = {}
    for name in FAMILY:
        ids[name] = await remembered(kit, f"The plan of {name} is ready", Scope(name))
    for name in FAMILY:
        scope = Scope(name)
        assert [one.memory_id for one in await kit.memories(scope=scope)] == [ids[name]]
        hits = (await kit.recall("whose plan is ready?", scope=scope)).hits
        assert [hit.memory.memory_id for hit in hits] == [ids[name]]
        file = tmp_path / "export.jsonl"
        await kit.export_to(file, scope=scope)
        held = file.read_text(encoding="utf-8")
        assert [one for one in FAMILY if ids[one] in held] == [name]
    await kit.purge_user(scope=Scope("acme"))
    assert await kit.memories(scope=Scope("acme")) == ()
    for name in FAMILY[1:]:
        assert [one.memory_id for one in await kit.memories(scope=Scope(name))] == [ids[name]]
        assert (await kit.recall("whose plan is ready?", scope=Scope(name))).hits


async def test_what_an_agent_keeps_is_seen_by_no_other_agent_on_any_path(kit: Kit) -> None:
    """IS-05."""
    owner, other = Scope("alice", "keeper"), Scope("alice", "visitor")
    lesson = kit.lesson(SECRET, memory_type="semantic", tags=["data_form:csv"], cues=["the safe"])
    report = await kit.write(lesson, scope=owner)
    assert report.memory is not None
    memory_id = report.memory.memory_id
    asked = await kit.recall("where is the safe?", scope=owner)
    await kit.background.join(lane="log")
    assert [hit.memory.memory_id for hit in asked.hits] == [memory_id]

    for query in ("where is the safe?", SECRET, "map"):
        for tags in (None, ["data_form:csv"]):
            found = await kit.recall(kit.query(query, tags=tags), scope=other)
            assert (found.hits, found.pool) == ((), ())
        assert "safe" not in (await kit.brief(query, scope=other)).text
    for tag in (None, *report.memory.tags):
        assert await kit.memories(scope=other, tag=tag) == ()
    for look in (kit.memory, kit.history, kit.links):
        with pytest.raises(NotFoundError):
            await look(memory_id, scope=other)
    await kit.background.join(lane="log")
    assert memory_id not in repr(await kit.retrievals(scope=other))
    assert asked.retrieval_id not in repr(await kit.retrievals(scope=other))
    assert await kit.jobs(scope=other) == ()
    with pytest.raises(InputError):
        await kit.export_to("export.jsonl", scope=other)


@pytest.mark.parametrize("name", ["user", "user_id", "agent_id", "scope", "filter", "where"])
async def test_a_caller_cannot_widen_its_scope_by_arguments(kit: Kit, name: str) -> None:
    """IS-05 and IS-06."""
    await remembered(kit, SECRET, Scope("alice"))
    tools = MemoryTools(kit, Scope("bob"))
    calls: tuple[tuple[str, dict[str, object]], ...] = (
        ("memory_search", {"query": "safe"}),
        ("memory_write", {"content": "x", "memory_type": "semantic"}),
        ("memory_forget", {"memory_id": "x", "reason": "x"}),
    )
    for tool, arguments in calls:
        for given in ("alice", {"user_id": "alice"}):
            with pytest.raises(InputError, match=name):
                await tools.call(tool, {**arguments, name: given})
    assert (await tools.call("memory_search", {"query": "safe"}))["hits"] == []
    assert await kit.memories(scope=Scope("bob")) == ()
    assert len(await kit.memories(scope=Scope("alice"))) == 1


async def test_every_argument_that_a_tool_advertises_is_used(kit: Kit) -> None:
    """IS-06."""
    tools = MemoryTools(kit, Scope("alice"))
    written = await tools.call(
        "memory_write",
        {
            "content": SECRET,
            "memory_type": "procedural",
            "tags": ["data_form:csv"],
            "confidence": 0.65,
            "cues": ["keys are lost"],
        },
    )
    memory = await kit.memory(str(written["memory_id"]), scope=Scope("alice"))
    assert (memory.content, memory.memory_type) == (SECRET, "procedural")
    assert [str(tag) for tag in memory.tags] == ["data_form:csv"]
    assert memory.confidence == pytest.approx(0.65)
    assert memory.cues == ("keys are lost",)

    async def number(**arguments: object) -> int:
        wide: dict[str, object] = {"query": "safe", "min_confidence": 0}
        answer = await tools.call("memory_search", wide | arguments)
        return len(cast("list[object]", answer["hits"]))

    assert await number() == 1
    assert await number(memory_type="semantic") == 0
    assert await number(min_confidence=0.7) == 0
    await remembered(kit, "The safe is green", Scope("alice"))
    assert await number() == 2
    assert await number(top_k=1) == 1
    assert await number(tags=["data_form:csv"]) == 1
    assert await number(tags=["data_form:csv", "domain:finance"], match="any") == 1


async def test_a_name_that_means_everybody_opens_nothing(kit: Kit) -> None:
    """IS-08."""
    await remembered(kit, SECRET, Scope("alice"))
    for name in (*sorted(RESERVED), "", " ", "ALL"):
        with pytest.raises(InputError):
            kit.scope(name)
        with pytest.raises(InputError):
            kit.scope("alice", name)


async def test_reading_makes_no_user(kit: Kit, tmp_path: Path) -> None:
    """IS-08: whoever was only looked for has no store, and is in no copy."""
    await remembered(kit, SECRET, Scope("alice"))

    def folders() -> set[Path]:
        return {path for path in tmp_path.rglob("*") if path.is_dir()}

    checks, before = await kit.doctor(), folders()
    ghost = Scope("ghost")
    for _ in range(100):
        assert await kit.memories(scope=ghost) == ()
        assert await kit.jobs(scope=ghost) == ()
        assert await kit.episodes(scope=ghost) == ()
        assert await kit.retrievals(scope=ghost) == ()
    for look in (kit.memory, kit.history, kit.links, kit.episode, kit.trajectory):
        with pytest.raises(NotFoundError):
            await look("ghost", scope=ghost)
    with pytest.raises(InputError):
        await kit.export_to(tmp_path / "ghost.jsonl", scope=ghost)
    assert folders() == before
    assert [check.name for check in await kit.doctor()] == [check.name for check in checks]
    memory_id = await remembered(kit, "The ghost writes", ghost)
    assert [one.memory_id for one in await kit.memories(scope=ghost)] == [memory_id]


def test_a_shell_shows_nothing_of_another_user(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """IS-05: every command that reads answers of a foreign id what it answers of a missing one."""
    (tmp_path / "agentkit.yaml").write_text("index: none\nembedder: none\n", encoding="utf-8")

    def said(*words: str) -> tuple[int, str]:
        code = run([*words, "--project", str(tmp_path), "--json"])
        captured = capsys.readouterr()
        return code, captured.out + captured.err

    code, answer = said("remember", SECRET, "--user", "alice")
    assert code == 0
    memory_id = str(json.loads(answer)["memory_id"])
    for words in (
        ("memories", "show"),
        ("memories", "history"),
        ("memories", "restore"),
        ("memories", "edit", "--content", "mine now"),
        ("purge", "--yes", "--memory"),
    ):
        foreign = said(*words, memory_id, "--user", "bob")
        missing = said(*words, "ghost", "--user", "bob")
        assert foreign[0] == missing[0] != 0, words
        assert foreign[1].replace(memory_id, "ID") == missing[1].replace("ghost", "ID")
        assert "NotFoundError" in foreign[1]
    for words in (("recall", "where is the safe?"), ("memories", "list")):
        code, answer = said(*words, "--user", "bob")
        assert code == 0
        assert SECRET not in answer
        assert memory_id not in answer
    assert SECRET in said("memories", "list", "--user", "alice")[1]
