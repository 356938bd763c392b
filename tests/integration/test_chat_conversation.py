"""A conversation line by line: tasks, commands, interruptions."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeVar

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from agentkit import Kit
from agentkit.chat import Conversation, Event, Learnt, Note, Recalled, Words, make_agent
from agentkit.testing import HashEmbedder, Script, scripted, scripted_with

PREFERENCE = "Clean orders.csv. I prefer reports in metric units."
QUESTION = "Write the report with its units."

T = TypeVar("T")


@pytest.fixture
async def kit(tmp_path: Path) -> AsyncIterator[Kit]:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "reflection.yaml").write_text("mode: external\n", encoding="utf-8")
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none") as opened:
        yield opened


class Heard(list[Event]):
    """What a conversation told, sorted on demand."""

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self if isinstance(event, kind)]

    def notes(self) -> str:
        return "\n".join(event.text for event in self.of(Note))

    def said(self) -> str:
        return "".join(event.text for event in self.of(Words)).strip()


def talk(kit: Kit, *replies: str, heard: Heard, session_id: str | None = None) -> Conversation:
    agent = make_agent(kit, model=scripted(*replies))
    return Conversation(kit, agent, user_id="u1", tell=heard.append, session_id=session_id)


async def test_a_task_that_is_done_teaches_the_next_one(kit: Kit) -> None:
    heard = Heard()
    async with talk(kit, "Cleaned.", heard=heard) as conversation:
        assert await conversation.hear(PREFERENCE)
        assert heard.of(Learnt) == []
        assert await conversation.hear("/done success")
        (learnt,) = heard.of(Learnt)
        assert (learnt.episode.outcome, learnt.problem) == ("success", "")
        assert any("metric units" in memory.content for memory in learnt.memories)
        heard.clear()
        await conversation.hear(QUESTION)
        (recalled,) = heard.of(Recalled)
        assert any("metric units" in one.memory.content for one in recalled.memories)
        assert isinstance(heard[0], Recalled)
        assert heard.said() == "Cleaned."
        heard.clear()
        await conversation.hear("/why")
        assert "metric units" in heard.notes()
        assert "score " in heard.notes()


async def test_the_history_goes_on_until_the_task_is_done(kit: Kit) -> None:
    script = Script(["ok"])
    agent = make_agent(kit, model=scripted_with(script))
    async with Conversation(kit, agent, user_id="u1", tell=Heard().append) as conversation:
        await conversation.hear("Sort the orders by date.")
        await conversation.hear("Newest first.")
        assert "Sort the orders by date." in script.sent(1)
        assert {message.kind for message in script.requests[1]} == {"request", "response"}
        await conversation.hear("/done")
        await conversation.hear("What is the weather on the roof?")
        asked = [request for request in script.requests if "the roof" in str(request)]
        assert {message.kind for message in asked[0]} == {"request"}


async def test_the_end_seals_what_is_open_in_the_named_session(kit: Kit) -> None:
    heard = Heard()
    async with talk(kit, "Cleaned.", heard=heard, session_id="daily") as conversation:
        await conversation.hear(PREFERENCE)
    (learnt,) = heard.of(Learnt)
    assert learnt.episode.session_id == "daily"
    again = Heard()
    async with talk(kit, "Fine.", heard=again, session_id="daily") as conversation:
        await conversation.hear(QUESTION)
        assert again.of(Recalled)
    assert [event.episode.session_id for event in again.of(Learnt)] == ["daily"]
    assert again.of(Learnt)[0].episode.episode_id != learnt.episode.episode_id


async def test_a_memory_is_listed_and_forgotten_by_its_id(kit: Kit) -> None:
    written = await kit.remember("The door code is blue-falcon", scope=kit.scope("u1"))
    assert written.memory is not None
    memory_id = written.memory.memory_id
    heard = Heard()
    async with talk(kit, "ok", heard=heard) as conversation:
        await conversation.hear("/memories")
        assert f"{memory_id}  semantic: The door code is blue-falcon" in heard.notes()
        await conversation.hear(f"/forget {memory_id}")
        assert f"forgotten: {memory_id}" in heard.notes()
        heard.clear()
        await conversation.hear(f"/forget {memory_id}")
        await conversation.hear("/memories")
        assert f"no memory {memory_id!r} is in use" in heard.notes()
        assert "nothing is remembered yet" in heard.notes()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/done perhaps", "/done perhaps is not known"),
        ("/done", "no task is open"),
        ("/forget", "/forget needs the id"),
        ("/why", "nothing was recalled"),
        ("/nonsense", "no command /nonsense"),
        ("/help", "/quit"),
    ],
)
async def test_a_command_says_what_it_did_or_why_not(kit: Kit, line: str, said: str) -> None:
    heard = Heard()
    async with talk(kit, "ok", heard=heard) as conversation:
        assert await conversation.hear(line)
    assert said in heard.notes()
    assert heard.said() == ""


async def test_a_path_is_for_the_agent_and_quit_leaves(kit: Kit) -> None:
    heard = Heard()
    async with talk(kit, "A file.", heard=heard) as conversation:
        assert await conversation.hear("   ")
        assert heard == []
        assert await conversation.hear("/etc/hosts is what?")
        assert heard.said() == "A file."
        assert not await conversation.hear("/quit")


async def test_an_answer_that_fails_is_one_note_and_the_conversation_goes_on(kit: Kit) -> None:
    heard = Heard()
    async with talk(kit, "", "", "", "Better.", heard=heard) as conversation:
        await conversation.hear("Hello?")
        (note,) = heard.of(Note)
        assert note.failed
        assert "\n" not in note.text
        assert conversation.failures == 1


async def test_an_answer_that_is_stopped_leaves_the_conversation_usable(kit: Kit) -> None:
    begun = asyncio.Event()
    slow = True

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        del messages, info
        if slow:
            begun.set()
            await asyncio.Event().wait()
        yield "Here I am."

    heard = Heard()
    agent = make_agent(kit, model=FunctionModel(stream_function=answer))
    async with Conversation(kit, agent, user_id="u1", tell=heard.append) as conversation:
        assert not conversation.interrupt()
        listening = asyncio.create_task(conversation.hear("Count to a million."))
        await begun.wait()
        assert conversation.busy
        assert conversation.interrupt()
        assert await listening
        assert heard.notes() == "stopped"
        slow = False
        await conversation.hear("Are you there?")
        assert heard.said() == "Here I am."
        assert conversation.failures == 0
