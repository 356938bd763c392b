"""A project moves from SQLite to PostgreSQL through the command line and answers the same."""

import asyncio
import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import get_args

import pytest

from agentkit import Kit
from agentkit.cli.edge import run
from agentkit.records import Lesson, MemoryType, Scope
from agentkit.store import Store
from agentkit.testing import FixedClock, HashEmbedder

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
SCOPES = (Scope("alice"), Scope("Alice"), Scope("alice", "clerk"), Scope("用户"))
# What the commands are told: they have no double, and embed nothing while they move.
SETTING = {"hash": "none", "local": "local"}
TYPES: tuple[MemoryType, ...] = get_args(MemoryType)
TAGS: tuple[list[str], ...] = (["tool:csv"], ["domain:财务", "tool:sql"], [], ["tool:excel"])
TEXTS = tuple(
    f"{subject} {rule}"
    for subject, rule in product(
        ("Invoices", "Monthly reports", "Customer lists", "The orders table"),
        ("are archived on the third floor", "go out on Fridays", "have gaps filled by the median"),
    )
) + tuple(
    f"{subject}{rule}"
    for subject, rule in product(("发票", "月度报表", "客户名单"), ("存放在三楼", "每周五发送"))
)
QUESTIONS = (
    "where are invoices kept?",
    "when do the reports go out?",
    "how are gaps in orders filled?",
    "customers",
    "发票在哪里",
    "报表什么时候发送",
    "客户名单放在三楼吗",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """One line of an answer: what came, or what did not and why."""

    memory_id: str
    score: float
    said: str


def made(root: Path, **settings: str | None) -> Path:
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    lines = [f"{name}: {json.dumps(value)}\n" for name, value in settings.items()]
    (root / "agentkit.yaml").write_text("index: none\n" + "".join(lines), encoding="utf-8")
    return root


def opened(root: Path, clock: FixedClock, embedder: str) -> Kit:
    double = HashEmbedder() if embedder == "hash" else None
    return Kit.open(root, clock=clock, embedder=double, worker="external")


async def fill(kit: Kit, clock: FixedClock) -> None:
    """Give every scope memories of every type, at different times, some of them ended."""
    for place, (scope, text) in enumerate(product(SCOPES, TEXTS)):
        clock.advance(hours=7)
        confidence = 0.3 + 0.05 * (place % 13)
        kind = TYPES[place % len(TYPES)]
        lesson = kit.lesson(
            text, memory_type=kind, tags=TAGS[place % len(TAGS)], confidence=confidence
        )
        own = replace(lesson, source="user" if place % 5 == 0 else "agent")
        report = await kit.write(with_cue(own, place), scope=scope)
        assert report.memory is not None
        if place % 7 == 3:
            await kit.forget([report.memory.memory_id], scope=scope, reason="wrong")
    for scope in SCOPES:
        held = await kit.memories(scope=scope)
        ended = [memory for memory in held if memory.scope == scope][:3]
        store: Store = await kit._parts.store(scope)  # pyright: ignore[reportPrivateUsage] - no door does it
        await store.change_status(
            scope,
            ended[0].memory_id,
            "superseded",
            actor="person",
            reason="newer",
            superseded_by=ended[1].memory_id,
        )
        await store.change_status(scope, ended[2].memory_id, "disputed", actor="t", reason="?")


def with_cue(lesson: Lesson, place: int) -> Lesson:
    return replace(lesson, cues=(f"cue {place % 4}", "归档") if place % 3 == 0 else ())


async def answers(root: Path, at: datetime, embedder: str) -> list[list[Answer]]:
    """Ask 100 questions, over every scope, with and without filters."""
    clock = FixedClock(at)
    told: list[list[Answer]] = []
    async with opened(root, clock, embedder) as kit:
        asked = list(product(SCOPES, (*QUESTIONS, *TEXTS)))[:100]
        for place, (scope, text) in enumerate(asked):
            query = kit.query(
                text,
                top_k=1 + place % 12,
                memory_type=TYPES[place % 3] if place % 4 == 1 else None,
                tags=["tool:csv"] if place % 9 == 4 else None,
                include_archived=place % 2 == 0,
            )
            found = await kit.recall(query, scope=scope)
            # A recall is counted a moment later, and the next one would show the count or not.
            await kit.background.join()
            assert not found.timed_out
            hits = [Answer(hit.memory.memory_id, hit.score, hit.explanation) for hit in found.hits]
            pool = [Answer(one.memory_id, one.score, str(one.why_not)) for one in found.pool]
            told.append(hits + pool)
    assert len(told) == 100
    return told


@pytest.mark.parametrize("embedder", ["hash", pytest.param("local", marks=pytest.mark.slow)])
async def test_a_hundred_questions_are_answered_the_same_after_moving_to_postgresql(
    tmp_path: Path, postgres_url: str, capsys: pytest.CaptureFixture[str], embedder: str
) -> None:
    source = made(tmp_path / "source", embedder=SETTING[embedder])
    target = made(tmp_path / "target", embedder=SETTING[embedder], database_url=postgres_url)
    clock = FixedClock(NOW)
    async with opened(source, clock, embedder) as kit:
        await fill(kit, clock)
        await kit.settle()
        await kit.reflect()
    file = str(tmp_path / "all.jsonl.gz")
    await shell("export", "--all", "-o", file, "--project", str(source))
    await shell("restore", file, "--project", str(target))
    capsys.readouterr()
    later = clock() + timedelta(days=40)
    before, after = await answers(source, later, embedder), await answers(target, later, embedder)
    assert sum(map(len, before)) > 1_000
    for one, other in zip(before, after, strict=True):
        assert [(line.memory_id, line.said) for line in one] == [
            (line.memory_id, line.said) for line in other
        ]
        assert [line.score for line in other] == pytest.approx(
            [line.score for line in one], rel=1e-9, abs=0
        )


async def shell(*words: str) -> None:
    """Run a command as a shell does, on a thread that has no event loop yet."""
    assert await asyncio.to_thread(run, list(words)) == 0
