"""A task is over when the user means it: examples of the project, embedded once."""

from pathlib import Path

import pytest
from pydantic_ai import Agent

from agentkit import Kit
from agentkit.kit.closing import FILE_NAME, Closing
from agentkit.policy.boundaries import BoundariesPolicy, DoneRule
from agentkit.policy.closing import MeaningRule
from agentkit.policy.phrases import Phrases
from agentkit.testing import HashEmbedder, scripted
from agentkit.working import Turn

WORK = Turn(user="Total the invoices", answer="The total is 18 EUR.", tool_calls=2)
# An example of the policy that no phrase covers.
END = "case closed, well done"
GOES_ON = "make it a bit shorter"
TURNS = (WORK, Turn(user=END, answer="Good."))


async def test_a_session_ends_its_task_once_the_examples_are_embedded(tmp_path: Path) -> None:
    async with Kit.open(tmp_path, embedder=HashEmbedder(), index="none") as kit:
        agent = Agent(scripted("The total is 18 EUR.", "The total is 17 EUR.", "Good."))
        async with kit.session(agent, user_id="analyst", session_id="daily") as session:
            await session.run("Total the invoices")
            await session.run(GOES_ON)
            # The words decide about this message, and it makes the examples wanted.
            await kit.background.join(lane="record")
            await kit.background.join(lane="work")
            assert await kit.episodes(scope=kit.scope("analyst")) == ()
            await session.run(END)
            await kit.background.join(lane="record")
            (episode,) = await kit.episodes(scope=kit.scope("analyst"))
        assert episode.end_reason == "done"


async def test_the_next_process_reads_the_examples_that_an_earlier_one_embedded(
    tmp_path: Path,
) -> None:
    policy = BoundariesPolicy()
    first = Closing(HashEmbedder(), policy=policy, folder=tmp_path)
    assert await first.reason(TURNS) is None
    await first.prepare()
    assert await first.reason(TURNS) == "done"
    second = Closing(HashEmbedder(), policy=policy, folder=tmp_path)
    assert await second.reason(TURNS) == "done"
    changed = MeaningRule(closing=Phrases(en=("off home",)), going_on=Phrases(en=("go on",)))
    done = DoneRule(meaning=changed)
    other = Closing(
        HashEmbedder(), policy=policy.model_copy(update={"done": done}), folder=tmp_path
    )
    assert await other.reason(TURNS) is None


async def test_a_damaged_file_is_told_and_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no archive")
    closing = Closing(HashEmbedder(), policy=BoundariesPolicy(), folder=tmp_path)
    assert await closing.reason(TURNS) is None
    assert "embedded again" in caplog.text
    assert closing.is_wanted, "the words decided for want of the examples"
    await closing.prepare()
    assert not closing.is_wanted
    again = Closing(HashEmbedder(), policy=BoundariesPolicy(), folder=tmp_path)
    assert await again.reason(TURNS) == "done"


async def test_without_an_embedder_words_decide_alone(tmp_path: Path) -> None:
    closing = Closing(None, policy=BoundariesPolicy(), folder=tmp_path)
    await closing.prepare()
    assert await closing.reason(TURNS) is None
    assert await closing.margins([END]) == [None]
    assert await closing.reason((WORK, Turn(user="thanks, that's all", answer="Bye."))) == "done"
