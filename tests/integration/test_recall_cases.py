"""Cases of people who asked other memory stores, at the doors of the kit.

RC-01 to RC-06, RC-08 and RC-09 of the collected cases. Where the project decided otherwise than a
case, the test holds the case's policy and the project's default, and says so.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from agentkit import Hindsight, Kit
from agentkit.cli.edge import run
from agentkit.errors import TemplateError
from agentkit.evaluation.importers import read_recordings
from agentkit.recall import rescore
from agentkit.records import Memory, RecallResult, Scope
from agentkit.serve.tools import MemoryTools
from agentkit.store import NewMemory
from agentkit.testing import (
    FixedClock,
    HashEmbedder,
    Script,
    TableEmbedder,
    new_memory,
    scripted_agent,
)
from tests.databases import DATABASES, database_of
from tests.recall_scope import at_cosine

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
ALICE, BOB = Scope("alice"), Scope("bob")
QUESTION = "which one?"
TAXONOMY = """
version: 1
facets:
  topic:
    description: What it is about.
    values:
      alpha: {description: The first.}
      beta: {description: The second.}
      alphabet: {description: Another word.}
      nope: {description: Never used.}
"""
STRICT = "tags: {relax_below: 0}\n"


def open_kit(
    folder: Path,
    *,
    url: str | None = None,
    policy: str = "",
    clock: FixedClock | None = None,
    embedder: HashEmbedder | TableEmbedder | None = None,
) -> Kit:
    """Open a project with a taxonomy of its own, and time enough on a busy machine."""
    (folder / "memory").mkdir(parents=True, exist_ok=True)
    (folder / "memory" / "taxonomy.yaml").write_text(TAXONOMY, encoding="utf-8")
    (folder / "memory" / "recall.yaml").write_text(f"timeout_s: 60\n{policy}", encoding="utf-8")
    return Kit.open(
        folder,
        embedder=embedder or TableEmbedder({QUESTION: (1.0, 0.0)}),
        clock=clock or FixedClock(NOW),
        database_url=url,
        index="none",
        worker="external",
    )


def at(cosine: float, memory: NewMemory) -> NewMemory:
    """A memory whose content is at a cosine to the question."""
    return replace(memory, vectors=at_cosine(cosine)[None])


async def added(kit: Kit, scope: Scope, new: Sequence[NewMemory]) -> list[Memory]:
    store = await kit._parts.store(scope)  # pyright: ignore[reportPrivateUsage] - the door below
    return [one.memory for one in await store.add(scope, new, actor="test")]


def ids(result: RecallResult) -> list[str]:
    return [hit.memory.memory_id for hit in result.hits]


@pytest.mark.parametrize(
    ("database", "size"),
    [
        *[(database, 65) for database in DATABASES],
        ("sqlite", 6_500),
        pytest.param("sqlite", 65_000, marks=pytest.mark.slow),
    ],
)
async def test_a_crowd_that_the_filter_leaves_out_never_starves_a_result(
    request: pytest.FixtureRequest, tmp_path: Path, database: str, size: int
) -> None:
    """RC-01: the crowd is another user's, another agent's, and what the filters leave out."""
    start = datetime(2026, 11, 1, tzinfo=UTC)

    def few(scope: str) -> list[NewMemory]:
        return [
            at(
                0.6,
                new_memory(
                    f"{scope} {number}",
                    tags=("topic:alpha",),
                    created_at=start + timedelta(days=number - 1),
                ),
            )
            for number in range(5)
        ]

    def crowd(scope: str) -> list[NewMemory]:
        old = start - timedelta(days=1)
        return [
            at(0.99, new_memory(f"{scope} crowd {number}", created_at=old))
            for number in range((size - 5) // 3)
        ]

    async with open_kit(tmp_path, url=database_of(request, database, tmp_path)) as kit:
        await added(kit, BOB, crowd("bob"))
        await added(kit, Scope("alice", "bob"), crowd("agent"))
        hers = await added(kit, ALICE, few("alice"))
        assert len(ids(await kit.recall(QUESTION, scope=ALICE))) == 5
        await added(kit, ALICE, crowd("alice"))
        wanted = {one.memory_id for one in hers}
        tagged = await kit.recall(kit.query(QUESTION, tags=["alpha"]), scope=ALICE)
        assert set(ids(tagged)) == wanted
        dated = await kit.recall(kit.query(QUESTION, within=(start, None)), scope=ALICE)
        assert set(ids(dated)) == {one.memory_id for one in hers[1:]}
        both = kit.query(QUESTION, tags=["alpha"], within=(start, None))
        assert set(ids(await kit.recall(both, scope=ALICE))) == set(ids(dated))


async def test_a_score_is_a_similarity_higher_is_better(tmp_path: Path) -> None:
    """RC-02, its first half."""
    async with open_kit(tmp_path) as kit:
        new = [at(cosine, new_memory(f"item {cosine}")) for cosine in (0.0, 1.0, 0.8)]
        c, a, b = await added(kit, ALICE, new)
        result = await kit.recall(kit.query(QUESTION, top_k=3), scope=ALICE)
        assert ids(result) == [one.memory_id for one in (a, b, c)]
        assert [hit.similarity for hit in result.hits] == pytest.approx([1.0, 0.8, 0.0], abs=1e-3)
        scores = [hit.score for hit in result.hits]
        assert scores == sorted(scores, reverse=True)
        answer = await MemoryTools(kit, ALICE).call("memory_search", {"query": QUESTION})
        shown = cast("list[dict[str, float]]", answer["hits"])
        assert [hit["similarity"] for hit in shown] == pytest.approx([1.0, 0.8, 0.0], abs=1e-3)


CARRIED = (("alpha",), ("beta",), ("alpha", "beta"), ("alphabet",))
ASKED: tuple[tuple[tuple[str, str], str, list[str]], ...] = (
    (("alpha", "beta"), "all", ["m3"]),
    (("alpha", "beta"), "any", ["m1", "m2", "m3"]),
    (("alpha", "nope"), "all", []),
)


@pytest.mark.parametrize("policy", [STRICT, ""])
def test_all_tags_means_all_at_every_door_and_the_answer_says_what_was_applied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str
) -> None:
    """RC-03.

    By default a tag filter that leaves nothing is dropped, and the answer says so; with
    `tags.relax_below: 0` it answers with nothing, as in the case.
    """
    names: dict[str, str] = {}

    async def through_kit() -> list[tuple[str, dict[str, Any]]]:
        answers: list[tuple[str, dict[str, Any]]] = []
        async with open_kit(tmp_path, policy=policy, embedder=HashEmbedder()) as kit:
            tools = MemoryTools(kit, ALICE)
            for number, tags in enumerate(CARRIED, start=1):
                text = f"Shelf {number} holds paper"
                report = await kit.write(
                    kit.lesson(text, memory_type="semantic", tags=list(tags)), scope=ALICE
                )
                assert report.memory is not None
                names[report.memory.memory_id] = f"m{number}"
            for tags, match, _ in ASKED:
                asked = {"query": "which shelf holds paper?", "tags": list(tags), "match": match}
                answers.append(("mcp", await tools.call("memory_search", asked)))
                joined = asked | {"tags": ",".join(tags)}
                answers.append(("one text", await tools.call("memory_search", joined)))
        return answers

    (tmp_path / "agentkit.yaml").write_text("index: none\nembedder: none\n", encoding="utf-8")
    answers = asyncio.run(through_kit())
    for tags, match, _ in ASKED:
        words = [word for tag in tags for word in ("--tag", tag)]
        own = ["--user", "alice", "--project", str(tmp_path), "--match", match, "--json"]
        assert run(["recall", "which shelf holds paper?", *words, *own]) == 0
        answers.append(("command line", json.loads(capsys.readouterr().out)))
    by_case = [ASKED[number // 2] for number in range(2 * len(ASKED))] + list(ASKED)
    for (door, answer), (tags, match, wanted) in zip(answers, by_case, strict=True):
        found = sorted(names[hit["memory_id"]] for hit in answer["hits"])
        assert answer["applied"]["match"] == match, door
        assert answer["applied"]["tags"] == [f"topic:{tag}" for tag in tags], door
        if wanted or policy == STRICT:
            assert (found, answer["relaxations"]) == (wanted, []), door
        else:
            assert found == ["m1", "m2", "m3", "m4"], door
            assert answer["relaxations"] == [
                "dropped the filter topic:alpha, topic:nope: with it no memory was left"
            ], door


@pytest.mark.parametrize("size", [4_000, pytest.param(40_000, marks=pytest.mark.slow)])
async def test_a_row_without_a_vector_breaks_no_search_and_is_mended(
    tmp_path: Path, size: int
) -> None:
    """RC-04: the least similar of all counts like one without a vector, newest first."""
    alpha = ("topic:alpha",)
    table = {QUESTION: (1.0, 0.0), "the second": (0.0, 1.0)}
    async with open_kit(tmp_path, policy=STRICT, embedder=TableEmbedder(table)) as kit:
        m1, m2, m3 = await added(
            kit,
            ALICE,
            [
                at(0.9, new_memory("the first", tags=alpha)),
                new_memory("the second", tags=alpha),
                at(0.5, new_memory("the third", tags=alpha)),
            ],
        )
        tagged = kit.query(QUESTION, tags=["alpha"], top_k=50)
        result = await kit.recall(tagged, scope=ALICE)
        assert ids(result)[0] == m1.memory_id
        assert set(ids(result)) == {one.memory_id for one in (m1, m2, m3)}
        assert result.degraded == "1 memories have no vector yet: ranked by words alone"
        await kit.background.join(lane="log")
        (kept,) = await kit.retrievals(scope=ALICE)
        assert kept.result.degraded == result.degraded
        (check,) = [check for check in await kit.doctor() if check.name == "vectors"]
        assert check.detail.startswith("1 keys without a vector")
        assert check.fix
        await kit.settle()
        mended = await kit.recall(tagged, scope=ALICE)
        assert (set(ids(mended)), mended.degraded) == (set(ids(result)), "")
        assert ids(await kit.recall(kit.query(QUESTION, tags=["nope"]), scope=ALICE)) == []
        many = [at(0.4, new_memory(f"item {number}", tags=alpha)) for number in range(size)]
        await added(kit, ALICE, many)
        result = await kit.recall(tagged, scope=ALICE)
        assert ids(result)[:2] == [m1.memory_id, m3.memory_id]
        assert len(result.hits) == 50


async def test_being_recalled_often_does_not_pin_a_memory_on_top(tmp_path: Path) -> None:
    """RC-05: counts come from recalls alone, once each, and do not rank by default."""
    async with open_kit(tmp_path) as kit:
        cues = ("first cue", "second cue")
        often = replace(new_memory("often"), vectors=np.stack([at_cosine(0.80)] * 3))
        often = replace(often, lesson=replace(often.lesson, cues=cues))
        (a,) = await added(kit, ALICE, [often])
        await kit.recall(QUESTION, scope=ALICE)
        await kit.background.join(lane="log")
        (kept,) = await kit.retrievals(scope=ALICE)
        store = await kit._parts.store(ALICE)  # pyright: ignore[reportPrivateUsage] - the door below
        for number in range(499):
            await store.log_retrieval(replace(kept, retrieval_id=f"again-{number}"))
        (b,) = await added(kit, ALICE, [at(0.85, new_memory("never"))])

        async def counts() -> list[int]:
            await kit.background.join(lane="log")
            return [(await kit.memory(one.memory_id, scope=ALICE)).recalled_count for one in (a, b)]

        assert await counts() == [500, 0]
        for number in range(20):
            result = await kit.recall(QUESTION, scope=ALICE)
            assert ids(result) == [b.memory_id, a.memory_id]
            assert await counts() == [501 + number, 1 + number]
        before = await counts()
        await kit.recall(QUESTION, scope=ALICE, as_of=NOW)
        log = await kit.retrievals(scope=ALICE, limit=600)
        for one in log:
            rescore(
                one.result.pool,
                normalisers=one.result.normalisers,
                policy=kit.policy.recall,
                decay=kit.policy.decay,
            )
        other = HashEmbedder(2)
        await kit.fill_embedder(other)
        assert await kit.compare_embedders(other, queries=20) is not None
        assert await counts() == before


async def test_a_time_window_finds_memories_whatever_way_they_came_in(tmp_path: Path) -> None:
    """RC-06."""
    day = datetime(2026, 11, 15, 9, 30, tzinfo=UTC)
    clock = FixedClock(day)
    async with open_kit(tmp_path, clock=clock, embedder=HashEmbedder()) as kit:
        tools = MemoryTools(kit, ALICE)
        offset = datetime.fromisoformat("2026-11-15T17:30:00+08:00")
        await added(kit, ALICE, [new_memory("The pump was oiled by hand", created_at=offset)])
        note = {"content": "The pump has a new seal", "memory_type": "semantic"}
        await tools.call("memory_write", note)
        lines = [
            {
                "messages": [
                    {"role": "user", "content": text},
                    {"role": "assistant", "content": "It runs."},
                ],
                "ended_at": ended_at,
            }
            for text, ended_at in (
                ("Check the pump of hall one", day.timestamp()),
                ("Check the pump of hall two", day.timestamp() * 1_000),
            )
        ]
        file = tmp_path / "chat.jsonl"
        file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
        clock.advance(days=15)
        await kit.import_recordings(read_recordings(file).recordings, scope=ALICE)
        await kit.settle()
        asked = {"query": "what about the pump?", "within": "2026-11-01/..", "top_k": 10}
        answer = await tools.call("memory_search", asked)
        shown = cast("list[dict[str, str]]", answer["hits"])
        assert [hit["created_at"] for hit in shown] == [day.isoformat()] * 4
        assert len({hit["content"] for hit in shown}) == 4
        outside = await tools.call("memory_search", asked | {"within": "../2026-11-14"})
        assert outside["hits"] == []

        past = await kit.recall("what about the pump?", scope=ALICE, as_of="2020-01-01")
        assert past.hits == ()
        await kit.background.join(lane="log")
        (kept,) = [one for one in await kit.retrievals(scope=ALICE) if one.query.as_of]
        assert kept.query.as_of == datetime(2020, 1, 1, tzinfo=UTC)
        assert kept.asked_at == clock()


TIED = 20


async def all_pages(kit: Kit) -> list[str]:
    """Ids of all memories, three a page."""
    pages = [await kit.memories(scope=ALICE, limit=3, offset=at) for at in range(0, TIED + 3, 3)]
    return [memory.memory_id for page in pages for memory in page]


@pytest.mark.parametrize("step", [1, -1])
async def test_equal_scores_come_back_in_one_order_everywhere(
    request: pytest.FixtureRequest, tmp_path: Path, step: int
) -> None:
    """RC-08: newest first, then by id, on each database and after a restart.

    A recall has no pages, it has `top_k`; a list of memories has them.
    """
    urls = {kind: database_of(request, kind, tmp_path) for kind in DATABASES}
    file = tmp_path / "export.jsonl"
    seen: dict[str, list[str]] = {}
    for kind, url in urls.items():
        async with open_kit(tmp_path, url=url) as kit:
            if kind == "sqlite":
                new = [
                    at(0.7, new_memory(f"item {number}", created_at=NOW - timedelta(number // 10)))
                    for number in range(TIED)
                ]
                await added(kit, ALICE, new[::step])
                await kit.export_to(file, scope=ALICE)
            else:
                await kit.restore_from(file)
            everything = await kit.memories(scope=ALICE, limit=100)
            rule = sorted(everything, key=lambda one: (-one.created_at.timestamp(), one.memory_id))
            seen[kind] = [one.memory_id for one in rule]
            for _ in range(50):
                assert (
                    ids(await kit.recall(kit.query(QUESTION, top_k=3), scope=ALICE))
                    == (seen[kind][:3])
                )
        async with open_kit(tmp_path, url=url) as kit:
            result = await kit.recall(kit.query(QUESTION, top_k=TIED), scope=ALICE)
            assert len({hit.score for hit in result.hits}) == 2, "one score for each day"
            assert ids(result) == seen[kind]
            assert await all_pages(kit) == seen[kind]
    assert seen["sqlite"] == seen["postgresql"]


async def test_recalled_memories_reach_a_model_whose_own_prompt_has_no_place_for_them(
    tmp_path: Path,
) -> None:
    """RC-09: the block goes beside the prompt, so no prompt can leave it out."""
    script = Script(["It is called Petrel."])
    async with open_kit(tmp_path, embedder=HashEmbedder()) as kit:
        await kit.remember("The boat is called Petrel", scope=ALICE)
        agent = scripted_agent(
            script,
            instructions="You are a harbour clerk. Today is {{ date }}.",
            capabilities=[Hindsight(kit, user_id="alice")],
        )
        await agent.run("What is the boat called?")
        await kit.background.join()
    assert "The boat is called Petrel" in script.sent(0)


async def test_a_briefing_that_could_not_show_its_memories_is_refused_by_name(
    tmp_path: Path,
) -> None:
    """RC-09: the one prompt that has to have the place says so where it is checked."""
    (tmp_path / "prompts").mkdir()
    own = tmp_path / "prompts" / "briefing.en.md.j2"
    own.write_text("You know a lot about boats.\n", encoding="utf-8")
    async with open_kit(tmp_path, embedder=HashEmbedder()) as kit:
        await kit.remember("The boat is called Petrel", scope=ALICE)
        with pytest.raises(TemplateError, match="never uses 'memories'"):
            await kit.brief("What is the boat called?", scope=ALICE)
        (problem,) = kit.templates.check()
        assert "never uses 'memories'" in str(problem)
