"""A project in which everything has happened that an export must carry."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agentkit import Kit
from agentkit.evaluation.importers import read_recordings
from agentkit.records import Memory, MemoryLink, Scope, Step, Verdict
from agentkit.store import FolderBlobs, Store
from agentkit.testing import FixedClock, HashEmbedder, new_memory

NOW = datetime(2026, 11, 30, 9, 30, tzinfo=UTC)
SESSIONS = Path(__file__).resolve().parent.parent / "evals" / "sessions" / "office.openai.jsonl"
QUERIES = (
    "some order amounts are missing, fill them in",
    "the customer list shows strange letters",
    "why are the invoice totals doubled?",
    "refund after the return window",
    "which language for the monthly report?",
    "orders per local day",
    "cancel the saver booking",
    "where do invoices go?",
    "发票存放在哪里",
    "how are reports exported?",
)


def kit_at(root: Path, *, clock: FixedClock | None = None) -> Kit:
    """Open a project whose answers do not depend on a model or on the time of day."""
    (root / "memory").mkdir(parents=True, exist_ok=True)
    (root / "memory" / "recall.yaml").write_text("timeout_s: 60\n", encoding="utf-8")
    return Kit.open(
        root,
        clock=clock or FixedClock(NOW),
        embedder=HashEmbedder(),
        index="none",
        worker="external",
    )


def store_at(root: Path, *, clock: FixedClock | None = None, name: str = "hash") -> Store:
    """Open the store of such a project, as another process does."""
    state = root / ".agentkit"
    state.mkdir(parents=True, exist_ok=True)
    return Store.open(
        database_url=f"sqlite:///{state / 'agentkit.db'}",
        blobs=FolderBlobs(state / "trajectories"),
        index_path=None,
        embedder=HashEmbedder(name=name),
        clock=clock or FixedClock(NOW),
    )


async def live_in(root: Path, user: str, *, mark: str = "lived", sessions: int = 3) -> None:
    """Let a user's memory go through everything there is.

    Args:
        root: The project.
        user: Whose memory.
        mark: A word that stands in every text of this user.
        sessions: Recorded tasks to import, at least 1; the last is never reflected on.
    """
    clock = FixedClock(NOW)
    kit = kit_at(root, clock=clock)
    scope = kit.scope(user)
    await _import_marked(kit, scope, root, mark=mark, number=sessions - 1)
    await kit.reflect(scope=scope)
    clock.advance(minutes=5)
    await _import_marked(kit, scope, root, mark=mark, number=sessions)
    await kit.remember(f"Invoices are archived on the third floor {mark}", scope=scope)
    clock.advance(hours=1)
    for query in QUERIES[:4]:
        found = await kit.recall(query, scope=scope, session_id="daily")
        for hit in found.hits[:1]:
            said = Verdict(
                memory_id=hit.memory.memory_id, kind="helpful", source="person", reason=mark
            )
            await kit.feedback(found.retrieval_id, [said], scope=scope)
    await kit.background.join()
    await kit.aclose()
    store = store_at(root, clock=clock)
    await _fail_a_job(store, scope)
    await _change_memories(store, scope, mark=mark)
    await _leave_a_task_open(store, scope, mark=mark)
    await store.settle()
    await store.close()


async def answers(root: Path, user: str, queries: Sequence[str] = QUERIES) -> list[object]:
    """Return everything that recall says to queries, but for the ids of the recalls."""
    kit = kit_at(root, clock=FixedClock(NOW + timedelta(days=3)))
    told: list[object] = []
    for query in queries:
        found = await kit.recall(query, scope=kit.scope(user))
        # A recall is counted a moment later, and the next one would show the count or not.
        await kit.background.join()
        told.extend((hit.memory, hit.score, hit.similarity, hit.explanation) for hit in found.hits)
        told.append([(item.memory_id, item.score, item.why_not) for item in found.pool])
    await kit.aclose()
    return told


async def _import_marked(kit: Kit, scope: Scope, root: Path, *, mark: str, number: int) -> None:
    if not number:
        return
    lines = SESSIONS.read_text(encoding="utf-8").splitlines()[:number]
    file = root / "sessions.jsonl"
    with file.open("w", encoding="utf-8") as out:
        for line in lines:
            session = json.loads(line)
            session["messages"][1]["content"] += f" {mark}"
            out.write(json.dumps(session) + "\n")
    await kit.import_recordings(read_recordings(file).recordings, scope=scope)
    file.unlink()


async def _fail_a_job(store: Store, scope: Scope) -> None:
    job = await store.claim(kinds=["reflect"], lease_s=60, scope=scope)
    assert job is not None
    await store.bury_job(job, error="the model never answered")


async def _change_memories(store: Store, scope: Scope, *, mark: str) -> None:
    texts = (
        f"Exports are comma separated {mark}",
        f"Exports are semicolon separated {mark}",
        f"The fiscal year starts in April {mark}",
        f"The old wiki is at wiki-2 {mark}",
        f"The printer is on floor two {mark}",
        f"The printer has moved to floor four {mark}",
    )
    written = await store.add(
        scope,
        [
            new_memory(text, cues=(f"cue {mark} {place}",), tags=("tool:csv", "domain:财务"))
            for place, text in enumerate(texts)
        ],
        actor="test",
    )
    one, two, old, gone, before, after = (item.memory for item in written)
    await store.add(
        scope,
        [
            new_memory(f"The door code is 4471 {mark}", valid_to=NOW - timedelta(minutes=1)),
            new_memory(f"The road is closed {mark}", valid_to=NOW + timedelta(days=9)),
        ],
        actor="test",
    )
    own = Scope(scope.user_id, "cleaner")
    await store.add(own, [new_memory(f"The cleaner's own note {mark}")], actor="test")
    await store.link(scope, _conflict(two, one, resolved=False, mark=mark))
    await store.change_status(scope, one.memory_id, "disputed", actor="judge", reason=mark)
    await store.link(scope, _conflict(after, before, resolved=True, mark=mark))
    await store.change_status(
        scope,
        before.memory_id,
        "superseded",
        actor="person",
        reason=mark,
        superseded_by=after.memory_id,
    )
    await store.change_status(scope, old.memory_id, "archived", actor="policy", reason=mark)
    await store.forget(scope, [gone.memory_id], actor="person", reason=mark)


def _conflict(new: Memory, old: Memory, *, resolved: bool, mark: str) -> MemoryLink:
    return MemoryLink(
        from_id=new.memory_id,
        to_id=old.memory_id,
        relation="contradicts",
        status="resolved" if resolved else "open",
        rationale=f"they cannot both be true {mark}",
        confidence=0.8,
    )


async def _leave_a_task_open(store: Store, scope: Scope, *, mark: str) -> None:
    steps = [
        Step(step_id="s0001", kind="user", text=f"Sort the list {mark}", at=NOW),
        Step(step_id="s0002", kind="tool_call", text='{"by": "name"}', tool="sort", call_id="c1"),
    ]
    await store.append_steps(scope, "daily", steps, instructions="Be brief.", model="test")
