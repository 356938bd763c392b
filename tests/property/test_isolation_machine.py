"""Whatever three users do in whatever order, none of them ever sees what is another's.

The first of them has two agents, and neither of these sees what the other keeps to itself.

Each text holds a word that only its owner uses, and each owner's ids are known, so that a look at
what comes back is enough. The names are those that go wrong elsewhere: one begins like another,
differs in case or accents, holds separators or wildcards, or is Chinese.
"""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,  # pyright: ignore[reportUnknownVariableType]
)

from agentkit import Kit
from agentkit.errors import InputError, NotFoundError
from agentkit.records import Recording, Scope, Step, Trajectory, Verdict
from agentkit.testing import FixedClock, HashEmbedder
from tests.lived_in import NOW

Result = TypeVar("Result")

FAMILIES = (
    ("acme", "acme-corp", "acme/eu"),
    ("alice", "Alice", "álice"),
    ("a%", "a_", "a"),
    ("用户", "用户甲", "a:b"),
)
MARKS = ("xylophone", "quasar", "marmalade")
AGENTS = ("cook", "Cook")
AGENT_MARKS = ("cinnamon", "parchment")
ABSENT = "00000000-0000-7000-8000-000000000000"

users = st.integers(0, 2)
agents = st.integers(0, 1)
places = st.integers(0, 30)


class Isolation(RuleBasedStateMachine):
    """Three users of one project, and what each of them should see."""

    mode = "logical"
    # Lives that were looked at to their end, of each kind of machine.
    lives: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="agentkit-isolation-"))
        self.runner = asyncio.Runner()
        self.clock = FixedClock(NOW)
        self.said = 0

    @initialize(family=st.sampled_from(FAMILIES))
    def open(self, family: tuple[str, str, str]) -> None:
        """Open an empty project for three users whose names resemble each other."""
        self.scopes = tuple(Scope(name) for name in family)
        self.agents = tuple(Scope(family[0], agent) for agent in AGENTS)
        # What the agents keep to themselves, all of it to be seen, and the recalls of each.
        self.kept: tuple[set[str], ...] = (set(), set())
        self.agent_asked: tuple[set[str], ...] = (set(), set())
        # By id: whether it is to be seen.
        self.held: tuple[dict[str, bool], ...] = ({}, {}, {})
        # Everything that ever had an id, by user.
        self.ids: tuple[set[str], ...] = (set(), set(), set())
        self.episodes: tuple[list[str], ...] = ([], [], [])
        self.asked: tuple[list[tuple[str, tuple[str, ...]]], ...] = ([], [], [])
        self.queried: tuple[set[str], ...] = (set(), set(), set())
        self.kit = Kit.open(
            self.folder,
            clock=self.clock,
            embedder=HashEmbedder(),
            index="none",
            worker="external",
            isolation=self.mode,
        )
        # Few steps run, and not every rule in each life: without this, often nothing could leak.
        for user in range(3):
            self.remember(user)
            self.write(user)
        for agent in range(2):
            self.write_as_an_agent(agent)
        for user in range(3):
            self.use_foreign_ids(user, 0)
        for agent in range(2):
            self.use_ids_of_the_other_agent(agent, 0)
            self.recall_as_an_agent(agent)

    def run(self, work: Awaitable[Result]) -> Result:
        """Wait for one call of the kit."""

        async def call() -> Result:
            return await work

        return self.runner.run(call())

    def check(self, user: int, *answers: object, queries: bool = False) -> None:
        """Nothing in what a user got is of another; own queries may hold words of others."""
        shown = repr(answers)
        for other in {0, 1, 2} - {user}:
            if not (queries and MARKS[other] in self.queried[user]):
                assert MARKS[other] not in shown, f"{self.scopes[user]} sees {MARKS[other]}"
            for known in self.ids[other]:
                assert known not in shown, f"{self.scopes[user]} sees {known}"

    def text(self, user: int) -> str:
        """Return a text that only this user could have written, and that says one thing."""
        self.said += 1
        return f"The {MARKS[user]} of shelf {self.said} is kept in room {self.said * 7}"

    def one_of(self, user: int, place: int, *, seen: bool = True) -> str | None:
        """Return one of the user's memories, or None where there is none."""
        ids = sorted(name for name, visible in self.held[user].items() if visible is seen)
        return ids[place % len(ids)] if ids else None

    @rule(user=users)
    def remember(self, user: int) -> None:
        """Have something remembered."""
        report = self.run(self.kit.remember(self.text(user), scope=self.scopes[user]))
        assert report.memory is not None
        self.held[user][report.memory.memory_id] = True
        self.ids[user].add(report.memory.memory_id)
        self.check(user, report)

    @rule(user=users)
    def write(self, user: int) -> None:
        """Write a lesson as an agent does."""
        lesson = self.kit.lesson(self.text(user), memory_type="procedural", cues=[MARKS[user]])
        report = self.run(self.kit.write(lesson, scope=self.scopes[user]))
        if report.memory is not None:
            self.held[user][report.memory.memory_id] = True
            self.ids[user].add(report.memory.memory_id)
        self.check(user, report)

    @rule(user=users, words=st.sampled_from((*MARKS, "shelf", "room 7", "where is it kept?")))
    def recall(self, user: int, words: str) -> None:
        """Ask, also for what only another knows."""
        query = self.kit.query(words, top_k=20)
        self.queried[user].add(words)
        result = self.run(self.kit.recall(query, scope=self.scopes[user]))
        self.run(self.kit.background.join(lane="log"))
        self.check(user, result.hits, result.pool, result.intent, result.degraded)
        found = tuple(hit.memory.memory_id for hit in result.hits)
        assert {one for one in found if not self.held[user].get(one, True)} == set()
        self.ids[user].add(result.retrieval_id)
        self.asked[user].append((result.retrieval_id, found))
        briefing = self.run(self.kit.brief(words, scope=self.scopes[user]))
        self.check(user, briefing.text)

    @rule(user=users, place=places)
    def give_feedback(self, user: int, place: int) -> None:
        """Judge an own recall; another's looks like one that never was."""
        own = [(name, found) for name, found in self.asked[user] if found]
        if own:
            name, found = own[place % len(own)]
            verdict = Verdict(memory_id=found[0], kind="helpful", source="person")
            try:
                self.run(self.kit.feedback(name, [verdict], scope=self.scopes[user]))
            except (NotFoundError, InputError) as error:
                # What was recalled then was erased since.
                self.check(user, str(error))
        for other in {0, 1, 2} - {user}:
            for name, found in self.asked[other][:1]:
                verdict = Verdict(memory_id=(*found, ABSENT)[0], kind="helpful", source="person")
                self.refused(
                    name,
                    lambda one, verdict=verdict: self.kit.feedback(
                        one, [verdict], scope=self.scopes[user]
                    ),
                )

    @rule(user=users, place=places)
    def forget_and_restore(self, user: int, place: int) -> None:
        """Forget one, or take a forgetting back."""
        scope = self.scopes[user]
        seen = self.one_of(user, place)
        gone = self.one_of(user, place, seen=False)
        if seen is not None and place % 3:
            result = self.run(self.kit.forget([seen], scope=scope, reason="not wanted"))
            assert result.forgotten == (seen,)
            self.held[user][seen] = False
        elif gone is not None:
            self.check(user, self.run(self.kit.restore(gone, scope=scope)))
            self.held[user][gone] = True

    @rule(user=users, place=places)
    def edit(self, user: int, place: int) -> None:
        """Change the content of one."""
        memory_id = self.one_of(user, place)
        if memory_id is not None:
            edited = self.run(
                self.kit.edit(memory_id, scope=self.scopes[user], content=self.text(user))
            )
            self.check(user, edited)

    @rule(user=users, place=places)
    def purge(self, user: int, place: int) -> None:
        """Erase one for good."""
        memory_id = self.one_of(user, place)
        if memory_id is not None:
            report = self.run(self.kit.purge_memory(memory_id, scope=self.scopes[user]))
            self.check(user, report)
            self.held[user].pop(memory_id)

    @rule(user=users)
    @precondition(lambda self: self.said > 6)
    def purge_user(self, user: int) -> None:
        """Erase all of one user; the others keep theirs, which the invariant looks at."""
        self.check(user, self.run(self.kit.purge_user(scope=self.scopes[user])))
        self.held[user].clear()
        self.episodes[user].clear()
        self.asked[user].clear()
        if user == 0:
            for held in (*self.kept, *self.agent_asked):
                held.clear()

    @rule(user=users)
    def live_through(self, user: int) -> None:
        """Import a task of this user, and reflect on whatever is due."""
        self.said += 1
        mark = MARKS[user]
        steps = (
            Step(step_id="s0001", kind="user", text=f"Count the {mark} of shelf {self.said}"),
            Step(
                step_id="s0002",
                kind="tool_call",
                text=f'{{"shelf": "{mark}"}}',
                tool="count",
                call_id="1",
            ),
            Step(
                step_id="s0003",
                kind="tool_return",
                text=f"{mark}: no such shelf",
                tool="count",
                call_id="1",
            ),
            Step(step_id="s0004", kind="model", text=f"There is no {mark} there."),
            Step(step_id="s0005", kind="user", text="thanks, that's it"),
        )
        recording = Recording(
            source_id="task", trajectory=Trajectory(steps=steps), session_id="session-1"
        )
        scope = self.scopes[user]
        self.run(self.kit.import_recordings([recording], scope=scope))
        self.check(user, self.run(self.kit.jobs(scope=scope)))
        self.run(self.kit.reflect())
        for episode in self.run(self.kit.episodes(scope=scope)):
            self.ids[user].add(episode.episode_id)
            if episode.episode_id not in self.episodes[user]:
                self.episodes[user].append(episode.episode_id)
        for memory in self.run(self.kit.memories(scope=scope, limit=500)):
            self.ids[user].add(memory.memory_id)

    @rule(user=users)
    def look_at_everything(self, user: int) -> None:
        """Ask every list for what it holds."""
        kit, scope = self.kit, self.scopes[user]
        self.run(kit.background.join(lane="log"))
        self.check(
            user,
            self.run(kit.memories(scope=scope, limit=500)),
            self.run(kit.episodes(scope=scope)),
            self.run(kit.jobs(scope=scope)),
        )
        self.check(user, self.run(kit.retrievals(scope=scope)), queries=True)
        for memory_id in self.held[user]:
            self.check(user, self.run(kit.history(memory_id, scope=scope)))
            self.check(user, self.run(kit.links(memory_id, scope=scope)))
        for episode_id in self.episodes[user]:
            self.check(user, self.run(kit.trajectory(episode_id, scope=scope)))
        for check in (self.run(kit.doctor()), self.run(kit.settle())):
            assert not any(mark in repr(check) for mark in MARKS)

    def check_agent(self, agent: int, *answers: object, queries: bool = False) -> None:
        """Nothing in what an agent got is of the other agent or of another user."""
        self.check(0, *answers, queries=queries)
        shown = repr(answers)
        assert AGENT_MARKS[1 - agent] not in shown
        for known in self.kept[1 - agent] | self.agent_asked[1 - agent]:
            assert known not in shown, f"{self.agents[agent]} sees {known}"

    @rule(agent=agents)
    def write_as_an_agent(self, agent: int) -> None:
        """Let an agent keep something to itself."""
        words = f"{self.text(0)}, says {AGENT_MARKS[agent]}"
        lesson = self.kit.lesson(words, memory_type="semantic", cues=[AGENT_MARKS[agent]])
        report = self.run(self.kit.write(lesson, scope=self.agents[agent]))
        assert report.memory is not None
        self.kept[agent].add(report.memory.memory_id)
        self.ids[0].add(report.memory.memory_id)
        self.check_agent(agent, report)

    @rule(agent=agents)
    def recall_as_an_agent(self, agent: int) -> None:
        """Let an agent ask for what it and the user know."""
        kit, scope = self.kit, self.agents[agent]
        query = kit.query(f"what does {AGENT_MARKS[agent]} say of the shelf?", top_k=50)
        result = self.run(kit.recall(query, scope=scope))
        self.run(kit.background.join(lane="log"))
        self.agent_asked[agent].add(result.retrieval_id)
        self.ids[0].add(result.retrieval_id)
        self.check_agent(agent, result)
        self.check_agent(agent, self.run(kit.brief(query, scope=scope)).text)
        self.run(kit.background.join(lane="log"))
        self.check_agent(agent, self.run(kit.episodes(scope=scope)))
        self.check_agent(agent, self.run(kit.jobs(scope=scope)))
        self.check_agent(agent, self.run(kit.retrievals(scope=scope)), queries=True)

    @rule(agent=agents, place=places)
    def use_ids_of_the_other_agent(self, agent: int, place: int) -> None:
        """Ask by the other agent's ids, and see that nothing became of it."""
        kit, scope, others = self.kit, self.agents[agent], sorted(self.kept[1 - agent])
        if not others:
            return
        foreign = others[place % len(others)]
        for door in self.doors(scope):
            self.refused(foreign, door)
        result = self.run(kit.forget([foreign], scope=scope, reason="not mine"))
        assert (result.forgotten, result.not_found) == ((), (foreign,))
        with pytest.raises(InputError):
            self.run(kit.purge_memory(foreign, scope=scope))

    @rule(user=users, place=places)
    def use_foreign_ids(self, user: int, place: int) -> None:
        """Ask by another's ids: each door says what it says of an id that nobody has."""
        kit, scope = self.kit, self.scopes[user]
        for other in {0, 1, 2} - {user}:
            foreign = self.one_of(other, place)
            if foreign is not None:
                for door in self.doors(scope):
                    self.refused(foreign, door)
                self.refused(foreign, lambda one: kit.purge_memory(one, scope=scope))
                result = self.run(kit.forget([foreign], scope=scope, reason="not mine"))
                assert (result.forgotten, result.not_found) == ((), (foreign,))
            for episode_id in self.episodes[other][:1]:
                self.refused(episode_id, lambda one: kit.episode(one, scope=scope))
                self.refused(episode_id, lambda one: kit.trajectory(one, scope=scope))
                self.refused(episode_id, lambda one: kit.purge_episode(one, scope=scope))

    def doors(self, scope: Scope) -> tuple[Callable[[str], Awaitable[object]], ...]:
        """Return what takes the id of a memory, for a user and for an agent alike."""
        kit = self.kit
        return (
            lambda one: kit.memory(one, scope=scope),
            lambda one: kit.history(one, scope=scope),
            lambda one: kit.links(one, scope=scope),
            lambda one: kit.restore(one, scope=scope),
            lambda one: kit.edit(one, scope=scope, content="mine now"),
        )

    def refused(self, foreign: str, door: Callable[[str], Awaitable[object]]) -> None:
        """A foreign id and a missing one get the same answer."""
        said: list[str] = []
        for one in (foreign, ABSENT):
            with pytest.raises(NotFoundError) as caught:
                self.run(door(one))
            said.append(str(caught.value).replace(one, "ID"))
        assert said[0] == said[1]

    @rule(user=users)
    def export_and_restore(self, user: int) -> None:
        """Write one user into a file, and read it back: nothing else is in it, nothing changes."""
        if not self.held[user]:
            return
        file = self.folder / f"export-{user}.jsonl"
        self.run(self.kit.export_to(file, scope=self.scopes[user]))
        self.check(user, file.read_text(encoding="utf-8"), queries=True)
        report = self.run(self.kit.restore_from(file, scope=self.scopes[user]))
        assert not {"memory", "episode"} & {kind for kind, count in report.added.items() if count}

    @invariant()
    def each_sees_what_is_his(self) -> None:
        """What a user wrote and kept is there, what he forgot is not, and nothing is another's."""
        if not hasattr(self, "kit"):
            return
        for user, scope in enumerate(self.scopes):
            memories = self.run(self.kit.memories(scope=scope, limit=500))
            self.check(user, memories)
            there = {memory.memory_id for memory in memories}
            assert {one for one, seen in self.held[user].items() if seen} <= there
            assert not there & {one for one, seen in self.held[user].items() if not seen}
            assert {memory.scope.user_id for memory in memories} <= {scope.user_id}
        shared = {one for one, seen in self.held[0].items() if seen}
        for agent, scope in enumerate(self.agents):
            memories = self.run(self.kit.memories(scope=scope, limit=500))
            self.check_agent(agent, memories)
            assert self.kept[agent] | shared <= {memory.memory_id for memory in memories}

    def teardown(self) -> None:
        """Close the project and take it away."""
        if hasattr(self, "kit"):
            self.run(self.kit.aclose())
            self.lives[self.mode] += 1
        self.runner.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class PhysicalIsolation(Isolation):
    """The same with a store for each user."""

    mode = "physical"


MACHINES: tuple[type[Isolation], ...] = (Isolation, PhysicalIsolation)


def run_machine(machine: type[Isolation], *, examples: int, steps: int) -> int:
    """Run so many lives of so many steps, and return how many came to an end; a leak fails."""
    before = machine.lives[machine.mode]
    run: Any = run_state_machine_as_test
    run(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=True,
            # A failing run is told by its steps; making it shorter takes minutes.
            phases=(Phase.generate,),
            suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
        ),
    )
    return machine.lives[machine.mode] - before


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.mode)
def test_no_user_ever_sees_what_is_anothers(machine: type[Isolation]) -> None:
    assert run_machine(machine, examples=8, steps=25) >= 8


@pytest.mark.slow
@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.mode)
def test_no_user_ever_sees_what_is_anothers_in_a_long_life(machine: type[Isolation]) -> None:
    assert run_machine(machine, examples=25, steps=50) >= 25
