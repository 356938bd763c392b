"""A lived-in project that is copied for each kill, and what is done in it when it dies."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cache
from pathlib import Path
from uuid import UUID

from agentkit import Kit
from agentkit.evaluation.importers import read_recordings
from agentkit.kit.parts import Parts
from agentkit.kit.tasks import RunRecord
from agentkit.policy import Policy, load_policy
from agentkit.project import Project
from agentkit.recall import AliasTable
from agentkit.records import Lesson, Scope, Step, Tag, Verdict
from agentkit.settings import load_settings
from agentkit.store import FolderBlobs, Reached, Store, go_on, index_slot
from agentkit.store.layout import BLOBS_FOLDER, DATABASE_FILE
from agentkit.store.stores import SharedStore
from agentkit.templates import Templates
from agentkit.testing import FixedClock, HashEmbedder, new_episode, new_memory
from tests.lived_in import NOW, SESSIONS, live_in, store_at

ALICE, BOB, DAVE = Scope("alice"), Scope("bob"), Scope("dave")
# The scene is complete a day later, and then something is done in it.
LATER = NOW + timedelta(days=1)
ACTED = LATER + timedelta(minutes=5)
QUOTED = "The backup key lies in the blue cabinet behind the archive"
FIRST_NOTE = "The assembly point is the northern car park"
NOTES = "scene.json"
ARCHIVE = "dave.jsonl"
# An id as a run gets it when it begins.
RUN_EPISODE = str(UUID(int=int(ACTED.timestamp() * 1_000) << 80 | 0x7 << 76 | 0x2 << 62))
# The last of these waits to be reflected on.
SESSIONS_IN_SCENE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """Ids in a scene.

    Attributes:
        quoted: A memory whose words stand in other trajectories too.
        plain: A memory with cues and tags.
        gone: A memory that was forgotten.
        recall: A recall that returned `plain`.
    """

    quoted: str
    plain: str
    gone: str
    recall: str


def kit_in(project: Path, *, clock: FixedClock | None = None, reached: Reached = go_on) -> Kit:
    """Open a scene as its processes do; settings come out of its file.

    Args:
        project: The scene.
        clock: Where the time comes from, or None for `ACTED`.
        reached: Told each point of a write.
    """
    clock, embedder = clock or FixedClock(ACTED), HashEmbedder()
    settings = load_settings(project)
    state = settings.state_path(project)
    state.mkdir(parents=True, exist_ok=True)
    store = Store.open(
        database_url=settings.database_url or f"sqlite:///{state / DATABASE_FILE}",
        blobs=FolderBlobs(state / BLOBS_FOLDER, reached=reached),
        index_path=None,
        slot=index_slot(settings.index, state=state, url=settings.index_url),
        embedder=embedder,
        clock=clock,
        reached=reached,
    )
    policy, aliases = _policy()
    parts = Parts(
        project=Project(project),
        settings=settings,
        policy=policy,
        templates=Templates(Project(project).content("prompts")),
        stores=SharedStore(store),
        embedder=embedder,
        clock=clock,
        aliases=aliases,
        state_path=state,
    )
    return Kit(parts)


@cache
def _policy() -> tuple[Policy, AliasTable]:
    """Read what takes most of the time of opening a project once for all that are forked."""
    policy = load_policy(Project(None).find)
    # A recall is not to be given up on a busy machine.
    policy = replace(policy, recall=policy.recall.model_copy(update={"timeout_s": 60.0}))
    return policy, AliasTable(policy.taxonomy.aliases())


def configure(project: Path, *, index: str, database_url: str | None = None) -> None:
    """Write the settings of a scene.

    Args:
        project: The scene.
        index: `none`, `chroma` or `qdrant`.
        database_url: A server in place of the SQLite file, or None.
    """
    lines = ["embedder: none", f"index: {index}", "worker: external"]
    lines += [] if database_url is None else [f"database_url: {json.dumps(database_url)}"]
    (project / "agentkit.yaml").write_text("\n".join(lines) + "\n", encoding="utf-8")


async def make_scene(project: Path, *, index: str) -> None:
    """Make a scene in which everything that the operations need is there.

    Args:
        project: An empty folder.
        index: As in `configure`; where it is one, it holds all that was written up to the last
            memories, which have no vectors yet.
    """
    project.mkdir(parents=True, exist_ok=True)
    await live_in(project, ALICE.user_id)
    configure(project, index=index)
    store = store_at(project, clock=FixedClock(NOW + timedelta(hours=4)))
    quoted, plain, gone = await _write_memories(store)
    await store.close()
    kit = kit_in(project, clock=FixedClock(LATER - timedelta(hours=1)))
    await kit.import_recordings(
        read_recordings(_sessions(project, SESSIONS_IN_SCENE)).recordings, scope=ALICE
    )
    found = await kit.recall("which paper is in the tray?", scope=ALICE)
    assert plain in {hit.memory.memory_id for hit in found.hits}
    await kit.background.join()
    await kit.reindex()
    assert (await kit.settle()).waiting == 0
    await kit.aclose()
    await _write_without_vectors(project)
    notes = {"quoted": quoted, "plain": plain, "gone": gone, "recall": found.retrieval_id}
    (project / NOTES).write_text(json.dumps(notes), encoding="utf-8")
    await _export_another(project)


async def _write_memories(store: Store) -> tuple[str, str, str]:
    said = new_episode(f"Where is it? {QUOTED}.", "Noted.", at=NOW, session_id="asked")
    quoted = new_memory(QUOTED, cues=("backup key",))
    sealed = await store.seal(ALICE, said, episodic=quoted, reflect=False)
    assert sealed.memory is not None
    for number in range(2):
        again = new_episode(
            f"Talk {number}", f"As you said: {QUOTED}.", at=NOW, session_id=f"talk {number}"
        )
        await store.seal(ALICE, again, episodic=None, reflect=False)
    written = await store.add(
        ALICE,
        [
            new_memory(
                "The tray holds recycled paper", cues=("which paper",), tags=("tool:printer",)
            ),
            new_memory("The kettle is on floor one"),
        ],
        actor="test",
    )
    plain, gone = (item.memory.memory_id for item in written)
    await store.forget(ALICE, [gone], actor="person", reason="it moved")
    await store.add(BOB, [new_memory("Bob parks on level two", cues=("parking",))], actor="test")
    await store.seal(BOB, new_episode("Book a desk", "Done", at=NOW), episodic=None)
    await store.settle()
    return sealed.memory.memory_id, plain, gone


async def _write_without_vectors(project: Path) -> None:
    store = Store.open(
        database_url=f"sqlite:///{project / '.agentkit' / DATABASE_FILE}",
        blobs=FolderBlobs(project / ".agentkit" / BLOBS_FOLDER),
        index_path=None,
        embedder=None,
        clock=FixedClock(LATER),
    )
    new = [new_memory(f"Locker {number} is free", cues=(f"locker {number}",)) for number in (1, 2)]
    await store.add(ALICE, new, actor="test")
    await store.close()


async def _export_another(project: Path) -> None:
    other = project / "other"
    await live_in(other, DAVE.user_id, sessions=1)
    store = store_at(other)
    await store.export_to(project / ARCHIVE, scope=DAVE)
    await store.close()


def notes_of(project: Path) -> Notes:
    """Return the ids in a scene."""
    return Notes(**json.loads((project / NOTES).read_text(encoding="utf-8")))


def _sessions(project: Path, number: int) -> Path:
    file = project / f"sessions-{number}.jsonl"
    lines = SESSIONS.read_text(encoding="utf-8").splitlines()[:number]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


# Those that come later have what those before them have.
_INDEXES = ("none", "chroma")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A public write operation.

    Attributes:
        name: Its name in orders and figures.
        run: Does it in a scene.
        repeatable: Whether doing it again after it was done changes nothing that it wrote.
        index: Index that it needs.
    """

    name: str
    run: Callable[[Kit, Path], Awaitable[object]]
    repeatable: bool = True
    index: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Operations that one process does in turn, each acknowledged.

    Attributes:
        name: Its name in orders and figures.
        operations: What it does.
    """

    name: str
    operations: tuple[Operation, ...]

    @property
    def index(self) -> str:
        """Index that it needs."""
        return max((operation.index for operation in self.operations), key=_INDEXES.index)

    @property
    def repeatable(self) -> bool:
        """Whether doing it again after it was done changes nothing that it wrote."""
        return all(operation.repeatable for operation in self.operations)


async def _remember(kit: Kit, _project: Path) -> None:
    await kit.remember("The night porter is called at 4471", scope=ALICE)


async def _write(kit: Kit, _project: Path) -> None:
    lesson = Lesson(
        content="Amounts of foreign invoices are converted at the rate of the invoice date",
        memory_type="procedural",
        confidence=0.8,
        source="agent",
        cues=("foreign invoice", "exchange rate"),
        tags=(Tag("tool", "csv"),),
        operation_id="write-1",
    )
    await kit.write(lesson, scope=ALICE)


async def _import(kit: Kit, project: Path) -> None:
    file = _sessions(project, SESSIONS_IN_SCENE + 1)
    await kit.import_recordings(read_recordings(file).recordings, scope=ALICE)


async def _run(kit: Kit, _project: Path) -> None:
    steps = (
        Step(step_id="s0001", kind="user", text="Count the open orders.", at=LATER),
        Step(step_id="s0002", kind="tool_call", text="{}", tool="count", call_id="c1"),
        Step(step_id="s0003", kind="tool_return", text="17", tool="count", call_id="c1"),
        Step(step_id="s0004", kind="model", text="There are 17.", at=LATER),
    )
    record = RunRecord(
        scope=ALICE,
        session_id="live",
        run_id="run-1",
        continues=False,
        steps=steps,
        instructions="Be brief.",
        model="test",
        episode_id=RUN_EPISODE,
    )
    await kit.finish_run(record)


async def _reflect(kit: Kit, _project: Path) -> None:
    await kit.reflect(scope=ALICE)


async def _recall(kit: Kit, _project: Path) -> None:
    await kit.recall("where is the printer?", scope=ALICE, session_id="daily")


async def _feedback(kit: Kit, project: Path) -> None:
    notes = notes_of(project)
    said = Verdict(memory_id=notes.plain, kind="helpful", source="person", reason="it was right")
    await kit.feedback(notes.recall, [said], scope=ALICE)


async def _edit(kit: Kit, project: Path) -> None:
    await kit.edit(
        notes_of(project).plain,
        scope=ALICE,
        content="The tray holds white paper since March",
        cues=["which paper", "white paper"],
        tags=["data_form:pdf"],
    )


async def _forget(kit: Kit, project: Path) -> None:
    await kit.forget([notes_of(project).plain], scope=ALICE, reason="the tray is gone")


async def _undo(kit: Kit, project: Path) -> None:
    await kit.restore(notes_of(project).gone, scope=ALICE, reason="it is back")


async def _purge(kit: Kit, project: Path) -> None:
    await kit.purge_memory(notes_of(project).quoted, scope=ALICE)


async def _purge_user(kit: Kit, _project: Path) -> None:
    await kit.purge_user(scope=BOB)


async def _settle(kit: Kit, _project: Path) -> None:
    await kit.settle()


async def _forget_and_settle(kit: Kit, project: Path) -> None:
    await _forget(kit, project)
    await kit.settle()


async def _reindex(kit: Kit, _project: Path) -> None:
    await kit.reindex()


async def _export(kit: Kit, project: Path) -> None:
    await kit.export_to(project / "alice.jsonl", scope=ALICE)


async def _restore(kit: Kit, project: Path) -> None:
    await kit.restore_from(project / ARCHIVE)


_OPERATIONS = (
    Operation(name="remember", run=_remember, repeatable=False),
    Operation(name="write", run=_write),
    Operation(name="import", run=_import),
    Operation(name="run", run=_run),
    Operation(name="reflect", run=_reflect),
    Operation(name="recall", run=_recall, repeatable=False),
    Operation(name="feedback", run=_feedback),
    Operation(name="edit", run=_edit),
    Operation(name="forget", run=_forget),
    Operation(name="undo forget", run=_undo),
    Operation(name="settle", run=_settle),
    Operation(name="export", run=_export),
    Operation(name="restore", run=_restore),
    Operation(name="purge user", run=_purge_user),
    Operation(name="purge memory", run=_purge),
)
_WITH_CHROMA = (
    Operation(name="settle (chroma)", run=_forget_and_settle, index="chroma"),
    Operation(name="reindex (chroma)", run=_reindex, index="chroma"),
    Operation(name="purge memory (chroma)", run=_purge, index="chroma"),
)
EVERYTHING = Workload(name="everything in turn", operations=_OPERATIONS)
WORKLOADS = {
    workload.name: workload
    for workload in (
        *(Workload(name=one.name, operations=(one,)) for one in (*_OPERATIONS, *_WITH_CHROMA)),
        EVERYTHING,
    )
}
